"""The administrator's commands; a server beyond loopback does not start without tokens."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.servers import ADABKB, server_on


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADABKB_TOKEN", "ADABKB_URL", "ADABKB_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ADABKB_MODEL_PROCESSES", "0")  # these servers only start, so they need no models


def test_administrator_creates_tokens_and_users_share_studies(tmp_path_factory: pytest.TempPathFactory) -> None:
    """From an empty folder to a study of two users, as in docs/security.md."""
    folder = tmp_path_factory.mktemp("lab")
    url = f"sqlite:///{folder}/adabkb.db"
    database = ("--database", url)
    assert "no database" in adabkb("token", "list", *database, code=1)
    ann, bob = (json.loads(adabkb("token", "create", user, "--json", *database)) for user in ("ann", "bob"))
    printed = adabkb("token", "create", "root", "--scope", "admin", "--days", "30", *database)
    root = printed.splitlines()[-1]
    listed = adabkb("token", "list", *database)
    assert [ann["token"] in listed, root in listed, ann["id"] in listed] == [False, False, True]

    definition = folder / "svm.json"
    definition.write_text(
        json.dumps(
            {"id": "svm", "direction": "minimize", "parameters": [{"name": "C", "kind": "float", "low": 0, "high": 1}]}
        )
    )
    with server_on(url) as address:

        def run(token: str, *arguments: str, code: int = 0) -> str:
            return adabkb(*arguments, "--url", address, "--token", token, code=code)

        assert "--token" in adabkb("study", "list", "--url", address, code=1)
        run(ann["token"], "study", "create", str(definition))
        assert "svm" not in run(bob["token"], "study", "list")
        lines = run(root, "study", "list", "--owner", "ann").splitlines()
        assert [lines[0].split()[:2], lines[-1].split()[:2]] == [["study", "owner"], ["svm", "ann"]]
        assert run(root, "study", "list", "--owner", "bob") == "There are no such studies.\n"
        usage = [line.split() for line in run(root, "access", "usage").splitlines()]
        assert usage[0] == ["user", "megabytes", "studies", "trials"]
        assert [each[2] for each in usage if each[0] == "ann"] == ["1"]
        assert "bob may work on it" in run(ann["token"], "access", "share", "svm", "bob", "--right", "work")
        assert "bbo has no token and has never logged in" in run(ann["token"], "access", "share", "svm", "bbo")
        run(ann["token"], "access", "unshare", "svm", "bbo")
        assert "trial 1" in run(bob["token"], "trial", "suggest", "svm")
        assert "belongs to ann" in run(ann["token"], "access", "show", "svm")
        refused = run(bob["token"], "study", "delete", "svm", "--yes", code=1)
        assert "only its owner may do this. [not_owner] No share gives this right." in refused
        assert "--right" not in refused
        link = json.loads(run(ann["token"], "access", "link", "svm", "--days", "1", "--json"))
        assert "svm" in run(link["token"], "study", "list")
        run(ann["token"], "study", "delete", "svm", "--yes")
        assert "ann" in run(root, "trash", "list", "--owner", "ann")
        assert "svm" not in run(root, "trash", "list", "--owner", "bob")
        assert "svm" in run(ann["token"], "trash", "list")
        assert "svm: running" in run(ann["token"], "trash", "restore", "svm")
        run(ann["token"], "access", "unshare", "svm", "bob")
        run(ann["token"], "access", "give", "svm", "bob")
        run(bob["token"], "study", "delete", "svm", "--yes")
        (kept,) = json.loads(run(bob["token"], "trash", "list", "--json"))
        run(bob["token"], "trash", "purge", str(kept["deletion"]), "--yes")
        adabkb("token", "revoke", bob["id"], *database)
    audit = adabkb("data", "audit", *database)
    assert f"token revoked: {bob['id']}" in audit
    assert f"study purged: svm, by bob token {bob['id']} from 127.0.0.1" in audit
    by_ann = f"by ann token {ann['id']} from 127.0.0.1"
    assert f"study shared: svm, with bob (work), {by_ann}" in audit
    assert f"study unshared: svm, no longer with bob, {by_ann}" in audit
    assert f"study given: svm, to bob, {by_ann}" in audit
    assert "refused: missing, from 127.0.0.1" in audit
    by_bob = adabkb("data", "audit", "--user", "bob", *database).splitlines()
    assert [line.split()[2:4] for line in by_bob] == [["study", "purged:"], ["study", "deleted:"]]
    assert adabkb("data", "audit", "--token", ann["id"], "--action", "study given", *database).count("\n") == 1
    about = [
        each["action"] for each in json.loads(adabkb("data", "audit", "--subject", ann["id"], "--json", *database))
    ]
    assert about == ["token created"]
    assert "study given: svm" in adabkb("data", "audit", "--since", "2026-01-01", "--subject", "svm", *database)
    assert "no such entries" in adabkb("data", "audit", "--since", "2999-01-01", *database)
    assert root not in audit


def test_administrator_gives_all_studies_of_a_user_to_another_one(other_sqlite: str) -> None:
    database = ("--database", other_sqlite)
    ann, _ = (json.loads(adabkb("token", "create", user, "--json", *database)) for user in ("ann", "bob"))
    root = json.loads(adabkb("token", "create", "root", "--scope", "admin", "--json", *database))
    with server_on(other_sqlite) as address:
        for study in ("v-1", "v-2", "other"):
            with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ann['token']}"}) as api:
                assert api.post("/v1/studies", json={**DEFINITION, "id": study}).status_code == 201
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {root['token']}"}) as api:
            assert api.post("/v1/studies", json={**DEFINITION, "id": "v-3"}).status_code == 201

        def run(*arguments: str, code: int = 0) -> str:
            return adabkb("access", "give-all", *arguments, "--url", address, "--token", root["token"], code=code)

        def owners() -> dict[str, str]:
            listed = adabkb("study", "list", "--json", "--url", address, "--token", root["token"])
            return {each["id"]: each["owner"] for each in json.loads(listed)}

        assert "Give v-2, v-1 to bob? Pass --yes" in run("ann", "bob", "--prefix", "v-", code=1)
        assert "is 'bbo', who has no token" in run("ann", "bbo", "--yes", code=1)
        assert owners() == {"v-1": "ann", "v-2": "ann", "other": "ann", "v-3": "root"}
        printed = run("ann", "bob", "--prefix", "v-", "--yes")
        assert printed.splitlines() == ["Study v-2 belongs to bob.", "Study v-1 belongs to bob."]
        assert owners() == {"v-1": "bob", "v-2": "bob", "other": "ann", "v-3": "root"}
        assert "ann owns no study whose id begins with v-" in run("ann", "bob", "--prefix", "v-", "--yes", code=1)
        (given,) = json.loads(run("ann", "bob", "--yes", "--json"))
        assert (given["study"], given["owner"]) == ("other", "bob")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x y",), "NAME"),
        (("ann", "--user", "*"), "--user"),
        (("ann", "--study", "a b"), "--study"),
        (("ann", "--study", "a", "--scope", "admin"), "admin"),
        (("ann", "--days", "0"), "future"),
    ],
)
def test_invalid_token_is_not_created(
    tmp_path_factory: pytest.TempPathFactory, arguments: tuple[str, ...], message: str
) -> None:
    url = f"sqlite:///{tmp_path_factory.getbasetemp()}/senseless.db"
    assert message in adabkb("token", "create", *arguments, "--database", url, code=1)


def test_server_beyond_loopback_is_refused_without_tokens(tmp_path: Path) -> None:
    serve = ("serve", "--host", "LOCALHOST", "--port", "0", "--database", f"sqlite:///{tmp_path}/adabkb.db")
    assert "adabkb token create admin --scope admin" in adabkb(*serve, code=1)


@pytest.mark.long
def test_server_beyond_loopback_requires_tokens_or_insecure(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("open")
    url = f"sqlite:///{folder}/adabkb.db"
    beyond = "LOCALHOST"  # a name of loopback that the server does not recognize
    serve = ("serve", "--host", beyond, "--port", "0", "--database", url)
    refused = adabkb(*serve, code=1)
    assert "adabkb token create admin --scope admin" in refused
    assert "warning" in started(*serve, "--insecure")
    adabkb("token", "create", "admin", "--scope", "admin", "--database", url)
    assert "warning" not in started(*serve)


def started(*arguments: str) -> str:
    """Return the output of a server at startup, before it listens."""
    with subprocess.Popen([*ADABKB, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        log = process.communicate(timeout=60)[1]
    assert "listening" in line, log
    return log

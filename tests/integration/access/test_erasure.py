"""``adabkb data erase-user`` removes a name from every table, while a server runs."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from adabkb_service.cli.tokens import administrator
from adabkb_service.errors import Invalid
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.erasure import Erased, erase
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.storage import names, people, studies, tokens
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.integration.storage.rows import person
from tests.servers import ADABKB

NAME = "zoe.quimby"


def places_of(database: Database, text: str) -> Iterator[str]:
    """The tables and columns whose rows contain a text."""
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                for column, value in row._mapping.items():
                    if text in str(value):
                        yield f"{table.name}.{column}"


def worked_on(guarded: Guarded, token: str, study: str) -> None:
    """Work on a study as its owner, in each way that stores a name."""
    with guarded.client(token) as client:
        client.post("/v1/studies", json={**DEFINITION, "id": study}, headers={"Idempotency-Key": f"create-{study}"})
        path = f"/v1/studies/{study}"
        client.post(f"{path}/suggest", json={"count": 3})
        client.post(f"{path}/observe", json={"trial": 1, "value": 1.5}, headers={"Idempotency-Key": f"told-{study}"})
        client.post(f"{path}/observe", json={"trial": 2, "state": "failed", "reason": "broken"})
        client.post(f"{path}/trials/1/files", params={"name": "log"}, content=b"text")
        client.patch(path, json={"title": "A title"})
        client.patch(f"{path}/access", json={"shared_with": {"bob": "work"}})
        assert client.post(f"{path}/links").status_code == 201


@pytest.fixture(scope="module")
def erased(guarded: Guarded) -> Erased:
    """Zoe has a study, one in the trash and a share, and administers the server; then her name is erased."""
    service = Service(guarded.database)
    row = person(NAME, name="Zoe Quimby", email="zoe@lab.example", subject="zoe-77", seen_at=utc_now())
    with guarded.database.writing() as connection:
        people.add(connection, row)
    token, admin = guarded.token(NAME, "work"), guarded.token(NAME, "admin")
    worked_on(guarded, token, "hers")
    worked_on(guarded, token, "thrown")
    guarded.send(token, "DELETE", "/v1/studies/thrown")
    ann, bob = guarded.token("ann", "work"), guarded.token("bob", "work")
    guarded.send(ann, "PATCH", "/v1/studies/s/access", {"shared_with": {NAME: "work"}})
    guarded.send(token, "POST", "/v1/studies/s/suggest")
    guarded.send(token, "POST", "/v1/studies/s/observe", {"trial": 1, "value": 3.0})
    guarded.send(admin, "POST", "/v1/tokens", {"name": NAME, "user": "carl", "scopes": ["read"]})
    guarded.send(bob, "POST", "/v1/studies/hers/suggest")
    assert len(set(places_of(guarded.database, NAME))) > 12
    done = erase(service, administrator(), NAME, "former-1", sleep=without_waiting)
    assert done is not None
    assert guarded.send(bob, "POST", "/v1/studies/hers/observe", {"trial": 3, "value": 2.5}).status_code == 200
    return done


def test_no_table_has_the_name_once_answers_and_trash_are_deleted(guarded: Guarded, erased: Erased) -> None:
    database = guarded.database
    assert set(places_of(database, NAME)) == {"idempotency_keys.answer"}  # the content of the trash is compressed
    assert erased.trash_until is not None
    assert timedelta(days=29) < erased.trash_until - utc_now() < timedelta(days=31)
    service = Service(database)
    with database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM idempotency_keys")
    assert list(places_of(database, NAME)) == []
    assert list(places_of(database, "Zoe Quimby")) == list(places_of(database, "zoe@lab.example")) == []
    assert erased.owned == ["hers"]
    assert list(examine(database)) == []
    assert replay(service, "hers").diverged == []


def test_pseudonym_owns_studies_and_tokens_are_revoked(guarded: Guarded, erased: Erased) -> None:
    with guarded.client(guarded.token("root", "admin")) as root:
        assert root.get("/v1/studies/hers/access").json() == {"owner": "former-1", "shared_with": {"bob": "work"}}
        assert root.get("/v1/studies/s/access").json() == {"owner": "ann", "shared_with": {}}
        trials = root.get("/v1/studies/hers/trials").json()["items"]
        assert [each["reported_by"] for each in trials[:3]] == ["former-1", "former-1", "bob"]
        theirs = [each for each in root.get("/v1/tokens?limit=1000").json()["items"] if each["user"] == "former-1"]
        assert len(theirs) == 4
        assert all(each["revoked_at"] for each in theirs)
        (entry, *_) = [
            each for each in root.get("/v1/audit?limit=1000").json()["items"] if each["action"] == "user erased"
        ]
        assert (entry["subject"], entry["detail"]) == ("former-1", erased.replaced)
        entries = [each for each in root.get("/v1/audit?limit=1000").json()["items"] if each["user"] == "former-1"]
        assert {each["address"] for each in entries} == {"erased"}


@pytest.mark.usefixtures("erased")
def test_name_of_another_user_is_no_pseudonym(guarded: Guarded) -> None:
    service = Service(guarded.database)
    for name in ("bob", "former-1"):
        with pytest.raises(Invalid, match="another user"):
            erase(service, administrator(), "ann", name, sleep=without_waiting)
    assert erase(service, administrator(), NAME, "former-2", sleep=without_waiting) is None


@pytest.mark.usefixtures("erased")
def test_command_asks_and_reports(guarded: Guarded) -> None:
    url = guarded.database.url.render_as_string(hide_password=False)
    command = ("data", "erase-user", "--database", url)
    assert "--yes" in adabkb(*command, "bob", code=1)
    assert "nowhere" in adabkb(*command, "nobody-at-all", "--yes", code=1)
    guarded.token("dora", "work", revoked_at=utc_now() - timedelta(hours=1))
    printed = adabkb(*command, "dora", "--pseudonym", "former-3", "--yes")
    assert "former-3 replaces dora in: 1 tokens, links and sessions." in printed
    guarded.token("dan", "work", revoked_at=utc_now() - timedelta(hours=1))
    answer = json.loads(adabkb(*command, "dan", "--pseudonym", "former-7", "--yes", "--json"))
    assert answer["pseudonym"] == "former-7"
    assert answer["trash_until"].startswith("20")  # zoe's study is in the trash


def without_waiting(seconds: float) -> None:
    """Instead of waiting until no server accepts a revoked token."""


def revoked(database: Database, user: str) -> bool:
    """Wait until a user has no token. Return whether this happened within 30 seconds."""
    for _ in range(3000):
        with database.reading() as connection:
            if not tokens.has_any(connection, user):
                return True
        time.sleep(0.01)
    return False


def test_what_the_user_stores_with_a_cached_grant_is_erased(guarded: Guarded) -> None:
    """The server accepts the revoked token for some seconds."""
    token = guarded.token("eve", "work")
    with guarded.client(token) as eve:
        eve.post("/v1/studies", json={**DEFINITION, "id": "early"})
        eve.post("/v1/studies/early/suggest", json={"count": 2})
        eve.post("/v1/studies/early/observe", json={"trial": 1, "value": 1.5})

        def store(seconds: float) -> None:
            assert seconds > 0
            told = eve.post("/v1/studies/early/observe", json={"trial": 2, "value": 2.5})
            made = eve.post("/v1/studies", json={**DEFINITION, "id": "late"})
            assert (told.status_code, made.status_code) == (200, 201)

        erased = erase(Service(guarded.database), administrator(), "eve", "former-4", sleep=store)
    assert erased is not None
    assert erased.owned == ["early", "late"]
    assert list(places_of(guarded.database, "'eve'")) == []
    with guarded.database.reading() as connection:
        assert not names.is_known(connection, "eve")
        assert names.studies_with(connection, "eve") == []
    with guarded.client(guarded.token("root", "admin")) as root:
        trials = root.get("/v1/studies/early/trials").json()["items"]
        assert [each["reported_by"] for each in trials] == ["former-4", "former-4"]


def test_large_study_is_changed_in_short_transactions(guarded: Guarded) -> None:
    """Otherwise, requests would wait for seconds. Each transaction increases the version of the study."""
    token, point = guarded.token("ida", "work"), {"parameters": {"x": 0.5, "n": 2}, "value": 1.0}
    with guarded.client(token) as ida:
        ida.post("/v1/studies", json={**DEFINITION, "id": "large", "algorithm": {"kind": "random"}})
        for _ in range(2):
            assert ida.post("/v1/studies/large/observations", json={"items": [point] * 100}).status_code == 200
        with guarded.database.reading() as connection:
            before = studies.get(connection, "large")
    erased = erase(Service(guarded.database), administrator(), "ida", "former-8", sleep=without_waiting)
    assert erased is not None
    assert (erased.replaced["events"], erased.replaced["results"]) == (201, 200)
    with guarded.database.reading() as connection:
        after = studies.get(connection, "large")
        assert names.studies_with(connection, "ida") == []
    assert after.version >= before.version + 2 * 2
    assert after.log_bytes == before.log_bytes + 201 * (len("former-8") - len("ida"))


def test_only_names_of_users_are_erased_from_the_audit_log(guarded: Guarded) -> None:
    """Users may have the names of scopes and rights."""
    admin = guarded.token("admin", "admin")
    made = guarded.send(admin, "POST", "/v1/tokens", {"name": "fay", "user": "fay", "scopes": ["admin"]}).json()
    own = guarded.send(admin, "POST", "/v1/tokens", {"name": "admin", "user": "admin", "scopes": ["admin"]}).json()
    guarded.send(admin, "PATCH", "/v1/studies/s/access", {"shared_with": {"admin": "read", "work": "work"}})
    guarded.token("work", "read")
    for user, pseudonym in (("admin", "former-5"), ("work", "former-6")):
        assert erase(Service(guarded.database), administrator(), user, pseudonym, sleep=without_waiting) is not None
    with guarded.client(guarded.token("root", "admin")) as root:
        entries = root.get("/v1/audit?limit=1000").json()["items"]
    details = {each["subject"]: each["detail"] for each in entries if each["user"] == "former-5"}
    assert (details[made["id"]]["user"], details[made["id"]]["scopes"]) == ("fay", ["admin"])
    mine = details[own["id"]]
    assert (mine["user"], mine["name"], mine["scopes"]) == ("former-5", "former-5", ["admin"])
    assert details["s"] == {"shared_with": {"former-5": "read", "former-6": "work"}}


def test_an_interrupted_command_continues_with_the_pseudonym_that_it_named(guarded: Guarded) -> None:
    guarded.send(guarded.token("gil", "work"), "POST", "/v1/studies", {**DEFINITION, "id": "gils"})
    url = guarded.database.url.render_as_string(hide_password=False)
    command = [*ADABKB, "data", "erase-user", "--database", url, "gil", "--yes"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert revoked(guarded.database, "gil")
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0
    pseudonym = errors.partition("--pseudonym ")[2].split()[0]
    done = erase(Service(guarded.database), administrator(), "gil", pseudonym, sleep=without_waiting)
    assert done is not None
    assert done.owned == ["gils"]
    with guarded.database.reading() as connection:
        assert names.studies_with(connection, "gil") == []

"""Deletion moves a study to the trash, and restoration brings all of it back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from adabkb_client import Client, Float, NotFound
from adabkb_service.operations.data.trash import DAYS
from adabkb_service.operations.monitoring.sweep import empty_trash
from adabkb_service.operations.service import Service
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded
from tests.integration.api.conftest import DEFINITION


@pytest.fixture(scope="module")
def ann(guarded: Guarded) -> Iterator[httpx.Client]:
    with guarded.client(guarded.token("ann", "work")) as client:
        yield client


def lines(client: httpx.Client, study: str) -> list[str]:
    """The export, without times that requests change."""
    return client.get(f"/v1/studies/{study}/export").text.splitlines()


def worked_on(client: httpx.Client, study: str) -> None:
    """A study with results, an active trial and a stored answer, shared with bob."""
    client.post("/v1/studies", json={**DEFINITION, "id": study, "title": "Yield of the coupling"})
    client.post(f"/v1/studies/{study}/suggest", json={"count": 3, "lease_seconds": 3600})
    client.post(f"/v1/studies/{study}/observe", json={"trial": 1, "value": 1.0}, headers={"Idempotency-Key": "told"})
    client.patch(f"/v1/studies/{study}/access", json={"shared_with": {"bob": "read"}})


def test_restored_study_continues_where_it_was(ann: httpx.Client) -> None:
    worked_on(ann, "back")
    before = lines(ann, "back")
    assert ann.delete("/v1/studies/back").status_code == 204
    assert ann.get("/v1/studies/back").status_code == 404

    (kept,) = [each for each in ann.get("/v1/trash").json()["items"] if each["study"] == "back"]
    assert (kept["title"], kept["owner"], kept["deleted_by"], kept["results"]) == (
        "Yield of the coupling",
        "ann",
        "ann",
        1,
    )
    restored = ann.post("/v1/studies/back/restore")
    assert (restored.status_code, restored.json()["counts"]["active"]) == (200, 2)
    assert lines(ann, "back") == before
    assert ann.get("/v1/studies/back/access").json() == {"owner": "ann", "shared_with": {"bob": "read"}}
    again = ann.post("/v1/studies/back/observe", json={"trial": 1, "value": 1.0}, headers={"Idempotency-Key": "told"})
    assert again.headers["idempotent-replayed"] == "true"
    assert ann.post("/v1/studies/back/observe", json={"trial": 2, "value": 2.0}).status_code == 200
    assert "back" not in {each["study"] for each in ann.get("/v1/trash").json()["items"]}
    assert ann.post("/v1/studies/back/restore").json()["code"] == "deletion_not_found"


def test_lists_name_owners_and_select_by_them(guarded: Guarded, ann: httpx.Client) -> None:
    """Studies and the trash. Users select only among the studies that they see."""
    with guarded.client(guarded.token("abe", "work")) as abe, guarded.client(guarded.token("root", "admin")) as root:
        for client, study in ((ann, "of-ann"), (abe, "of-abe"), (abe, "old-abe")):
            client.post("/v1/studies", json={**DEFINITION, "id": study})
        root.patch("/v1/studies/of-ann/access", json={"shared_with": {"abe": "read"}})
        abe.delete("/v1/studies/old-abe")

        def owners(client: httpx.Client, path: str, **query: str) -> dict[str, str | None]:
            items = client.get(path, params={**query, "limit": 1000}).json()["items"]
            return {each.get("study", each.get("id")): each.get("owner") for each in items}

        everything = owners(root, "/v1/studies")
        assert (everything["of-ann"], everything["of-abe"]) == ("ann", "abe")
        assert owners(root, "/v1/studies", owner="abe") == {"of-abe": "abe"}
        assert owners(abe, "/v1/studies") == {"of-ann": "ann", "of-abe": "abe"}
        assert owners(abe, "/v1/studies", owner="ann") == {"of-ann": "ann"}
        assert owners(abe, "/v1/studies", owner="eve") == {}
        assert owners(root, "/v1/trash", owner="abe") == owners(abe, "/v1/trash") == {"old-abe": "abe"}
        assert owners(abe, "/v1/trash", owner="ann") == {}
        assert abe.get("/v1/studies", params={"owner": "*"}).status_code == 422
        html = {"Accept": "text/html"}
        assert re.findall("study-(of-a..)", root.get("/", params={"text": "ABE"}, headers=html).text) == ["of-abe"]
        assert "<td>abe</td>" in root.get("/trash", headers=html).text
    with Client(guarded.address, token=guarded.token("root", "admin")) as program:
        shown = program.studies(owner="abe")
        assert ([each.id for each in shown], list(shown.to_frame()["owner"])) == (["of-abe"], ["abe"])
        assert [line.split()[:2] for line in repr(shown).splitlines()] == [["id", "owner"], ["of-abe", "abe"]]
        assert [each.study for each in program.trash(owner="abe")] == ["old-abe"]


def test_restored_links_work_unless_they_were_revoked(guarded: Guarded, ann: httpx.Client) -> None:
    ann.post("/v1/studies", json={**DEFINITION, "id": "linked"})
    links = [ann.post("/v1/studies/linked/links").json() for _ in range(3)]
    assert ann.delete(f"/v1/studies/linked/links/{links[0]['id']}").status_code == 204
    assert ann.delete("/v1/studies/linked").status_code == 204
    with guarded.client(guarded.token("root", "admin")) as root:
        assert root.delete(f"/v1/tokens/{links[1]['id']}").status_code == 204

    def reads() -> list[int]:
        return [guarded.send(link["token"], "GET", "/v1/studies/linked").status_code for link in links]

    assert reads() == [401, 401, 401]
    assert ann.post("/v1/studies", json={**DEFINITION, "id": "linked"}).status_code == 201  # another study with this id
    assert reads() == [401, 401, 401]
    assert ann.delete("/v1/studies/linked", params={"purge": "true"}).status_code == 204
    assert ann.post("/v1/studies/linked/restore").status_code == 200
    assert reads() == [401, 401, 200]


def test_id_can_be_reused_and_deletions_of_one_id_are_distinct(ann: httpx.Client) -> None:
    for seed in (1, 2):
        assert ann.post("/v1/studies", json={**DEFINITION, "id": "again", "seed": seed}).status_code == 201
        assert ann.delete("/v1/studies/again").status_code == 204
    last, first = (each["deletion"] for each in ann.get("/v1/trash").json()["items"] if each["study"] == "again")
    assert ann.post("/v1/studies/again/restore", json={"deletion": first}).json()["seed"] == 1
    assert ann.post("/v1/studies/again/restore").json()["code"] == "restore_conflict"
    ann.delete("/v1/studies/again", params={"purge": "true"})
    assert ann.post("/v1/studies/again/restore").json()["seed"] == 2
    assert ann.delete(f"/v1/trash/{last}").status_code == 404


def test_number_of_a_deletion_is_never_used_again(ann: httpx.Client) -> None:
    """A repeated purge must not purge another study."""
    numbers = []
    for study in ("first", "second", "third"):
        ann.post("/v1/studies", json={**DEFINITION, "id": study})
        ann.delete(f"/v1/studies/{study}")
        (number,) = [each["deletion"] for each in ann.get("/v1/trash").json()["items"] if each["study"] == study]
        numbers.append(number)
        if study == "first":
            assert ann.post("/v1/studies/first/restore").status_code == 200
        else:
            assert ann.delete(f"/v1/trash/{number}").status_code == 204
    assert numbers == sorted(set(numbers))
    assert ann.delete(f"/v1/trash/{numbers[0]}").json()["code"] == "deletion_not_found"


def test_study_whose_id_is_used_again_can_be_restored_as_the_refusal_says(ann: httpx.Client) -> None:
    for title in ("old", "new"):
        ann.post("/v1/studies", json={**DEFINITION, "id": "twice", "title": title})
        if title == "old":
            ann.delete("/v1/studies/twice")
    refused = ann.post("/v1/studies/twice/restore").json()
    assert (refused["status"], refused["code"]) == (409, "restore_conflict")
    assert "another study 'twice'" in refused["detail"]
    assert "GET /v1/trash" in refused["remedy"]
    ann.delete("/v1/studies/twice")
    old = min(each["deletion"] for each in ann.get("/v1/trash").json()["items"] if each["study"] == "twice")
    assert ann.post("/v1/studies/twice/restore", json={"deletion": old}).json()["title"] == "old"


def test_id_in_the_trash_is_reserved_for_its_owner(guarded: Guarded, ann: httpx.Client) -> None:
    taken = {**DEFINITION, "id": "kept"}
    assert ann.post("/v1/studies", json=taken).status_code == 201
    assert ann.delete("/v1/studies/kept").status_code == 204
    refused = guarded.send(guarded.token("bob", "work"), "POST", "/v1/studies", taken)
    assert (refused.status_code, refused.json()["code"]) == (409, "id_taken")
    assert ann.post("/v1/studies/kept/restore").status_code == 200
    assert ann.delete("/v1/studies/kept?purge=true").status_code == 204
    assert guarded.send(guarded.token("bob", "work"), "POST", "/v1/studies", taken).status_code == 201


def test_purged_study_cannot_be_restored(ann: httpx.Client) -> None:
    for purge in (True, False):
        ann.post("/v1/studies", json={**DEFINITION, "id": "gone"})
        ann.delete("/v1/studies/gone", params={"purge": str(purge).lower()})
    (kept,) = [each["deletion"] for each in ann.get("/v1/trash").json()["items"] if each["study"] == "gone"]
    assert ann.delete(f"/v1/trash/{kept}").status_code == 204
    assert ann.post("/v1/studies/gone/restore").status_code == 404


@pytest.mark.parametrize(("user", "more"), [("bob", {}), ("ann", {"studies": ["other-*"]})])
def test_users_cannot_see_the_trash_of_others(
    guarded: Guarded, ann: httpx.Client, user: str, more: dict[str, Any]
) -> None:
    worked_on(ann, "hers")
    ann.delete("/v1/studies/hers")
    (kept,) = [each["deletion"] for each in ann.get("/v1/trash").json()["items"] if each["study"] == "hers"]
    with guarded.client(guarded.token(user, "work", **more)) as other:
        assert other.get("/v1/trash").json()["items"] == []
        assert other.post("/v1/studies/hers/restore").status_code == 404
        assert other.delete(f"/v1/trash/{kept}").status_code == 404
    with guarded.client(guarded.token("root", "admin")) as root:
        assert root.post("/v1/studies/hers/restore", json={"deletion": kept}).status_code == 200
        acts = [each["action"] for each in root.get("/v1/audit").json()["items"] if each["subject"] == "hers"]
    assert acts[:2] == ["study restored", "study deleted"]
    ann.delete("/v1/studies/hers", params={"purge": "true"})


def test_trash_is_emptied_after_thirty_days_despite_clock_jumps(guarded: Guarded, ann: httpx.Client) -> None:
    """A clock that is far ahead for a moment deletes nothing."""
    day = timedelta(days=1)
    ann.post("/v1/studies", json={**DEFINITION, "id": "late"})
    ann.delete("/v1/studies/late")

    def held() -> bool:
        return "late" in {each["study"] for each in ann.get("/v1/trash").json()["items"]}

    def ahead(days: int) -> Service:
        return Service(guarded.database, clock=lambda: utc_now() + days * day)

    empty_trash(ahead(DAYS + 1), seconds_since=60)
    assert held()
    empty_trash(ahead(2 * (DAYS + 1)), seconds_since=(DAYS + 1) * day.total_seconds())
    assert not held()


def test_client_deletes_restores_and_purges(guarded: Guarded) -> None:
    with Client(guarded.address, guarded.token("kim", "work")) as kim:
        study = kim.create_study("kims", {"x": Float(0, 1)}, direction="minimize")
        study.add_result({"x": 0.5}, 1.0)
        kim.delete_study("kims")
        assert [(each.study, each.results) for each in kim.trash()] == [("kims", 1)]
        assert kim.restore_study("kims").best() is not None
        study.delete()
        (kept,) = kim.trash()
        kim.purge_study(kept.deletion)
        with pytest.raises(NotFound, match="trash"):
            kim.restore_study("kims")

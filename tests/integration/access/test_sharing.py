"""Owners of studies, shares and links."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from adabkb_client import Access, Client, Float, NotFound, Unauthorized
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded
from tests.integration.api.conftest import DEFINITION, pointers

People = dict[str, httpx.Client]


@pytest.fixture(scope="module")
def people(guarded: Guarded) -> Iterator[People]:
    """Clients of some users, and of an administrator."""
    with ExitStack() as opened:
        scopes = {"ann": "work", "bob": "work", "cid": "work", "root": "admin"}
        yield {user: opened.enter_context(guarded.client(guarded.token(user, scope))) for user, scope in scopes.items()}


def ids(client: httpx.Client) -> set[str]:
    return {study["id"] for study in client.get("/v1/studies").json()["items"]}


def test_study_is_private_to_its_owner_until_shared(people: People) -> None:
    ann, bob, cid = people["ann"], people["bob"], people["cid"]
    assert ann.post("/v1/studies", json={**DEFINITION, "id": "mine"}).status_code == 201
    assert "mine" in ids(ann) & ids(people["root"])
    assert "mine" not in ids(bob) | ids(cid)

    shared = ann.patch("/v1/studies/mine/access", json={"shared_with": {"bob": "work", "*": "read"}})
    assert shared.json() == {"owner": "ann", "shared_with": {"*": "read", "bob": "work"}}
    assert "mine" in ids(bob) & ids(cid)
    assert cid.post("/v1/studies/mine/suggest").status_code == 403
    assert bob.post("/v1/studies/mine/suggest", headers={"Idempotency-Key": "bobs"}).status_code == 200
    exported = {user: people[user].get("/v1/studies/mine/export").text for user in ("ann", "bob", "cid")}
    assert {user for user, lines in exported.items() if '"type": "key"' in lines} == {"ann", "bob"}
    for method, path in (("DELETE", ""), ("PATCH", "/access"), ("POST", "/links")):
        refused = bob.request(method, f"/v1/studies/mine{path}")
        assert (refused.status_code, "owner" in refused.json()["detail"]) == (403, True)

    assert ann.patch("/v1/studies/mine/access", json={"shared_with": {"*": None}}).json()["shared_with"] == {
        "bob": "work"
    }
    assert "mine" not in ids(cid)
    assert bob.get("/v1/studies/mine").status_code == 200


def test_result_names_who_reported_it_everywhere(people: People) -> None:
    """Results of trials, failures, queued points and results of one's own; not what the server adds by itself."""
    ann, bob = people["ann"], people["bob"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "told", "failure_limit": 1})
    ann.patch("/v1/studies/told/access", json={"shared_with": {"bob": "work"}})
    point = next(iter(ann.post("/v1/studies/told/suggest").json()["trials"]))["parameters"]
    bob.post("/v1/studies/told/observe", json={"trial": 1, "value": 1.5})
    ann.post("/v1/studies/told/observations", json={"items": [{"parameters": point, "value": 1.25}]})
    bob.post("/v1/studies/told/trials", json={"parameters": point})
    ann.post("/v1/studies/told/suggest")
    bob.post("/v1/studies/told/observe", json={"trial": 2, "state": "failed", "reason": "broke"})
    log = ann.get("/v1/studies/told/events").json()["items"]
    named = [(each["kind"], each["payload"]["user"]) for each in log if "user" in each["payload"]]
    assert named == [("created", "ann"), ("observed", "bob"), ("observed", "ann"), ("queued", "bob"), ("failed", "bob")]
    assert log[-1]["kind"] == "paused", "because of the failure, by the server"
    trials = ann.get("/v1/studies/told/trials").json()["items"]
    assert [each["reported_by"] for each in trials] == ["bob", "bob"]
    results = ann.get("/v1/studies/told/observations").json()["items"]
    assert [each["reported_by"] for each in results] == ["bob", "ann"]
    for query in ("format=csv", "format=csv&titles=true"):
        header, *rows = csv.reader(io.StringIO(ann.get(f"/v1/studies/told/export?{query}").text))
        place = header.index("Reported by" if "titles" in query else "reported_by")
        assert [row[place] for row in rows] == ["bob", "bob", "ann"]
    table = ann.get("/v1/studies/told/report").text.split("## Results")[1].split("\n## ")[0]
    assert re.findall(r"\| (ann|bob) \|", table) == ["bob", "bob", "ann"]
    bob.post("/v1/studies/told/trials/2/retry")
    assert "reported_by" not in ann.get("/v1/studies/told/trials/2").json()


def test_result_of_a_trial_stopped_by_patience_names_who_reported_its_last_value(people: People) -> None:
    ann, rule = people["ann"], {"rule": "patience", "max_steps": 9, "no_gain_for": 2}
    ann.post("/v1/studies", json={**DEFINITION, "id": "patient", "early_stopping": rule})
    ann.post("/v1/studies/patient/suggest")
    for step, value in ((1, 2.0), (3, 2.5)):
        ann.post("/v1/studies/patient/trials/1/reports", json={"step": step, "value": value, "attempt": 1})
    (trial,) = ann.get("/v1/studies/patient/trials").json()["items"]
    assert (trial["state"], trial["value"], trial.get("reported_by")) == ("stopped", 2.5, "ann")


def test_log_and_report_name_who_changed_a_study(people: People) -> None:
    ann, bob = people["ann"], people["bob"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "named"})
    ann.patch("/v1/studies/named/access", json={"shared_with": {"bob": "work"}})
    (trial,) = ann.post("/v1/studies/named/suggest").json()["trials"]
    ann.post("/v1/studies/named/observe", json={"trial": trial["number"], "value": 1.5})
    bob.patch("/v1/studies/named/observations/1", json={"value": 2.5, "reason": "misread"})
    ann.patch("/v1/studies/named", json={"budget": 30})
    bob.delete("/v1/studies/named/observations/1?reason=spilled")
    (trial,) = ann.post("/v1/studies/named/suggest").json()["trials"]
    bob.post(f"/v1/studies/named/trials/{trial['number']}/release", json={"reason": "flask broke"})
    lines = [json.loads(line) for line in ann.get("/v1/studies/named/export").text.splitlines()]
    events = [(each["kind"], each["payload"].get("user")) for each in lines if each["type"] == "event"]
    named = [
        *(("created", "ann"), ("observed", "ann"), ("corrected", "bob"), ("updated", "ann"), ("corrected", "bob")),
        ("released", "bob"),
    ]
    assert [each for each in events if each[1] is not None] == named, (
        "others have a worker or an entry of the audit log"
    )
    (why,) = ann.get("/v1/studies/named/trials/1/why").json()["events"][-1:]
    assert why["in_words"] == "Excluded by bob: spilled"
    (why,) = ann.get(f"/v1/studies/named/trials/{trial['number']}/why").json()["events"][-1:]
    assert why["in_words"] == "Queued again without a result by bob: flask broke"
    report = ann.get("/v1/studies/named/report").text
    changes = report.split("### Changes")[1].split("### ")[0]
    assert re.findall(r"\| (ann|bob) \|", changes) == ["ann", "bob", "ann", "bob", "bob"]


def test_answer_names_the_users_that_the_server_does_not_know(people: People) -> None:
    ann = people["ann"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "mistyped"})
    access = "/v1/studies/mistyped/access"
    shared = ann.patch(access, json={"shared_with": {"bbo": "work", "bob": "read", "*": "read"}}).json()
    assert shared["unknown_users"] == ["bbo"]
    assert shared["shared_with"] == {"*": "read", "bbo": "work", "bob": "read"}
    assert "unknown_users" not in ann.patch(access, json={"shared_with": {"bbo": None}}).json()


def test_study_can_be_transferred(people: People) -> None:
    ann, bob = people["ann"], people["bob"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "given"})
    moved = ann.patch("/v1/studies/given/access", json={"owner": "bob", "shared_with": {"ann": "read"}})
    assert moved.json() == {"owner": "bob", "shared_with": {"ann": "read"}}
    assert ann.delete("/v1/studies/given").status_code == 403
    assert bob.delete("/v1/studies/given").status_code == 204


def test_links_of_the_former_owner_are_revoked(people: People, guarded: Guarded) -> None:
    """They act for the former owner. A link that was already revoked, and one of another study, keep their state."""
    ann, bob = people["ann"], people["bob"]
    for study in ("linked-1", "linked-2"):
        ann.post("/v1/studies", json={**DEFINITION, "id": study})
    made = [ann.post("/v1/studies/linked-1/links").json() for _ in range(3)]
    ann.delete(f"/v1/studies/linked-1/links/{made[0]['id']}")
    other = ann.post("/v1/studies/linked-2/links").json()
    assert "links_revoked" not in ann.patch("/v1/studies/linked-1/access", json={"shared_with": {"bob": "read"}}).json()
    given = ann.patch("/v1/studies/linked-1/access", json={"owner": "bob"}).json()
    assert given["links_revoked"] == [each["id"] for each in made[1:]]
    assert all(each["revoked_at"] for each in bob.get("/v1/studies/linked-1/links").json()["items"])
    assert guarded.send(made[1]["token"], "GET", "/v1/studies/linked-1").status_code == 401
    assert guarded.send(other["token"], "GET", "/v1/studies/linked-2").status_code == 200


def test_new_token_names_the_studies_of_an_earlier_user_of_the_name(people: People) -> None:
    ann, root = people["ann"], people["root"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "for-newcomer"})
    ann.patch("/v1/studies/for-newcomer/access", json={"shared_with": {"newcomer": "read", "*": "read"}})
    body = {"name": "newcomer", "scopes": ["work"]}
    first, second = (root.post("/v1/tokens", json=body).json() for _ in range(2))
    assert first["inherited_studies"] == ["for-newcomer"]
    assert "inherited_studies" not in second, "the user is known by then"


def test_webhooks_of_the_former_owner_are_turned_off(people: People) -> None:
    """The new owner may turn them on again. A change that keeps the owner changes no webhook."""
    ann, bob, root = people["ann"], people["bob"], people["root"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "hooked"})
    path = "/v1/studies/hooked/webhooks"
    made = [ann.post(path, json={"url": f"https://ann.example/{name}"}).json()["id"] for name in ("a", "b")]
    ann.patch(f"{path}/{made[1]}", json={"is_on": False})
    assert "webhooks_turned_off" not in ann.patch(path.replace("webhooks", "access"), json={"owner": "ann"}).json()
    given = ann.patch("/v1/studies/hooked/access", json={"owner": "bob"})
    assert given.json() == {"owner": "bob", "shared_with": {}, "webhooks_turned_off": made[:1]}
    first, second = bob.get(path).json()["items"]
    assert (first["is_on"], first["error"]) == (False, "off since the study was given to another owner")
    assert (second["is_on"], second["error"]) == (False, None)
    assert bob.patch(f"{path}/{made[0]}", json={"is_on": True}).json()["is_on"]
    entries = [each for each in root.get("/v1/audit").json()["items"] if each["subject"] == "hooked"]
    (detail,) = [each["detail"] for each in entries if each["action"] == "study given"]
    assert detail == {"owner": "bob", "webhooks_turned_off": made[:1]}


def test_study_is_transferred_only_to_a_user_with_a_token(people: People, guarded: Guarded) -> None:
    """With a mistyped name, only administrators could access it."""
    ann = people["ann"]
    ann.post("/v1/studies", json={**DEFINITION, "id": "kept"})
    guarded.token("gone", "work", revoked_at=utc_now())
    before = ann.get("/v1/studies/kept/access").json()
    for user in ("bbo", "gone"):
        refused = ann.patch("/v1/studies/kept/access", json={"owner": user})
        assert (refused.status_code, pointers(refused)) == (422, ["/owner"])
        assert "has no token and has never logged in; check the name" in refused.json()["errors"][0]["detail"]
    assert ann.get("/v1/studies/kept/access").json() == before
    assert ann.patch("/v1/studies/kept/access", json={"owner": "bob"}).status_code == 200


def test_invalid_permissions_are_rejected(people: People) -> None:
    before = people["ann"].get("/v1/studies/s/access").json()
    for body, pointer in (
        ({"owner": "*"}, "/owner"),
        ({"shared_with": {"ann": "read"}}, "/shared_with/ann"),
        ({"shared_with": {"bob": "own"}}, "/shared_with/bob"),
        ({"shared": {}}, "/shared"),
    ):
        refused = people["ann"].patch("/v1/studies/s/access", json=body)
        assert (refused.status_code, pointers(refused)) == (422, [pointer])
    assert people["ann"].get("/v1/studies/s/access").json() == before


def test_link_reads_one_study_until_it_is_revoked_or_the_study_is_deleted(guarded: Guarded, people: People) -> None:
    ann = people["ann"]
    for name in ("seen", "unseen"):
        ann.post("/v1/studies", json={**DEFINITION, "id": name})
    links = [ann.post("/v1/studies/seen/links").json() for _ in range(2)]
    with guarded.client(links[0]["token"]) as reader, guarded.client(links[1]["token"]) as other:
        assert ids(reader) == {"seen"}
        assert reader.get("/v1/studies/seen/recommendation").status_code == 200
        assert reader.get("/v1/studies/unseen").status_code == 404
        assert reader.post("/v1/studies/seen/suggest").status_code == 403
        assert reader.get("/v1/studies/seen/links").status_code == 403
        listed = ann.get("/v1/studies/seen/links").json()["items"]
        assert {each["id"] for each in listed} == {link["id"] for link in links}
        assert ann.delete(f"/v1/studies/unseen/links/{links[0]['id']}").status_code == 404
        assert ann.delete(f"/v1/studies/seen/links/{links[0]['id']}").status_code == 204
        assert reader.get("/v1/studies/seen").status_code == 401
        assert other.get("/v1/studies/seen").status_code == 200
        ann.delete("/v1/studies/seen")
        ann.post("/v1/studies", json={**DEFINITION, "id": "seen"})
        assert other.get("/v1/studies/seen").status_code == 401


def test_study_without_an_owner_belongs_to_administrators(guarded: Guarded, people: People) -> None:
    """Like all studies created before the first token."""
    root = people["root"]
    root.post("/v1/studies", json={**DEFINITION, "id": "old"})
    with guarded.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM grants WHERE study_id = 'old'")
    assert people["ann"].get("/v1/studies/old").status_code == 404
    assert root.post("/v1/studies/old/links").status_code == 403
    assert root.patch("/v1/studies/old/access", json={"owner": "ann"}).status_code == 200
    assert people["ann"].get("/v1/studies/old").status_code == 200


def test_client_shares_studies_and_creates_links(guarded: Guarded) -> None:
    """So does ``AsyncClient``, which has the same procedures."""
    dot = Client(guarded.address, guarded.token("dot", "work"))
    eli = Client(guarded.address, guarded.token("eli", "work"))
    with dot, eli:
        study = dot.create_study("dots", {"x": Float(0, 1)}, direction="minimize")
        with pytest.raises(NotFound):
            eli.study("dots")
        assert study.share("eli").shared_with == {"eli": "read"}
        with pytest.raises(Unauthorized, match="share"):
            eli.study("dots").pause()
        study.share("eli", "work")
        assert eli.study("dots").pause().state == "paused"
        assert study.unshare("eli") == Access("dot", {})
        link = study.link()
        with Client(guarded.address, link.token) as reader:
            assert [each.id for each in reader.studies()] == ["dots"]
            assert [(each.id, each.token, each.revoked_at) for each in study.links()] == [(link.id, None, None)]
            study.unlink(link)
            assert study.links()[0].revoked_at is not None
            with pytest.raises(Unauthorized, match="revoked"):
                reader.study("dots")
        assert str(link.token) not in repr(link)
        assert study.give("eli").owner == "eli"
        assert eli.study("dots").access() == Access("eli", {})
    with Client(guarded.address) as nobody, pytest.raises(Unauthorized, match="ADABKB_TOKEN"):
        nobody.study("s")

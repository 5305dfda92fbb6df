"""Tokens: what they allow, for how long, and that their secrets appear nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.access.caller import Caller
from adabkb_service.access.gate import GRANT_CACHE_SECONDS, MAX_REFUSAL_KINDS, Gate, Refusals
from adabkb_service.access.secrets import id_of
from adabkb_service.errors import Forbidden, StudyNotFound, Unauthorized
from adabkb_service.storage import grants, tokens
from adabkb_service.study.clock import utc_now
from tests.integration.access.conftest import Guarded, give_token
from tests.integration.access.test_quotas import NO_QUOTAS
from tests.integration.api.conftest import DEFINITION, pointers
from tests.servers import server_on


@pytest.fixture(scope="module")
def admin(guarded: Guarded) -> Iterator[httpx.Client]:
    with guarded.client(guarded.token("root", "admin")) as client:
        yield client


def test_token_works_from_its_creation_until_it_is_revoked(guarded: Guarded, admin: httpx.Client) -> None:
    made = admin.post("/v1/tokens", json={"name": "cid-gpu", "user": "cid", "scopes": ["work"], "studies": ["c-*"]})
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    token = made.json()
    with guarded.client(token["token"]) as cid:
        assert cid.post("/v1/studies", json={**DEFINITION, "id": "c-1"}).status_code == 201
        refused = cid.post("/v1/studies", json={**DEFINITION, "id": "d-1"})
        assert (refused.status_code, "c-*" in refused.json()["detail"]) == (403, True)
        assert cid.get("/v1/tokens/self").json() == {
            "user": "cid",
            "scope": "work",
            "studies": ["c-*"],
            "token": token["id"],
            "quotas": NO_QUOTAS | {"model_seconds_per_minute": 45},
            "usage": {"studies": 1, "trials": 0, "megabytes": pytest.approx(0.001, abs=0.001)},
        }
        assert admin.delete(f"/v1/tokens/{token['id']}").status_code == 204
        assert cid.get("/v1/studies").status_code == 401
    listed = {each["id"]: each for each in admin.get("/v1/tokens").json()["items"]}
    assert listed[token["id"]]["revoked_at"] is not None
    assert admin.delete(f"/v1/tokens/{token['id']}").status_code == 204
    assert admin.delete("/v1/tokens/ffffffffffff").status_code == 404


@pytest.mark.parametrize("time", [1896069851, "1896069851", True, "2030-01-31", "2030-01-31T00:00:00", "soon", {}])
def test_expiry_must_be_a_time_with_its_offset(admin: httpx.Client, time: object) -> None:
    """A number could be seconds or milliseconds."""
    refused = admin.post("/v1/tokens", json={"name": "x", "scopes": ["read"], "expires_at": time})
    error = {
        "pointer": "/expires_at",
        "detail": "must be a time with its offset, such as 2030-12-01T00:00:00Z",
        "code": "invalid_time",
    }
    assert (refused.status_code, refused.json()["errors"]) == (422, [error])


def test_expiry_is_stored_and_answered_in_utc(admin: httpx.Client) -> None:
    body = {"name": "zone", "scopes": ["read"], "expires_at": "2127-12-01T00:00:00.5+02:00"}
    made = admin.post("/v1/tokens", json=body).json()
    assert made["expires_at"] == "2127-11-30T22:00:00.500000Z"
    (listed,) = [each for each in admin.get("/v1/tokens").json()["items"] if each["id"] == made["id"]]
    assert listed["expires_at"] == made["expires_at"]
    noted = [each for each in admin.get("/v1/audit").json()["items"] if each["subject"] == made["id"]]
    assert [each["detail"]["expires_at"] for each in noted] == [made["expires_at"]]


@pytest.mark.parametrize("header", ["adabkb_x", "Token adabkb_x", "Basic YTpi"])
def test_other_schemes_of_authorization_are_named(guarded: Guarded, header: str) -> None:
    refused = httpx.get(f"{guarded.address}/v1/studies", headers={"Authorization": header})
    assert (refused.status_code, "Authorization: Bearer" in refused.json()["detail"]) == (401, True)


def test_past_expiry_and_restricted_admin_tokens_are_rejected(admin: httpx.Client) -> None:
    body = {"name": "x", "scopes": ["admin"]}
    for more, pointer in (
        ({"expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
        ({"expires_at": "2120-01-01T00:00:00"}, "/expires_at"),
        ({"studies": ["s"]}, "/studies"),
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["root"]}, "/scopes/0"),
        ({"user": "*"}, "/user"),
        ({"name": "a b"}, "/name"),
        ({"studies": ["*"], "scopes": ["read"]}, "/studies/0"),
    ):
        refused = admin.post("/v1/tokens", json={**body, **more})
        assert refused.status_code == 422
        assert pointers(refused) == [pointer]


def test_no_secret_is_stored_listed_exported_or_logged(
    guarded: Guarded, admin: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("adabkb.access", "adabkb_service", "uvicorn"):
        caplog.set_level("DEBUG", name)
    secret = admin.post("/v1/tokens", json={"name": "dot", "scopes": ["admin"]}).json()["token"]
    with guarded.client(secret) as dot:
        responses = [
            dot.get(path).text
            for path in ("/v1/tokens", "/v1/audit", "/v1/studies/s/export", "/metrics", "/v1/studies/nowhere")
        ]
        responses.append(dot.post("/v1/studies/s/suggest", json={"worker": 1}).text)
        responses.append(dot.get("/v1/studies", params={"token": secret}).text)
    tables = sa.MetaData()
    with guarded.database.reading() as connection:
        tables.reflect(connection)
        stored = [str(connection.execute(sa.select(table)).all()) for table in tables.sorted_tables]
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    hidden = secret.rpartition("_")[2]
    assert logged
    assert not [text for text in [*responses, *stored, *logged] if hidden in text]


def test_idempotency_key_of_one_user_reveals_nothing_to_another(guarded: Guarded) -> None:
    """A user who guesses another user's idempotency key and request learns nothing."""
    made = {**DEFINITION, "id": "keyed"}
    with guarded.client(guarded.token("ann", "work")) as ann, guarded.client(guarded.token("bob", "work")) as bob:
        key = {"Idempotency-Key": "k1"}
        assert ann.post("/v1/studies", json=made, headers=key).status_code == 201
        again = ann.post("/v1/studies", json=made, headers=key)
        assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
        own = bob.post("/v1/studies", json={**made, "id": "bobs"}, headers=key)
        assert (own.status_code, "idempotent-replayed" in own.headers) == (201, False), "a key belongs to its user"
        assert (
            bob.post("/v1/studies", json={**made, "id": "bobs"}, headers=key).headers["idempotent-replayed"] == "true"
        )
        assert bob.post("/v1/studies", json=made, headers=key).json()["code"] == "idempotency_key_reused"
        ann.patch("/v1/studies/keyed/access", json={"shared_with": {"bob": "work"}})
        asked = [each.post("/v1/studies/keyed/suggest", json={}, headers=key).json()["trials"] for each in (ann, bob)]
        assert [trial["number"] for (trial,) in asked] == [1, 2]
        ann.patch("/v1/studies/keyed/access", json={"shared_with": {"bob": None}})
        taken = bob.post("/v1/studies", json={**made, "direction": "maximize"})
        assert (taken.status_code, taken.json()["code"]) == (409, "id_taken")
        assert "direction" not in taken.json()["detail"]
        assert bob.post("/v1/studies", json=made).json()["detail"] == taken.json()["detail"]


def test_idempotency_key_creates_at_most_one_token(guarded: Guarded, admin: httpx.Client) -> None:
    """The secret cannot be returned again, so a repetition is refused, and names the token to revoke."""
    headers, body = {"Idempotency-Key": "once"}, {"name": "gpu", "scopes": ["work"]}
    made = admin.post("/v1/tokens", json=body, headers=headers)
    assert made.status_code == 201
    again = admin.post("/v1/tokens", json=body, headers=headers)
    assert (again.status_code, again.json()["code"]) == (409, "token_made")
    assert made.json()["id"] in again.json()["detail"]
    assert made.json()["token"] not in again.text
    assert [token["name"] for token in admin.get("/v1/tokens").json()["items"]].count("gpu") == 1
    other = {"Authorization": f"Bearer {guarded.token('eve', 'admin')}", **headers}
    assert admin.post("/v1/tokens", json=body, headers=other).status_code == 201


def test_time_of_last_use_is_stored_without_a_commit_per_request(guarded: Guarded) -> None:
    token = guarded.token("fay", "read")
    gate = Gate(guarded.database, utc_now, is_open=False)
    gate.admit(token, "read", None, "here")

    def used_at() -> datetime | None:
        with guarded.database.reading() as connection:
            row = tokens.find(connection, id_of(token) or "")
        assert row is not None
        return row.used_at

    assert used_at() is None
    gate.store_uses()
    assert used_at() is not None


class Timer:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_grants_are_cached_for_some_seconds_and_denials_are_not(guarded: Guarded) -> None:
    """With two servers on one database, a permission granted by one is valid on the other immediately; a revoked one is
    still valid there for some seconds.
    """
    timer, token = Timer(), guarded.token("gus", "work")
    other = Gate(guarded.database, utc_now, is_open=False, timer=timer)
    with pytest.raises(StudyNotFound):
        other.admit(token, "read", "s", "here")
    with guarded.database.writing() as connection:
        grants.replace(connection, "s", {"ann": "own", "gus": "read"})
    assert other.admit(token, "read", "s", "here").user == "gus"
    with pytest.raises(Forbidden):
        other.admit(token, "work", "s", "here")
    with guarded.database.writing() as connection:
        tokens.revoke(connection, id_of(token) or "", utc_now())
    timer.now = GRANT_CACHE_SECONDS - 0.1
    assert isinstance(other.cached_caller(token, "read", "s"), Caller)
    assert other.cached_caller(token, "work", "s") is None
    timer.now = GRANT_CACHE_SECONDS + 0.1
    assert other.cached_caller(token, "read", "s") is None
    with pytest.raises(Unauthorized, match="revoked"):
        other.admit(token, "read", "s", "here")


def test_first_token_makes_a_running_server_require_tokens(other_sqlite: str) -> None:
    """Immediately, for any creator. Rows of tokens remain, so the server still requires tokens after the last one is
    revoked.
    """
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as client:
        assert client.get("/v1/tokens/self").json()["user"] is None
        assert client.post("/v1/studies", json=DEFINITION).status_code == 201
        made = client.post("/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()
        assert client.get("/v1/studies").status_code == 401
        client.headers["Authorization"] = f"Bearer {made['token']}"
        assert [each["id"] for each in client.get("/v1/studies").json()["items"]] == ["s"]
        assert client.get("/v1/studies/s/access").json() == {"owner": None, "shared_with": {}}
        assert client.delete(f"/v1/tokens/{made['id']}").status_code == 204
        assert client.get("/v1/studies").status_code == 401
    with server_on(other_sqlite) as address:
        assert httpx.get(f"{address}/v1/studies").status_code == 401


def test_many_refusals_use_bounded_memory_and_are_all_counted() -> None:
    refusals = Refusals()
    for number in range(10 * MAX_REFUSAL_KINDS):
        refusals.note(f"192.0.2.{number}", "unknown", None)
        refusals.note("198.51.100.7", "missing", None)
    rows = refusals.take(utc_now())
    assert len(rows) <= MAX_REFUSAL_KINDS + 2
    assert sum(row.count for row in rows) == 20 * MAX_REFUSAL_KINDS
    assert refusals.take(utc_now()) == []


def test_actions_and_refusals_are_in_the_audit_log(guarded: Guarded, admin: httpx.Client) -> None:
    made = admin.post("/v1/tokens", json={"name": "hal", "scopes": ["read"]}).json()
    admin.delete(f"/v1/tokens/{made['id']}")
    entries = admin.get("/v1/audit?limit=2").json()["items"]
    assert [(each["action"], each["subject"]) for each in entries] == [
        ("token revoked", made["id"]),
        ("token created", made["id"]),
    ]
    assert {(each["user"], each["address"]) for each in entries} == {("root", "127.0.0.1")}
    assert re.fullmatch("[0-9a-f]{12}", entries[0]["token"])
    gate = Gate(guarded.database, utc_now, is_open=False)
    for _ in range(3):
        with pytest.raises(Unauthorized):
            gate.admit(None, "read", None, "192.0.2.1")
    with pytest.raises(Unauthorized):
        gate.admit(made["token"], "read", None, "192.0.2.1")
    gate.store_uses()
    refused = admin.get("/v1/audit?limit=2").json()["items"]
    assert {(each["subject"], each["count"], each["token"]) for each in refused} == {
        ("missing", 3, None),
        ("revoked", 1, made["id"]),
    }
    assert {each["address"] for each in refused} == {"192.0.2.1"}
    older = admin.get("/v1/audit", params={"limit": 1, "cursor": admin.get("/v1/audit?limit=2").json()["next_cursor"]})
    assert older.json()["items"][0]["number"] == entries[0]["number"]


def test_error_for_an_expired_token_has_its_expiry(guarded: Guarded) -> None:
    token = give_token(guarded.database, "ivy", "read", expires_at=utc_now() - timedelta(hours=1))
    refused = guarded.send(token, "GET", "/v1/studies")
    assert refused.json()["detail"].startswith("The token expired at 2")

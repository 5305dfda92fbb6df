"""The caller of a token, who pays for its requests, and cached grants, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.access.caller import Caller, is_enough
from adabkb_service.access.gate import MAX_REFUSAL_KINDS, RETURNING, Gate, Refusals
from adabkb_service.access.quotas import Quotas
from adabkb_service.access.secrets import id_of
from adabkb_service.errors import Forbidden, StudyNotFound, Unauthorized, Unavailable
from adabkb_service.storage import audit, people, tables, tokens
from adabkb_service.storage.database import Database
from adabkb_service.storage.people import PersonRow
from tests.integration.access.conftest import give_token
from tests.integration.operations.conftest import ManualClock


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    with closing(Database(migrated_url)) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def gate(database: Database, clock: ManualClock) -> Gate:
    return Gate(database, clock, is_open=False, defaults=Quotas(trials=7))


def admitted(gate: Gate, token: str | None) -> Caller:
    return gate.admit(token, "read", None, "192.0.2.1")


def log_in(database: Database, clock: ManualClock, user: str) -> None:
    row = PersonRow(user, "https://id.example.org", user, user, None, "work", clock(), clock())
    with database.writing() as connection:
        people.add(connection, row)


def test_tokens_with_quotas_pay_for_themselves_and_others_per_user(database: Database, gate: Gate) -> None:
    own, plain, admin = (
        give_token(database, "ann", scope, quotas=quotas)
        for scope, quotas in (("work", {"studies": 2}), ("work", None), ("admin", None))
    )
    callers = [admitted(gate, token) for token in (own, plain, admin)]
    assert [caller.payer for caller in callers] == [id_of(own), "user ann", "user ann"]
    assert [caller.quotas for caller in callers] == [Quotas(studies=2, trials=7), Quotas(trials=7), None]


def test_link_is_charged_to_the_owners_slowest_token(database: Database, gate: Gate) -> None:
    """A token without its own rate has no limit."""
    link = give_token(database, "ann", "read", link="s")
    own = (None, {"requests_per_second": 3.0}, {"requests_per_second": 1.0}, {"studies": 1})
    ids = [id_of(give_token(database, "ann", "work", quotas=quotas)) for quotas in own]
    give_token(database, "bob", "work", quotas={"requests_per_second": 0.1})
    caller = admitted(gate, link)
    assert (caller.payer, caller.is_link, caller.token) == (ids[2], True, id_of(link))
    assert caller.quotas == Quotas(requests_per_second=1.0, trials=7)


def test_link_works_while_its_owner_can_log_in(database: Database, gate: Gate, clock: ManualClock) -> None:
    link = give_token(database, "ann", "read", link="s")
    with pytest.raises(Unauthorized, match="has no valid token"):
        admitted(gate, link)
    log_in(database, clock, "ann")
    clock.advance(RETURNING.total_seconds())
    assert admitted(gate, link).payer == "user ann"
    clock.advance(1)
    with pytest.raises(Unauthorized, match="has no valid token"):
        admitted(gate, link)
    give_token(database, "ann", "work")
    admitted(gate, link)


@pytest.mark.parametrize("is_session", [False, True])
def test_ended_session_is_reported_as_such(
    database: Database, gate: Gate, clock: ManualClock, is_session: bool
) -> None:
    log_in(database, clock, "ann")
    end = clock() + timedelta(seconds=60)
    token = give_token(database, "ann", "work", is_session=is_session, expires_at=end)
    person = admitted(gate, token).person
    assert (person and person.user) == ("ann" if is_session else None)
    clock.advance(60)
    with pytest.raises(Unauthorized, match="^Your session expired" if is_session else "^The token expired"):
        admitted(gate, token)
    with database.writing() as connection:
        tokens.revoke(connection, id_of(token) or "", clock())
    with pytest.raises(Unauthorized, match="^Your session was ended" if is_session else "^The token was revoked"):
        admitted(gate, token)


def test_largest_scope_of_a_token_counts(database: Database, gate: Gate) -> None:
    minted = give_token(database, "ann", "read")
    with database.writing() as connection:
        connection.execute(tables.tokens.update().values(scopes=["read", "work"]))
    assert admitted(gate, minted).scope == "work"
    with pytest.raises(Forbidden, match="requires a token with the scope admin; the request's token has work"):
        gate.admit(minted, "admin", None, "")


def test_permissions_checked_by_another_server_are_looked_up_by_id(database: Database, gate: Gate) -> None:
    token = give_token(database, "ann", "read")
    number = id_of(token) or ""
    assert gate.admit_by_id(number, "read", None).user == "ann"
    assert isinstance(gate.cached_caller_by_id(number, "read", None), Caller)
    assert gate.cached_caller(token, "read", None) is None
    with pytest.raises(StudyNotFound):
        gate.admit_by_id(number, "read", "s")
    with pytest.raises(Unauthorized, match="no such token"):
        gate.admit_by_id("0" * 12, "read", None)


def test_changed_permissions_apply_immediately(database: Database, gate: Gate) -> None:
    token = give_token(database, "ann", "read")
    admitted(gate, token)
    assert gate.cached_caller(token, "read", None) is not None
    gate.rights_changed()
    assert gate.cached_caller(token, "read", None) is None


def test_grant_that_is_revoked_while_it_is_read_is_not_cached(database: Database, clock: ManualClock) -> None:
    """A request reads its token. Before it caches the grant, another one revokes the token."""
    token = give_token(database, "ann", "read")

    def now() -> datetime:
        with database.writing() as connection:
            tokens.revoke(connection, id_of(token) or "", clock())
        revoking.rights_changed()
        return clock()

    revoking = Gate(database, now, is_open=False)
    admitted(revoking, token)
    assert revoking.cached_caller(token, "read", None) is None


@pytest.mark.parametrize("stays_open", [False, True])
def test_server_stays_open_only_if_configured(database: Database, clock: ManualClock, stays_open: bool) -> None:
    gate = Gate(database, clock, is_open=True, stays_open=stays_open)
    gate.close_if_tokens()
    assert gate.is_open
    give_token(database, "ann", "read")
    gate.rights_changed()
    assert gate.is_open == stays_open
    assert Gate(database, clock, is_open=False, stays_open=stays_open).is_open == stays_open


def test_uses_and_refusals_are_stored_once(database: Database, gate: Gate, clock: ManualClock) -> None:
    token = give_token(database, "ann", "read")
    for sent in (None, None, token.replace("adabkb", "other"), token[:-64] + 64 * "0"):
        with pytest.raises(Unauthorized):
            admitted(gate, sent)
    admitted(gate, token)
    gate.store_uses()
    stored = clock()
    clock.advance(60)
    gate.store_uses()
    with database.reading() as connection:
        row = tokens.find(connection, id_of(token) or "")
        entries = [entry for _, entry in audit.page(connection, 0, 100)]
    assert row is not None
    assert row.used_at == stored
    found = {(entry.action, entry.subject, entry.token, entry.address, entry.at, entry.count) for entry in entries}
    assert found == {
        ("refused", "missing", None, "192.0.2.1", stored, 2),
        ("refused", "unknown", None, "192.0.2.1", stored, 1),
        ("refused", "unknown", id_of(token), "192.0.2.1", stored, 1),
    }
    gate.cached_caller(token, "read", None)
    gate.store_uses()
    with database.reading() as connection:
        row = tokens.find(connection, id_of(token) or "")
    assert row is not None
    assert row.used_at == clock()


def test_uses_and_refusals_that_cannot_be_stored_are_stored_later(
    database: Database, gate: Gate, clock: ManualClock
) -> None:
    token = give_token(database, "ann", "read")
    admitted(gate, token)
    for _ in range(2):
        with pytest.raises(Unauthorized):
            admitted(gate, None)
    with database.writing() as connection:
        connection.execute(sa.text("ALTER TABLE audit RENAME TO hidden"))
    with pytest.raises((Unavailable, sa.exc.DBAPIError)):
        gate.store_uses()
    with database.writing() as connection:
        connection.execute(sa.text("ALTER TABLE hidden RENAME TO audit"))
    gate.store_uses()
    with database.reading() as connection:
        row = tokens.find(connection, id_of(token) or "")
        counts = [entry.count for _, entry in audit.page(connection, 0, 100)]
    assert row is not None
    assert (row.used_at, counts) == (clock(), [2])


def test_kinds_of_refusals_beyond_the_limit_are_counted_together(clock: ManualClock) -> None:
    refusals = Refusals()
    for number in range(MAX_REFUSAL_KINDS):
        refusals.note(str(number), "unknown", "id")
    for address in ("0", "new", "newer"):
        refusals.note(address, "unknown", "id")
    counts = {(row.address, row.subject, row.token): row.count for row in refusals.take(clock())}
    assert len(counts) == MAX_REFUSAL_KINDS + 1
    assert (counts["0", "unknown", "id"], counts["many", "unknown", None]) == (2, 2)


@pytest.mark.parametrize(
    ("rights", "need", "is_allowed"),
    [
        ([], "read", False),
        (["read"], "read", True),
        (["read"], "work", False),
        (["work", "read"], "work", True),
        (["work"], "own", False),
        (["work"], "admin", False),
        (["own"], "admin", True),
    ],
)
def test_scopes_include_smaller_ones(rights: list[Any], need: Any, is_allowed: bool) -> None:
    assert is_enough(rights, need) == is_allowed

"""Sessions of people who log in by OpenID Connect. A session is a token in a cookie. It expires, and can be ended
earlier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection

from adabkb_service.access import secrets
from adabkb_service.access.caller import Caller
from adabkb_service.contract.access import Person
from adabkb_service.errors import LoginRefused, PersonNotFound
from adabkb_service.identity.claims import Identity
from adabkb_service.operations.access import audit
from adabkb_service.operations.service import Service
from adabkb_service.storage import people, tokens
from adabkb_service.storage.people import PersonRow
from adabkb_service.storage.tokens import TokenRow
from adabkb_service.study.contention import repeating

T = TypeVar("T")

NAME = "session"
"""The name of each token that is a session."""


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A session that this call ended, or that had already ended."""

    id_token: str | None
    """The ID token that the provider needs for the logout; None if the session had already ended."""


def start(
    service: Service, identity: Identity, id_token: str, hours: float, address: str, previous: str | None = None
) -> str:
    """Start a session, and return its token.

    Args:
        service: the service.
        identity: the identity of the person.
        id_token: the provider's ID token, kept until the session ends, to log out at the provider.
        hours: hours until the session expires.
        address: the network address of the browser.
        previous: the token in the browser's cookie, if any. If it belongs to a session, this session is ended.

    Raises:
        LoginRefused: the user name belongs to another person.
    """
    minted = secrets.mint()

    def insert(connection: Connection) -> None:
        now = service.clock()
        person = _create_or_update_person(connection, identity, now)
        caller = Caller(person.user, identity.scope, token=minted.id, address=address, person=person)
        if previous is not None:
            _end(connection, previous, now, address)
        row = TokenRow(
            id=minted.id,
            digest=secrets.digest(minted.token),
            user=person.user,
            name=NAME,
            scopes=[identity.scope],
            studies=None,
            link=None,
            created_at=now,
            expires_at=now + timedelta(hours=hours),
            revoked_at=None,
            used_at=None,
            quotas=None,
            is_session=True,
            id_token=id_token,
        )
        tokens.add(connection, row)
        audit.note(connection, caller, now, "login", person.user, scope=identity.scope)

    _write(service, insert)
    return minted.token


def end(service: Service, token: str, address: str) -> EndedSession | None:
    """End the session with this token. Return None if the token is not that of a session."""
    return _write(service, lambda connection: _end(connection, token, service.clock(), address))


def end_all(service: Service, caller: Caller, user: str) -> int:
    """End all sessions of a person. Return how many were ended.

    Raises:
        PersonNotFound: there is no such person.
    """

    def end_each(connection: Connection) -> int:
        if people.find(connection, user) is None:
            raise PersonNotFound(user)
        now = service.clock()
        number = tokens.end_sessions(connection, user, now)
        if number:
            audit.note(connection, caller, now, "sessions ended", user, sessions=number)
        return number

    return _write(service, end_each)


def own(service: Service, caller: Caller) -> list[TokenRow]:
    """Return the caller's sessions that have not ended, newest first."""
    with service.database.reading() as connection:
        return tokens.sessions_of(connection, caller.user or "", service.clock())


def page(service: Service, after: str, limit: int) -> tuple[list[Person], str | None]:
    """Return people who have logged in, ordered by user name. The second value returned is the ``after`` of the next
    page; None if this page is not full."""
    with service.database.reading() as connection:
        rows = people.page(connection, after, limit)
        counts = tokens.count_sessions(connection, [row.user for row in rows], service.clock())
    found = [
        Person(
            user=row.user,
            name=row.name,
            email=row.email,
            issuer=row.issuer,
            subject=row.subject,
            scope=row.scope,
            sessions=counts.get(row.user, 0),
            created_at=row.created_at,
            seen_at=row.seen_at,
        )
        for row in rows
    ]
    return found, rows[-1].user if len(rows) == limit else None


def _write(service: Service, work: Callable[[Connection], T]) -> T:
    """Run a transaction. Retry it, within ``timeouts.contention``, if a concurrent one committed first, such as another
    login of the same person."""
    done: T = repeating(service.timeouts.contention)(service.database.write, work)
    return done


def _create_or_update_person(connection: Connection, identity: Identity, now: datetime) -> PersonRow:
    """Return the row of a person, created or updated with the given identity.

    Raises:
        LoginRefused: the user name belongs to another person.
    """
    known = people.of_subject(connection, identity.issuer, identity.subject)
    if known is not None:
        known = replace(known, name=identity.name, email=identity.email, scope=identity.scope, seen_at=now)
        people.replace(connection, known)
        return known
    if people.find(connection, identity.user) is not None:
        raise LoginRefused(
            f"The user name {identity.user!r} belongs to another account, which logged in first. Ask an administrator "
            "of the identity provider to give you another name.",
            "login: name taken",
        )
    person = PersonRow(
        identity.user, identity.issuer, identity.subject, identity.name, identity.email, identity.scope, now, now
    )
    people.add(connection, person)
    return person


def _end(connection: Connection, token: str, now: datetime, address: str) -> EndedSession | None:
    token_id = secrets.id_of(token)
    row = None if token_id is None else tokens.find(connection, token_id)
    if row is None or not row.is_session or not secrets.is_same(row.digest, token):
        return None
    if row.revoked_at is None:
        tokens.revoke(connection, row.id, now)
        person = people.find(connection, row.user)
        caller = Caller(row.user, row.scopes[0], token=row.id, address=address, person=person)
        audit.note(connection, caller, now, "logout", row.user)
    return EndedSession(row.id_token)

"""Queries of ``people``: who has logged in by OpenID Connect. A person is recognized by issuer and subject; the name of
the user is assigned at the first login and stays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import people
from adabkb_service.storage.tokens import Scope


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person who has logged in."""

    user: str
    issuer: str
    subject: str
    name: str
    email: str | None
    scope: Scope
    created_at: datetime
    seen_at: datetime


def add(connection: Connection, row: PersonRow) -> None:
    """Insert a person."""
    connection.execute(insert(people), as_values(row))


def replace(connection: Connection, row: PersonRow) -> None:
    """Replace what is stored about a user."""
    connection.execute(update(people).where(people.c.user == row.user), as_values(row))


def find(connection: Connection, user: str) -> PersonRow | None:
    """The person with the name of a user, or None."""
    row = connection.execute(select(people).where(people.c.user == user)).one_or_none()
    return None if row is None else PersonRow(*row)


def of_subject(connection: Connection, issuer: str, subject: str) -> PersonRow | None:
    """The person whom a provider calls by a subject, or None."""
    query = select(people).where(people.c.issuer == issuer, people.c.subject == subject)
    row = connection.execute(query).one_or_none()
    return None if row is None else PersonRow(*row)


def page(connection: Connection, after: str, limit: int) -> list[PersonRow]:
    """At most ``limit`` people in the order of their users, after a user."""
    query = select(people).where(people.c.user > after).order_by(people.c.user).limit(limit)
    return [PersonRow(*row) for row in connection.execute(query)]


def has_logged_in(connection: Connection, user: str, since: datetime) -> bool:
    """Whether a person with the name of a user has logged in since a time."""
    query = select(people.c.user).where(people.c.user == user, people.c.seen_at >= since)
    return connection.execute(query).first() is not None

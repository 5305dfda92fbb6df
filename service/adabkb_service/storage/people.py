"""Queries of ``people``: who has logged in by OpenID Connect. A person is recognized by issuer and subject. The user
name is assigned at the first login and never changes."""

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
    """Replace the row of the person with this user name."""
    connection.execute(update(people).where(people.c.user == row.user), as_values(row))


def find(connection: Connection, user: str) -> PersonRow | None:
    """The person with this user name, or None."""
    row = connection.execute(select(people).where(people.c.user == user)).one_or_none()
    return None if row is None else PersonRow(*row)


def of_subject(connection: Connection, issuer: str, subject: str) -> PersonRow | None:
    """The person whom the provider ``issuer`` identifies by ``subject``, or None."""
    query = select(people).where(people.c.issuer == issuer, people.c.subject == subject)
    row = connection.execute(query).one_or_none()
    return None if row is None else PersonRow(*row)


def page(connection: Connection, after: str, limit: int) -> list[PersonRow]:
    """The first ``limit`` people whose user names come after ``after``, ordered by user name."""
    query = select(people).where(people.c.user > after).order_by(people.c.user).limit(limit)
    return [PersonRow(*row) for row in connection.execute(query)]


def has_logged_in(connection: Connection, user: str, since: datetime) -> bool:
    """Whether there is a person with this user name who has logged in since a time."""
    query = select(people.c.user).where(people.c.user == user, people.c.seen_at >= since)
    return connection.execute(query).first() is not None

"""Queries of ``tokens``. Rows are never deleted: once a token exists, the server requires one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, bindparam, insert, or_, select, tuple_, update

from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tables import tokens

Scope = Literal["read", "work", "admin"]

_FIND = select(tokens).where(tokens.c.id == bindparam("its_id"))
_ANY = select(tokens.c.id).limit(1)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token, without its secret."""

    id: str
    digest: str
    user: str
    name: str
    scopes: list[Scope]
    studies: list[str] | None
    link: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    quotas: dict[str, float] | None


def add(connection: Connection, row: TokenRow) -> None:
    """Insert a token."""
    connection.execute(insert(tokens), as_values(row))


def find(connection: Connection, token_id: str) -> TokenRow | None:
    """The token, or None."""
    row = connection.execute(_FIND, {"its_id": token_id}).one_or_none()
    return None if row is None else TokenRow(*row)


def valid_of(connection: Connection, user: str, now: datetime) -> list[TokenRow]:
    """The tokens of a user that are neither revoked nor expired, without links."""
    valid = select(tokens).where(
        tokens.c.user == user,
        tokens.c.link.is_(None),
        tokens.c.revoked_at.is_(None),
        or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now),
    )
    return [TokenRow(*row) for row in connection.execute(valid)]


def any_exist(connection: Connection) -> bool:
    """Whether any token exists, including revoked ones."""
    return connection.execute(_ANY).first() is not None


def has_any(connection: Connection, user: str) -> bool:
    """Whether a user has a token that is not revoked."""
    theirs = tokens.c.user == user, tokens.c.link.is_(None), tokens.c.revoked_at.is_(None)
    return connection.execute(select(tokens.c.id).where(*theirs).limit(1)).first() is not None


def page(
    connection: Connection, after: tuple[datetime, str] | None, limit: int, link: str | None = None
) -> list[TokenRow]:
    """At most ``limit`` tokens or links to a study, newest first, after the one with (created_at, id) = ``after``."""
    query = select(tokens).order_by(tokens.c.created_at.desc(), tokens.c.id.desc()).limit(limit)
    if after is not None:
        query = query.where(tuple_(tokens.c.created_at, tokens.c.id) < after)
    if link is not None:
        query = query.where(tokens.c.link == link)
    return [TokenRow(*row) for row in connection.execute(query)]


def revoke(connection: Connection, token_id: str, at: datetime) -> None:
    """Revoke a token. A revoked token keeps its time."""
    connection.execute(update(tokens).where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None)), {"revoked_at": at})


def set_quotas(connection: Connection, token_id: str, quotas: dict[str, float] | None) -> None:
    """Replace the quotas of a token, by name."""
    connection.execute(update(tokens).where(tokens.c.id == token_id), {"quotas": quotas})


def lock_user(connection: Connection, user: str) -> None:
    """Serialize this transaction with others that lock the same user. SQLite serializes them anyway."""
    connection.execute(select(tokens.c.id).where(tokens.c.user == user).order_by(tokens.c.id).with_for_update())


def revoke_links(connection: Connection, study_id: str, at: datetime) -> None:
    """Revoke all links to a study."""
    stale = update(tokens).where(tokens.c.link == study_id, tokens.c.revoked_at.is_(None))
    connection.execute(stale, {"revoked_at": at})


def note_use(connection: Connection, token_ids: Collection[str], at: datetime) -> None:
    """Store when the tokens were last used."""
    connection.execute(update(tokens).where(tokens.c.id.in_(token_ids)), {"used_at": at})

"""Queries of ``tokens``. Only sessions are ever deleted, and never the newest session, because the server requires
tokens only while a token is stored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, or_, select, tuple_, update

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
    is_session: bool = False
    id_token: str | None = None


def add(connection: Connection, row: TokenRow) -> None:
    """Insert a token."""
    connection.execute(insert(tokens), as_values(row))


def find(connection: Connection, token_id: str, *, to_change: bool = False) -> TokenRow | None:
    """Return the token, or None. With ``to_change``, lock the token until the end of the transaction. (On SQLite, a
    writing transaction needs no such lock.)"""
    query = _FIND.with_for_update() if to_change else _FIND
    row = connection.execute(query, {"its_id": token_id}).one_or_none()
    return None if row is None else TokenRow(*row)


def valid_of(connection: Connection, user: str, now: datetime) -> list[TokenRow]:
    """The tokens of a user that are neither revoked nor expired nor share links."""
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
    """Whether a user has a token that is neither revoked nor a share link."""
    theirs = tokens.c.user == user, tokens.c.link.is_(None), tokens.c.revoked_at.is_(None)
    return connection.execute(select(tokens.c.id).where(*theirs).limit(1)).first() is not None


def page(
    connection: Connection, after: tuple[datetime, str] | None, limit: int, link_study_id: str | None = None
) -> list[TokenRow]:
    """The first ``limit`` tokens except sessions, newest first, after the one with (created_at, id) = ``after``. If
    ``link_study_id`` is given, only the share links of that study."""
    query = select(tokens).where(tokens.c.is_session.is_(False))
    query = query.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()).limit(limit)
    if after is not None:
        query = query.where(tuple_(tokens.c.created_at, tokens.c.id) < after)
    if link_study_id is not None:
        query = query.where(tokens.c.link == link_study_id)
    return [TokenRow(*row) for row in connection.execute(query)]


def revoke(connection: Connection, token_id: str, at: datetime) -> None:
    """Revoke a token. A token that is already revoked keeps its time of revocation, unless it is a link. (Otherwise, a
    link that was revoked by the deletion of its study would work again when the study is restored.)"""
    is_affected = or_(tokens.c.revoked_at.is_(None), tokens.c.link.is_not(None))
    query = update(tokens).where(tokens.c.id == token_id, is_affected)
    connection.execute(query, {"revoked_at": at, "id_token": None})


def sessions_of(connection: Connection, user: str, now: datetime) -> list[TokenRow]:
    """The sessions of a user that have not ended, newest first."""
    query = select(tokens).where(tokens.c.user == user, *_is_running(now)).order_by(tokens.c.created_at.desc())
    return [TokenRow(*row) for row in connection.execute(query)]


def count_sessions(connection: Connection, users: Collection[str], now: datetime) -> dict[str, int]:
    """User -> number of sessions that have not ended."""
    query = select(tokens.c.user, func.count()).where(tokens.c.user.in_(users), *_is_running(now))
    return {row[0]: row[1] for row in connection.execute(query.group_by(tokens.c.user))}


def end_sessions(connection: Connection, user: str, at: datetime) -> int:
    """End all sessions of a user. Return how many were ended."""
    query = update(tokens).where(tokens.c.user == user, *_is_running(at))
    return connection.execute(query, {"revoked_at": at, "id_token": None}).rowcount


def forget_sessions(connection: Connection, before: datetime, limit: int) -> int:
    """Delete the oldest sessions that ended before a time, at most ``limit``, but never the newest session of all.
    Return how many were deleted."""
    newest = select(func.max(tokens.c.created_at)).where(tokens.c.is_session.is_(True)).scalar_subquery()
    over = or_(tokens.c.expires_at < before, tokens.c.revoked_at < before)
    old = select(tokens.c.id).where(tokens.c.is_session.is_(True), over, tokens.c.created_at < newest)
    return connection.execute(
        delete(tokens).where(tokens.c.id.in_(old.order_by(tokens.c.created_at).limit(limit)))
    ).rowcount


def _is_running(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return tokens.c.is_session.is_(True), tokens.c.revoked_at.is_(None), tokens.c.expires_at > now


def set_quotas(connection: Connection, token_id: str, quotas: dict[str, float] | None) -> None:
    """Replace the quotas of a token (name -> quota)."""
    connection.execute(update(tokens).where(tokens.c.id == token_id), {"quotas": quotas})


def lock_user(connection: Connection, user: str) -> None:
    """Make other transactions that lock the same user wait for this one. (On SQLite, they do so anyway.)"""
    connection.execute(select(tokens.c.id).where(tokens.c.user == user).order_by(tokens.c.id).with_for_update())


def revoke_links(connection: Connection, study_id: str, at: datetime) -> tuple[str, ...]:
    """Revoke all links to a study. Return the ids of those that were not revoked before, in order of their creation."""
    theirs = tokens.c.link == study_id, tokens.c.revoked_at.is_(None)
    stale = select(tokens.c.id).where(*theirs).order_by(tokens.c.created_at, tokens.c.id).with_for_update()
    found = tuple(connection.execute(stale).scalars())
    connection.execute(update(tokens).where(tokens.c.id.in_(found)), {"revoked_at": at})
    return found


def restore_links(connection: Connection, study_id: str, revoked_at: datetime) -> int:
    """Restore the links to a study that ``revoke_links`` revoked at this time. Return their number."""
    theirs = update(tokens).where(tokens.c.link == study_id, tokens.c.revoked_at == revoked_at)
    return connection.execute(theirs, {"revoked_at": None}).rowcount


def note_use(connection: Connection, token_ids: Collection[str], at: datetime) -> None:
    """Store when the tokens were last used."""
    connection.execute(update(tokens).where(tokens.c.id.in_(token_ids)), {"used_at": at})

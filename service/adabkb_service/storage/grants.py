"""Queries of ``grants``: the owner of each study, if it has one, and the users with whom it is shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, insert, or_, select

from adabkb_service.storage.tables import grants, studies

Right = Literal["read", "work", "own"]

EVERYBODY = "*"

_OF_STUDY = select(grants.c.user, grants.c.right).where(grants.c.study_id == bindparam("study"))
_OF_USER = _OF_STUDY.where(grants.c.user.in_([bindparam("its_user"), EVERYBODY]))


def of_study(connection: Connection, study_id: str) -> dict[str, Right]:
    """User -> right on a study."""
    return {row.user: row.right for row in connection.execute(_OF_STUDY.order_by(grants.c.user), {"study": study_id})}


def of_user(connection: Connection, study_id: str, user: str) -> list[Right]:
    """The rights of a user on a study, including those granted to everybody."""
    found = connection.execute(_OF_USER, {"study": study_id, "its_user": user})
    return [row.right for row in found]


def studies_of(connection: Connection, user: str, limit: int) -> list[str]:
    """The ids of the first ``limit`` studies on which a user has a right, without those shared with everybody."""
    query = select(grants.c.study_id).where(grants.c.user == user).order_by(grants.c.study_id).limit(limit)
    return list(connection.execute(query).scalars())


def owners(connection: Connection, study_ids: Sequence[str]) -> dict[str, str]:
    """Study -> the user who owns it."""
    query = select(grants.c.study_id, grants.c.user).where(grants.c.study_id.in_(study_ids), grants.c.right == "own")
    return {row.study_id: row.user for row in connection.execute(query)}


def replace(connection: Connection, study_id: str, rights: Mapping[str, Right]) -> None:
    """Replace all rights on a study. ``rights`` maps user -> right."""
    connection.execute(delete(grants).where(grants.c.study_id == study_id))
    if rights:
        rows = [{"study_id": study_id, "user": user, "right": right} for user, right in rights.items()]
        connection.execute(insert(grants), rows)


def visible_to(user: str) -> ColumnElement[bool]:
    """The condition that a user may read a study: as its owner, or because it is shared."""
    return exists().where(grants.c.study_id == studies.c.id, grants.c.user.in_([user, EVERYBODY]))


def owned_by(user: str) -> ColumnElement[bool]:
    """The condition that a user owns a study."""
    return exists().where(grants.c.study_id == studies.c.id, grants.c.user == user, grants.c.right == "own")


def named(column: ColumnElement[str], patterns: Iterable[str]) -> ColumnElement[bool]:
    """The condition that an id matches one of the patterns: a pattern is an id, or a prefix followed by ``*``."""
    return or_(
        *(
            column.startswith(pattern[:-1], autoescape=True) if pattern.endswith(EVERYBODY) else column == pattern
            for pattern in patterns
        )
    )


def owner(rights: Mapping[str, Right]) -> str | None:
    """The owner in a mapping user -> right; None without an owner."""
    return next((user for user, right in rights.items() if right == "own"), None)

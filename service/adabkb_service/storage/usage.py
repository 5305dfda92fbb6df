"""The number of studies that a user owns, the number of their trials, and the storage that they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    bindparam,
    case,
    func,
    literal_column,
    select,
    union,
)

from adabkb_service.storage.rows import TrialState
from adabkb_service.storage.tables import files, grants, people, studies, tokens, trash


class Usage(NamedTuple):
    """Usage of a user, or what a request adds to it."""

    studies: int
    """Number of studies that are not in the trash."""
    trials: int
    """Number of trials, and of results without a trial."""
    bytes: int
    """Size of logs, files and studies in the trash."""


_TRIALS: ColumnElement[int] = sum(
    (getattr(studies.c, name) for name in get_args(TrialState)), start=literal_column("0", Integer)
)
_OTHERS = studies.c.observations - studies.c.completed - studies.c.stopped
_SUMS = (
    func.count(),
    func.coalesce(func.sum(_TRIALS + case((_OTHERS > 0, _OTHERS), else_=0)), 0),
    func.coalesce(func.sum(studies.c.log_bytes), 0),
)
_OWNED = (
    select(*_SUMS)
    .join_from(grants, studies, grants.c.study_id == studies.c.id)
    .where(grants.c.user == bindparam("its_user"), grants.c.right == "own")
)
_FILES = (
    select(func.coalesce(func.sum(files.c.size), 0))
    .join_from(grants, files, grants.c.study_id == files.c.study_id)
    .where(grants.c.user == bindparam("its_user"), grants.c.right == "own")
)
_DELETED = select(func.coalesce(func.sum(trash.c.bytes), 0)).where(trash.c.owner == bindparam("its_user"))


def of_user(connection: Connection, user: str) -> Usage:
    """The user's usage, as of this transaction."""
    number, trials, size = connection.execute(_OWNED, {"its_user": user}).one()
    deleted = connection.execute(_DELETED, {"its_user": user}).scalar_one()
    attached = connection.execute(_FILES, {"its_user": user}).scalar_one()
    return Usage(int(number), int(trials), int(size) + int(attached) + int(deleted))


def of_users(connection: Connection, users: Sequence[str]) -> dict[str, Usage]:
    """User -> usage, in the order of the users."""
    own = grants.c.user.in_(users), grants.c.right == "own"
    owned = select(grants.c.user, *_SUMS).join_from(grants, studies, grants.c.study_id == studies.c.id)
    attached = select(grants.c.user, func.sum(files.c.size)).join_from(
        grants, files, grants.c.study_id == files.c.study_id
    )
    deleted = select(trash.c.owner, func.sum(trash.c.bytes)).where(trash.c.owner.in_(users)).group_by(trash.c.owner)
    found = {user: Usage(0, 0, 0) for user in users}
    for user, number, trials, size in connection.execute(owned.where(*own).group_by(grants.c.user)):
        found[user] = Usage(int(number), int(trials), int(size))
    for query in (attached.where(*own).group_by(grants.c.user), deleted):
        for user, size in connection.execute(query):
            found[user] = found[user]._replace(bytes=found[user].bytes + int(size))
    return found


def users(connection: Connection, after: str, limit: int) -> list[str]:
    """The first ``limit`` users after the one with the name ``after``, ordered by name: those who own a study, have one
    in the trash or have a token that is not revoked, and people who have logged in."""
    named = union(
        select(grants.c.user).where(grants.c.right == "own"),
        select(trash.c.owner).where(trash.c.owner.is_not(None)),
        select(tokens.c.user).where(tokens.c.revoked_at.is_(None)),
        select(people.c.user),
    ).subquery()
    user = named.c[0]
    return list(connection.execute(select(user).where(user > after).order_by(user).limit(limit)).scalars())

"""The number of studies that a user owns, the number of their trials, and the storage that they use."""

from __future__ import annotations

from typing import NamedTuple, get_args

from sqlalchemy import ColumnElement, Connection, Integer, bindparam, case, func, literal_column, select

from adabkb_service.storage.rows import TrialState
from adabkb_service.storage.tables import files, grants, studies, trash


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
_OWNED = (
    select(
        func.count(),
        func.coalesce(func.sum(_TRIALS + case((_OTHERS > 0, _OTHERS), else_=0)), 0),
        func.coalesce(func.sum(studies.c.log_bytes), 0),
    )
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

"""Queries of ``observations``."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, insert, select, update

from adabkb_service.errors import ObservationNotFound
from adabkb_service.storage import bounded_pages
from adabkb_service.storage.bounded_pages import ROWS_PER_PAGE, BoundedPage
from adabkb_service.storage.rows import ObservationRow, as_values
from adabkb_service.storage.tables import observations

_OF_STUDY = select(observations).where(observations.c.study_id == bindparam("study"))
_ADD = insert(observations)
_CHANGE = update(observations).where(
    observations.c.study_id == bindparam("study"), observations.c.seq == bindparam("its_seq")
)
_OF_TRIAL = _OF_STUDY.where(observations.c.trial == bindparam("its_trial")).order_by(observations.c.seq)

ROWS_AT_ONCE = 100
"""The number of rows of a part that ``from_best`` reads."""
NUMBERS_AT_ONCE = 500
"""The maximum number of observations that a query names, since databases limit the parameters of a statement."""


def add(connection: Connection, rows: Iterable[ObservationRow]) -> None:
    """Insert observations."""
    connection.execute(_ADD, [as_values(row) for row in rows])


def get(connection: Connection, study_id: str, seq: int) -> ObservationRow:
    """The observation with this number.

    Raises:
        ObservationNotFound: the observation does not exist.
    """
    query = select(observations).where(observations.c.study_id == study_id, observations.c.seq == seq)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise ObservationNotFound(study_id, seq)
    return ObservationRow(*row)


def change(connection: Connection, rows: Iterable[ObservationRow]) -> None:
    """Update the columns that a correction or an annotation may change."""
    changed = [
        {
            "study": row.study_id,
            "its_seq": row.seq,
            "value": row.value,
            "std_error": row.std_error,
            "excluded": row.excluded,
            "metrics": row.metrics,
            "std_errors": row.std_errors,
            "attributes": row.attributes,
        }
        for row in rows
    ]
    connection.execute(_CHANGE, changed)


def latest(connection: Connection, study_id: str, limit: int, *, without: Collection[int]) -> list[ObservationRow]:
    """The last ``limit`` results that are not excluded, and whose number is not in ``without``, latest first."""
    counting = observations.c.excluded.is_(False), observations.c.seq.not_in(without)
    query = select(observations).where(observations.c.study_id == study_id, *counting)
    rows = connection.execute(query.order_by(observations.c.seq.desc()).limit(limit))
    return [ObservationRow(*row) for row in rows]


def on_plate(connection: Connection, study_id: str, plate: int, *, without: Collection[int]) -> ObservationRow | None:
    """The first result that names a plate, is not excluded, and whose number is not in ``without``; None if there is
    none."""
    naming = observations.c.plate == plate, observations.c.excluded.is_(False), observations.c.seq.not_in(without)
    query = select(observations).where(observations.c.study_id == study_id, *naming).order_by(observations.c.seq)
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else ObservationRow(*row)


def of_trial(connection: Connection, study_id: str, trial: int) -> list[ObservationRow]:
    """The observations of a trial, ordered by number."""
    return [ObservationRow(*row) for row in connection.execute(_OF_TRIAL, {"study": study_id, "its_trial": trial})]


def of_trials(connection: Connection, study_id: str, first: int, last: int) -> list[ObservationRow]:
    """The observations of trials ``first`` to ``last``, ordered by the observation's number."""
    of_range = observations.c.trial.between(first, last)
    query = select(observations).where(observations.c.study_id == study_id, of_range).order_by(observations.c.seq)
    return [ObservationRow(*row) for row in connection.execute(query)]


def best(connection: Connection, study_id: str, *, maximize: bool, without: Collection[int]) -> ObservationRow | None:
    """The best observation that has a value, is not excluded, and whose number is not in ``without``; the first one of
    several. None if there is none."""
    value = observations.c.value
    query = (
        select(observations)
        .where(
            observations.c.study_id == study_id, observations.c.excluded.is_(False), observations.c.seq.not_in(without)
        )
        .where(value.is_not(None))
        .order_by(value.desc() if maximize else value, observations.c.seq)
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else ObservationRow(*row)


def from_best(connection: Connection, study_id: str, *, maximize: bool) -> Generator[ObservationRow, None, None]:
    """Yield the observations that have a value and are not excluded: the best first, and of equally good ones the
    first. They are read in parts. Close the generator before the connection."""
    value = observations.c.value
    query = _OF_STUDY.where(observations.c.excluded.is_(False), value.is_not(None)).order_by(
        value.desc() if maximize else value, observations.c.seq
    )
    with connection.execute(query, {"study": study_id}, execution_options={"yield_per": ROWS_AT_ONCE}) as found:
        for row in found:
            yield ObservationRow(*row)


def best_and_others(connection: Connection, study_id: str, *, maximize: bool, count: int) -> list[ObservationRow]:
    """Of the observations that have a value and are not excluded: the best ``count``, and about ``count`` that are
    evenly spread over the study. All are ordered by number. There are fewer if their parameters are large."""
    query = select(observations).where(
        observations.c.study_id == study_id, observations.c.excluded.is_(False), observations.c.value.is_not(None)
    )
    value = observations.c.value
    best = (value.desc() if maximize else value, observations.c.seq)
    found = [
        *_page(connection, query, best, count),
        *_page(connection, query.where(_evenly(connection, study_id, count)), (observations.c.seq,), count),
    ]
    return sorted({row.seq: row for row in found}.values(), key=lambda row: row.seq)


def spread(connection: Connection, study_id: str, count: int) -> list[ObservationRow]:
    """About ``count`` observations that are not excluded, evenly spread over the study, ordered by number. There are
    fewer if their parameters are large."""
    query = select(observations).where(
        observations.c.study_id == study_id,
        observations.c.excluded.is_(False),
        _evenly(connection, study_id, count),
    )
    return _page(connection, query, (observations.c.seq,), count)


def _evenly(connection: Connection, study_id: str, count: int) -> ColumnElement[bool]:
    """The condition that an observation is one of about ``count`` that are evenly spread over the study."""
    last = select(func.coalesce(func.max(observations.c.seq), 0)).where(observations.c.study_id == study_id)
    every = connection.execute(last).scalar_one() // count + 1
    is_one: ColumnElement[bool] = observations.c.seq % every == 0
    return is_one


def _page(
    connection: Connection, query: Select[Any], order: tuple[ColumnElement[Any], ...], count: int
) -> list[ObservationRow]:
    large = (observations.c.parameters,)
    return bounded_pages.read(connection, query, order=order, row=ObservationRow, large=large, limit=count).rows


def counting_after(connection: Connection, study_id: str, seq: int, *, without: Collection[int]) -> int:
    """The number of observations after ``seq`` that are not excluded and whose numbers are not in ``without``."""
    after = observations.c.seq > seq, observations.c.excluded.is_(False), observations.c.seq.not_in(without)
    query = select(func.count()).select_from(observations).where(observations.c.study_id == study_id, *after)
    return connection.execute(query).scalar_one()


def counting(connection: Connection, study_id: str) -> dict[int, float]:
    """Number -> value of the observations that are not excluded."""
    query = select(observations.c.seq, observations.c.value).where(
        observations.c.study_id == study_id, observations.c.excluded.is_(False)
    )
    return {row.seq: row.value for row in connection.execute(query)}


def every(connection: Connection, study_id: str) -> dict[int, ObservationRow]:
    """Number -> observation, for all observations of a study."""
    found = connection.execute(_OF_STUDY.order_by(observations.c.seq), {"study": study_id})
    return {row.seq: ObservationRow(*row) for row in found}


def of_numbers(connection: Connection, study_id: str, seqs: Sequence[int]) -> list[ObservationRow]:
    """Those of the observations with these numbers that exist, in order."""
    found: list[ObservationRow] = []
    ordered = sorted(seqs)
    for start in range(0, len(ordered), NUMBERS_AT_ONCE):
        some = ordered[start : start + NUMBERS_AT_ONCE]
        query = _OF_STUDY.where(observations.c.seq.in_(some)).order_by(observations.c.seq)
        found += [ObservationRow(*row) for row in connection.execute(query, {"study": study_id})]
    return found


def with_values(connection: Connection, study_id: str, values: Sequence[float]) -> list[ObservationRow]:
    """Observations with one of these values, in order."""
    query = select(observations).where(observations.c.study_id == study_id, observations.c.value.in_(values))
    return [ObservationRow(*row) for row in connection.execute(query.order_by(observations.c.seq))]


def page(connection: Connection, study_id: str, after: int, limit: int) -> list[ObservationRow]:
    """The first ``limit`` observations with numbers above ``after``, in order."""
    query = _after(study_id, after).order_by(observations.c.seq).limit(limit)
    return [ObservationRow(*row) for row in connection.execute(query)]


def bounded_page(connection: Connection, study_id: str, after: int, limit: int) -> BoundedPage[ObservationRow]:
    """The first observations of ``page``, as many as fit into memory."""
    query, order, large = _after(study_id, after), (observations.c.seq,), (observations.c.parameters,)
    return bounded_pages.read(connection, query, ObservationRow, order=order, large=large, limit=limit)


def all_rows(connection: Connection, study_id: str, after: int = 0) -> Iterator[ObservationRow]:
    """Yield the observations with numbers above ``after``, in order, with one page in memory at a time."""

    def page(last: int) -> BoundedPage[ObservationRow]:
        return bounded_page(connection, study_id, last, ROWS_PER_PAGE)

    return bounded_pages.rows(page, after, lambda row: row.seq)


def _after(study_id: str, seq: int) -> Select[Any]:
    return select(observations).where(observations.c.study_id == study_id, observations.c.seq > seq)

"""Find the rows of a table that are stored already, such as those of an exported table that is imported again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from adabkb_service.contract.pasted import KnownRow, KnownRows, PastedRow, PastedRows
from adabkb_service.operations.service import Service
from adabkb_service.storage import observations, studies, trials
from adabkb_service.storage.rows import ObservationRow, TrialRow

ALIKE = 1e-9
"""The relative difference below which two numbers of a table are equal."""


def known_rows(service: Service, study_id: str, body: PastedRows) -> KnownRows:
    """Return the stored result or failure of each row; None if there is none. A row that names a trial or a result is
    compared with it, unless their points differ, as they do if the number is from another study. A row
    with a value also matches any result with equal numbers at an equal point.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        return KnownRows(rows=list(_stored_rows(connection, study_id, body)))


def _stored_rows(connection: Connection, study_id: str, body: PastedRows) -> Iterator[KnownRow | None]:
    numbers = sorted({row.trial for row in body.rows if row.trial is not None})
    seqs = sorted({row.observation for row in body.rows if row.observation is not None and row.trial is None})
    values = sorted({row.value for row in body.rows if row.value is not None})
    stored = {each.number: each for each in trials.of_numbers(connection, study_id, numbers)}
    of_trials: dict[int | None, list[ObservationRow]] = {}
    for each in observations.of_trials(connection, study_id, numbers[0], numbers[-1]) if numbers else ():
        of_trials.setdefault(each.trial, []).append(each)
    by_seq = {each.seq: each for each in observations.of_numbers(connection, study_id, seqs)}
    by_value: dict[float | None, list[ObservationRow]] = {}
    for each in observations.with_values(connection, study_id, values):
        by_value.setdefault(each.value, []).append(each)
    for row in body.rows:
        if row.failed:
            yield _known_failure(row, stored.get(row.trial or 0))
            continue
        result = by_seq.get(row.observation or 0)
        of_observation = [] if result is None else [result]
        numbered = of_trials.get(row.trial, []) if row.trial else of_observation
        yield _known_result(row, numbered, by_value.get(row.value, []))


def _known_failure(row: PastedRow, trial: TrialRow | None) -> KnownRow | None:
    if trial is None or trial.state != "failed" or not _is_at(row, trial.parameters):
        return None
    return KnownRow(trial=row.trial, observation=None, is_same=True, value=None, metrics=None)


def _known_result(
    row: PastedRow, numbered: Sequence[ObservationRow], of_value: Sequence[ObservationRow]
) -> KnownRow | None:
    """Return a result with the numbers and the point of a row; if there are several, preferably the result with the
    row's number. If there is none, return the result with the row's number if it is at the row's point; else None."""
    there = [each for each in numbered if _is_at(row, each.parameters)]
    same = [each for each in (*there, *of_value) if _is_same(row, each)]
    found = next(iter(same or there), None)
    if found is None:
        return None
    return KnownRow(
        trial=found.trial, observation=found.seq, is_same=bool(same), value=found.value, metrics=found.metrics
    )


def _is_same(row: PastedRow, result: ObservationRow) -> bool:
    """Return whether a row has the numbers and the point of a result."""
    if (row.value is None) != (result.value is None) or (row.value is None and not row.metrics):
        return False
    given = {"": row.value, **row.metrics}
    kept: Mapping[str, Any] = {"": result.value, **(result.metrics or {})}
    return _is_at(row, result.parameters) and all(_alike(value, kept.get(name)) for name, value in given.items())


def _is_at(row: PastedRow, parameters: Mapping[str, Any]) -> bool:
    """Return whether a row has values of parameters, and a point has the same values."""
    return bool(row.parameters) and all(_alike(value, parameters.get(name)) for name, value in row.parameters.items())


def _alike(one: Any, other: Any) -> bool:
    is_number = [isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other)]
    if not all(is_number):
        return bool(one == other)
    try:
        return math.isclose(one, other, rel_tol=ALIKE)
    except OverflowError:  # an integer beyond all floats
        return False

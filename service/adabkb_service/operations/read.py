"""What is stored of a study, as lists of its rows."""

from __future__ import annotations

import json
from collections.abc import Collection

from adabkb_service.contract import answers, history
from adabkb_service.contract.attributes import as_text, sought
from adabkb_service.contract.curves import CurvePoint
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, observations, reports, studies, trials
from adabkb_service.storage.rows import TrialRow, TrialState
from adabkb_service.study import render

LONGEST_LOOKED_FOR = 200
"""Characters of a value that the database looks for; databases limit patterns."""


def trial(service: Service, study_id: str, number: int) -> answers.Trial:
    """A trial.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        return render.trial(trials.get(connection, study_id, number))


def list_trials(
    service: Service,
    study_id: str,
    *,
    state: TrialState | None,
    attributes: Collection[tuple[str, str]],
    after: int,
    limit: int,
) -> list[answers.Trial]:
    """Trials by number, those after one number that have all of some attributes (their values as texts)."""
    texts = [_texts(name, value) for name, value in attributes]
    found: list[TrialRow] = []
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        while len(found) < limit:
            page = trials.page(connection, study_id, state=state, after=after, limit=limit, texts=texts)
            found += (row for row in page if _has(row, attributes))
            if len(page) < limit:
                break
            after = page[-1].number
    return [render.trial(row) for row in found[:limit]]


def _texts(name: str, value: str) -> list[str]:
    """What is in the JSON of attributes of which one has this name and value, though perhaps not at the top. Of a
    value of unusual form or length only the name is looked for."""
    named = f"{json.dumps(name)}: "
    if not 0 < len(value) <= LONGEST_LOOKED_FOR or value[0] in "[{" or not value.isprintable():
        return [named]
    return [f"{named}{shown}{end}" for shown in (json.dumps(value), value) for end in ",}"]


def _has(row: TrialRow, attributes: Collection[tuple[str, str]]) -> bool:
    return all(name in row.attributes and as_text(row.attributes[name]) == sought(value) for name, value in attributes)


def list_observations(service: Service, study_id: str, after: int, limit: int) -> list[answers.Observation]:
    """Observations by seq, those after one seq."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = observations.page(connection, study_id, after, limit)
    return [render.observation(row) for row in found]


def list_reports(
    service: Service, study_id: str, number: int, *, attempt: int | None, first: int, limit: int
) -> list[CurvePoint]:
    """The curve of an attempt of a trial, by default the current one, from a step on.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        wanted = trials.get(connection, study_id, number).attempt if attempt is None else attempt
        found = reports.of_attempt(connection, study_id, number, wanted, first, limit)
    return [render.curve_point(row) for row in found]


def heads(service: Service, study_ids: Collection[str]) -> dict[str, int]:
    """The last event of each of these studies that exists."""
    with service.database.reading() as connection:
        return studies.heads(connection, study_ids)


def list_events(service: Service, study_id: str, after: int, limit: int) -> list[history.Event]:
    """The log in order, after one seq."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = events.page(connection, study_id, after, limit)
    return [render.event(row) for row in found]

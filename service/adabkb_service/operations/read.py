"""What is stored of a study, as lists of its rows."""

from __future__ import annotations

from adabkb_service.contract import answers, history
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, observations, studies, trials
from adabkb_service.storage.rows import TrialState
from adabkb_service.study import render


def trial(service: Service, study_id: str, number: int) -> answers.Trial:
    """A trial.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        return render.trial(trials.get(connection, study_id, number))


def list_trials(
    service: Service, study_id: str, *, state: TrialState | None, after: int, limit: int
) -> list[answers.Trial]:
    """Trials by number, those after one number."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = trials.page(connection, study_id, state=state, after=after, limit=limit)
    return [render.trial(row) for row in found]


def list_observations(service: Service, study_id: str, after: int, limit: int) -> list[answers.Observation]:
    """Observations by seq, those after one seq."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = observations.page(connection, study_id, after, limit)
    return [render.observation(row) for row in found]


def list_events(service: Service, study_id: str, after: int, limit: int) -> list[history.Event]:
    """The log in order, after one seq."""
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        found = events.page(connection, study_id, after, limit)
    return [render.event(row) for row in found]

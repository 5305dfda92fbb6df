"""``adabkb replay``: the model as rows, rebuilt from the log alone."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from adabkb_service.errors import Busy, FieldError, Invalid
from adabkb_service.inference import model as models
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies
from adabkb_service.storage import model as rows
from adabkb_service.study import lifecycle
from adabkb_service.study.draft import changing


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay did."""

    study: str
    events: int
    cells: int
    dictionary: int
    changed: bool
    """Whether the rows differed from what the log says."""
    suggestions: int
    """Decisions of the engine in the log, each compared with what comes out of it now, bit for bit."""
    diverged: list[int]
    """Trials where another point does."""


def replay(service: Service, study_id: str) -> Replayed:
    """Fold the log from its first event, and replace the study's cells and dictionary by the result.

    Raises:
        StudyNotFound: there is none.
        Busy: the study changed meanwhile.
        Invalid: an observation is beyond what the engine can compute with; nothing is written.
    """
    with service.models.lock(study_id):
        with service.database.reading() as connection:
            seen = studies.get(connection, study_id)
            log = events.page(connection, study_id, 0)
        model = models.start(seen)
        try:
            changes = model.fold(log)
        except ArithmeticError as error:
            detail = f"event {model.seq + 1} cannot be folded ({error}); correct or exclude its observation"
            raise Invalid([FieldError("", detail, "model_failed")]) from error
        with changing(service, study_id) as change:
            if (change.study.created_at, change.study.head) != (seen.created_at, seen.head):
                raise Busy(f"Study {study_id!r} changed meanwhile; try again.")
            before = _rows(change.connection, study_id)
            rows.clear(change.connection, study_id)
            rows.write_cells(change.connection, study_id, models.NEW_TREE)
            changes.write(change.connection, study_id)
            change.set(folded=model.seq, model_error=None)
            if changes.moved:
                change.set(model=model.figures(model.state, model.history.awaited_points()))
            if seen.model_error is not None:
                change.note("model_recovered", {})
            lifecycle.settle(change)
            after = _rows(change.connection, study_id)
        service.models.drop(study_id)
    return Replayed(
        study_id,
        len(log),
        len(after[0]),
        len(after[1]),
        changed=before != after,
        suggestions=sum(models.is_decision(event) for event in log),
        diverged=model.diverged,
    )


def _rows(connection: Connection, study_id: str) -> tuple[list[tuple[str, str]], tuple[int, ...]]:
    """Cells in order of creation, and the dictionary."""
    return list(rows.read_cells(connection, study_id).items()), rows.read_dictionary(connection, study_id)

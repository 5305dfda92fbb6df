"""``adabkb data replay``: rebuild the model's rows from the log alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from adabkb_service.contract.answers import StudySummary
from adabkb_service.engine.libraries import libraries
from adabkb_service.errors import Busy, FieldError, Invalid
from adabkb_service.inference.dataset import is_decision
from adabkb_service.inference.decisions import Decisions
from adabkb_service.inference.fold import fold
from adabkb_service.inference.model import Model
from adabkb_service.inference.restore import start
from adabkb_service.inference.store import write
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies
from adabkb_service.storage import model as rows
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.rows import ENGINE_REVISION, EventRow, StudyRow, created_row
from adabkb_service.study import lifecycle
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request

Rows = tuple[list[tuple[str, str]], tuple[int, ...]]
"""Cells in order of creation, and the dictionary."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of a replay."""

    study: str
    events: int
    cells: int
    dictionary: int
    changed: bool
    """Whether the stored cells or the stored dictionary differed from those rebuilt from the same events. If the stored
    rows lack the latest events, this does not count as a difference."""
    suggestions: int
    """The number of the engine's decisions in the log. Each is compared bit for bit with the decision of the replay."""
    diverged: list[int]
    """Numbers of the trials for which the replay decided on a different point."""
    libraries: dict[str, str]
    """Library -> version with which the stored model was computed, for each library whose version in this process
    differs."""


def replay(service: Service, study_id: str) -> Replayed:
    """Process the log from its first event, and replace the stored cells, dictionary, checkpoint and statistics of the
    model.

    Raises:
        StudyNotFound: the study does not exist.
        Busy: the study changed during the replay.
        Invalid: the engine cannot process an observation, or another revision of the engine made the decisions; nothing
            is written.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        log = events.page(connection, study_id, 0)
        before = _stored_rows(connection, study_id)
    _check_revision(study)
    model, as_of_stored = _fold(study, log)
    with service.database.writing() as connection:
        studies.lock_model_seq(connection, study_id, study.incarnation)
        if not studies.is_current(connection, study):
            raise Busy(f"Study {study_id!r} changed meanwhile; try again.")
        rows.clear(connection, study_id)
        write(connection, study_id, model.cells, frozenset(), model.dictionary)
        studies.save_model(connection, study_id, study.incarnation, model_seq=model.seq, checkpoint=model.learned)
        after = _stored_rows(connection, study_id)
    service.forget(study_id)
    take_over = partial(_take_over, model.stats() if model.rests_on else None)
    service.do(Request(study_id, StudySummary, take_over, stores_model_stats=True))
    return Replayed(
        study_id,
        len(log),
        len(after[0]),
        len(after[1]),
        changed=before != as_of_stored,
        suggestions=sum(is_decision(event) for event in log),
        diverged=model.diverged,
        libraries=_other_libraries(study),
    )


def _check_revision(study: StudyRow) -> None:
    """Refuse a study of another revision of the engine, since this revision cannot reproduce its cells."""
    if study.engine_revision != ENGINE_REVISION:
        detail = (
            f"study {study.id!r} was created by revision {study.engine_revision} of the engine, but this version has "
            f"revision {ENGINE_REVISION}, so the suggestions cannot be reproduced. The study can continue without a "
            f"replay; if its stored model is damaged, restore a backup"
        )
        raise Invalid([FieldError("", detail, "engine_revision")])


def _fold(study: StudyRow, log: list[EventRow]) -> tuple[Model, Rows]:
    """Return the model after the whole log, and its rows as of ``study.model_seq``, the last event that the stored rows
    include."""
    model, decisions = start(study, created_row(log)), Decisions()
    try:
        fold(model, decisions, log[: study.model_seq])
        as_of_stored = list(model.cells.items()), tuple(sorted(model.dictionary))
        fold(model, decisions, log[study.model_seq :])
    except ArithmeticError as error:
        detail = f"the model cannot process event {model.seq + 1} ({error}); correct or exclude its observation"
        raise Invalid([FieldError("", detail, "model_failed")]) from error
    return model, as_of_stored


def _other_libraries(study: StudyRow) -> dict[str, str]:
    known, here = (study.checkpoint or {}).get("libraries", {}), libraries()
    return {name: version for name, version in known.items() if here.get(name) != version}


def _take_over(model_stats: ModelStats | None, draft: Draft, _: Points) -> Outcome[StudySummary]:
    draft.set_model_stats(model_stats)
    if draft.study.model_error is not None:
        draft.record("model_recovered", {})
    lifecycle.update_state(draft)
    return Outcome(lifecycle.summary(draft.study))


def _stored_rows(connection: Connection, study_id: str) -> Rows:
    return list(rows.read_cells(connection, study_id).items()), rows.read_dictionary(connection, study_id)

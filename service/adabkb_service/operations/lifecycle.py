"""A study's state: derived from its row and its counts, never set by hand."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.operations import render, views
from adabkb_service.operations.definitions import StudyDefinition
from adabkb_service.operations.views import Counts, Reason, StudySummary
from adabkb_service.storage import events, observations, studies, trials
from adabkb_service.storage.rows import StudyRow, StudyState


def standing(study: StudyRow, counts: Counts) -> tuple[StudyState, Reason | None]:
    """The state, and why no new point is handed out (None: it is)."""
    if _converged(study):
        return "complete", "converged"
    spent = _spent(study, counts)
    if spent and not counts.unfinished:
        return "complete", spent
    if study.paused:
        return "paused", "paused"
    if spent:
        return "running", spent
    if study.pending_limit is not None and counts.unfinished >= study.pending_limit:
        return "running", "pending_limit"
    return "running", None


def _converged(study: StudyRow) -> bool:
    """The paper's early stop, or a certificate within the tolerance."""
    if study.model is None:
        return False
    gap = study.model["gap"]
    within = study.tolerance is not None and gap is not None and gap <= study.tolerance
    return bool(study.model["stopped"] or within)


def _spent(study: StudyRow, counts: Counts) -> Reason | None:
    """Why there will be no new point any more: the budget is, or every point of a finite space is handed out."""
    if study.budget is not None and counts.trials >= study.budget:
        return "budget"
    return "exhausted" if study.model is not None and study.model.get("exhausted") else None


def counts(connection: Connection, study_id: str) -> Counts:
    """Of one study."""
    return counts_of(connection, [study_id])[study_id]


def counts_of(connection: Connection, study_ids: list[str]) -> dict[str, Counts]:
    """Of several studies, in two queries."""
    states = trials.counts(connection, study_ids)
    results = observations.counts(connection, study_ids)
    return {
        study_id: Counts(trials=sum(states[study_id].values()), observations=results[study_id], **states[study_id])
        for study_id in study_ids
    }


def settle(connection: Connection, study_id: str, now: datetime) -> StudyRow:
    """After a change, in its transaction: bring the stored state up to date, log a completion."""
    study = studies.get(connection, study_id)
    state, reason = standing(study, counts(connection, study_id))
    if state == study.state:
        return study
    studies.change(connection, study_id, state=state)
    if state == "complete":
        events.append(connection, study_id, "completed", {"reason": reason}, now=now)
    return studies.get(connection, study_id)


def summary(connection: Connection, study: StudyRow, known: Counts | None = None) -> StudySummary:
    """The part of a study that changes with every request."""
    tally = known or counts(connection, study.id)
    state, reason = standing(study, tally)
    maximize = study.definition["direction"] == "maximize"
    return StudySummary(
        id=study.id,
        state=state,
        reason=reason,
        counts=tally,
        best=render.best(observations.best(connection, study.id, maximize=maximize)),
        gap=None if study.model is None else study.model["gap"],
        revision=study.head,
    )


def full(connection: Connection, study: StudyRow, known: Counts | None = None) -> views.Study:
    """A study in full."""
    return render.study(study, definition_of(study), summary(connection, study, known))


def definition_of(study: StudyRow) -> StudyDefinition:
    """The stored definition, parsed."""
    return StudyDefinition.model_validate(study.definition)

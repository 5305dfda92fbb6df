"""A study's state, which is always derived from its row."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from adabkb_service.contract import answers as views
from adabkb_service.contract.answers import Reason, StudySummary
from adabkb_service.contract.budget import cost_budget_of
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.ending import is_converged, reason_to_end
from adabkb_service.storage.rows import StudyRow, StudyState
from adabkb_service.study import render
from adabkb_service.study.best import has_several_objectives
from adabkb_service.study.draft import Draft

logger = logging.getLogger(__name__)

UNLIMITED_POINTS = 2**31
"""The number of new points that a study without limits may issue at once."""


def status(study: StudyRow) -> tuple[StudyState, Reason | None]:
    """Return the state, and why the study issues no new points (None if it does)."""
    if _has_converged(study):
        return "complete", "converged"
    end_reason = no_more_points_reason(study)
    if end_reason and not study.unfinished:
        return "complete", end_reason
    if study.paused:
        return "paused", "failures" if _has_reached_failure_limit(study) else "paused"
    if end_reason:
        return "running", end_reason
    if study.pending_limit is not None and study.unfinished >= study.pending_limit:
        return "running", "pending_limit"
    return "running", None


def _has_converged(study: StudyRow) -> bool:
    """Return whether Ada-BKB's stopping rule applies, or the gap, as the study shows it, is at most the tolerance. A
    best result beyond its natural bound, which may be a typing error, does not reduce the gap."""
    if study.model is None:
        return False
    gap = study.model["gap"] if render.is_beyond_reach(study) else render.gap(study, study.model["gap"])
    return study.model["stopped"] or is_converged(gap, study.tolerance)


def no_more_points_reason(study: StudyRow) -> Reason | None:
    """Return why the study will issue no more new points; None if it may. The possible reasons: the budget is used up,
    every point of a finite space is issued, or a stopping rule holds."""
    cost_budget, model = cost_budget_of(study.definition), study.model
    is_spent = cost_budget is not None and study.cost_spent >= cost_budget
    return reason_to_end(
        is_used_up=is_spent or (study.budget_left is not None and study.budget_left <= 0),
        is_exhausted=model is not None and model["exhausted"],
        rules=study.stop or {},
        since_gain=results_since_gain(study),
        gap_share=None if model is None else model["gap_share"],
    )


def results_since_gain(study: StudyRow) -> int:
    """Return the number of results after the best one or, with several objectives, after the last increase of the
    hypervolume, as the model last computed it."""
    if not has_several_objectives(study):
        return study.results_since_best
    return 0 if study.model is None else study.model.get("results_since_gain", 0)


def room_for_points(study: StudyRow) -> int:
    """Return the number of new points that may be issued now, in addition to the waiting trials."""
    if status(study) != ("running", None):
        return 0
    limits = [UNLIMITED_POINTS]
    if study.budget_left is not None:
        limits.append(study.budget_left)
    if study.pending_limit is not None:
        limits.append(study.pending_limit - study.unfinished)
    return max(min(limits), 0)


def _has_reached_failure_limit(study: StudyRow) -> bool:
    """Return whether the number of consecutive failures has reached the limit, at which the study pauses to save its
    budget."""
    return study.failure_limit is not None and study.failures >= study.failure_limit


def update_state(draft: Draft) -> None:
    """Pause a study that has reached its failure limit, and derive its state. Record events if it pauses or completes.
    Call this last in a batch."""
    study = draft.study
    if _has_reached_failure_limit(study) and not study.paused:
        with draft.by(None):
            draft.record("paused", {"reason": "failures", "failures": study.failures})
    state, reason = status(draft.study)
    if state != study.state:
        draft.set_state(state)
        if state == "complete":
            assert reason is not None, "a complete study has a reason"
            draft.record("completed", {"reason": reason})


def summary(study: StudyRow) -> StudySummary:
    """Return the summary of a study: the fields that change while it runs."""
    state, reason = status(study)
    return StudySummary(
        id=study.id,
        state=state,
        reason=reason,
        counts=render.counts(study),
        best=render.best(study),
        gap=None if study.model is None else render.gap(study, study.model["gap"]),
        revision=study.study_seq,
    )


def full_views(studies: Iterable[StudyRow]) -> Iterator[tuple[StudyRow, views.Study]]:
    """Yield each study's row with its full view, for a list. A row that cannot be parsed is logged and left out, so
    that the list still has the others."""
    for study in studies:
        try:
            yield study, full_view(study)
        except Exception:
            logger.exception("study %s: its row cannot be read; run adabkb data doctor to examine it", study.id)


def full_view(study: StudyRow, definition: StoredDefinition | None = None) -> views.Study:
    """Return the full view of a study; ``definition`` is its parsed definition, if the caller has it."""
    return render.study(study, definition or definition_of(study.definition), summary(study))

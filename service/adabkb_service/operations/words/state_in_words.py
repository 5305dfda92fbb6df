"""The state of a study in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from adabkb_service.contract.answers import Study
from adabkb_service.contract.cost import CostBudget
from adabkb_service.operations.words.ending import EndedEarly

REASONS: Mapping[str, str] = {
    "budget": "The budget is used up.",
    "exhausted": "Every point of the space has been issued.",
    "converged": "The study has converged: further trials will probably gain little.",
    "no_gain": "The last results brought no improvement, so the study ended by its rule no_gain_for.",
    "gain_unlikely": "Further trials will probably gain less than the study's rule requires, so it ended.",
    "failures": "Paused, because too many trials in a row failed. Remove the cause, then resume.",
    "pending_limit": "No new point until an unfinished trial has its result.",
    "paused": "Paused: no new points are issued. Results are still accepted.",
    "fixed_exhausted": "Every point with these fixed values has been issued.",
    "plate_full": "The plate is full. The next request begins a new one.",
}
"""Why there are no new points, or fewer than requested."""


def state_in_words(study: Study, ended: EndedEarly | None = None) -> str:
    """Return the state of a study in one sentence.

    Args:
        study: the study.
        ended: what a user did to end the study before its budget was used up; None if no user did.
    """
    if study.model.status == "degraded":
        return (
            "The model has failed, so new points are spread evenly instead of chosen by it. Results are safe. The "
            "events show the error."
        )
    if study.reason == "budget" and ended is not None:
        return f"Ended by a user on {ended.at:%d %b %Y}{_after(ended)}. A larger budget continues the study."
    if study.reason == "budget" and not isinstance(study.budget, CostBudget):  # a cost budget cannot be changed
        return f"{REASONS['budget']} A larger one continues the study."
    if study.reason is not None:
        return REASONS[study.reason]
    return _running(study)


def _running(study: Study) -> str:
    if study.counts.active:
        return "Running. Results are coming in."
    if study.counts.observations:
        return "Running. No trial is reserved now."
    if not study.counts.failed:
        return "No trial has been issued yet."
    trials = "The only trial has" if study.counts.failed == 1 else f"All {study.counts.failed} trials have"
    limit = study.failure_limit
    return f"Running. {trials} failed." + (f" The study pauses after {limit} failures in a row." if limit else "")


def _after(ended: EndedEarly) -> str:
    trials = f"after {ended.trials} of" if ended.trials else "before the first of"
    return f", {trials} {ended.budget} trials" if ended.budget else f", after {ended.trials} trials"

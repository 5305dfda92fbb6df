"""The state of a study in one sentence."""

from __future__ import annotations

from adabkb_service.contract.answers import Study
from adabkb_service.operations.words.ending import EndedEarly
from adabkb_service.operations.words.reasons import REASONS
from adabkb_service.operations.words.wording import FINAL, IDLE, counted_plates


def state_in_words(study: Study, ended: EndedEarly | None = None) -> str:
    """Return the state of a study in one sentence.

    Args:
        study: the study.
        ended: what a user did to end the study before its budget was used up; None if no user did.
    """
    if study.model.status == "degraded":
        return (
            "The model has failed, so new trials are spread evenly instead of chosen by it. Results are safe. The "
            "events show the error."
        )
    if study.reason is None:
        return _open(study)
    if study.reason not in FINAL:
        return REASONS[study.reason]
    sentences = [REASONS[study.reason] if ended is None else f"Ended by a user on {ended.at:%d %b %Y}{_after(ended)}."]
    left = study.counts.active + study.counts.expired + study.counts.released + study.counts.queued
    if left:
        sentences.append(f"{_number_of(left)} still without a result.")
    if study.reason == "budget":
        sentences.append("A larger budget continues the study.")
    return " ".join(sentences)


def _number_of(trials: int) -> str:
    return "1 trial is" if trials == 1 else f"{trials} trials are"


def _open(study: Study) -> str:
    if study.counts.active:
        return f"{_number_of(study.counts.active)} running."
    if study.counts.observations:
        return IDLE
    if not study.counts.failed:
        return "No trial has been issued yet."
    trials = "The only trial has" if study.counts.failed == 1 else f"All {study.counts.failed} trials have"
    limit = study.failure_limit
    return f"{trials} failed." + (f" The study pauses after {limit} failures in a row." if limit else "")


def _after(ended: EndedEarly) -> str:
    trials = (
        f"after {ended.trials} trial{'' if ended.trials == 1 else 's'}" if ended.trials else "before the first trial"
    )
    before = counted_plates(ended.budget["plates"]) if isinstance(ended.budget, dict) else ended.budget
    return f", {trials} (the budget was {before})" if before else f", {trials}"

"""PATCH and DELETE of an observation. A correction is an event, after which the model is rebuilt."""

from __future__ import annotations

from functools import partial
from typing import Any

from adabkb_service.contract.answers import Corrected
from adabkb_service.contract.metrics import metrics_of
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.metrics import Metric
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.metric_checks import OF_METRICS, check_natural_bounds, corrected_metrics
from adabkb_service.study.request import Key, Outcome, Points, Request
from adabkb_service.study.transitions import CORRECTABLE


def correct(
    study_id: str, seq: int, changes: dict[str, Any], reason: str | None = None, key: Key | None = None
) -> Request[Corrected]:
    """Change the values of an observation, or exclude or include it.

    Args:
        study_id: the study's id.
        seq: the observation's number.
        changes: new ``value``, ``std_error``, ``excluded``, and partial ``metrics`` and ``std_errors``.
        reason: the reason for the log.
        key: the idempotency key of the request.

    Raises:
        StudyNotFound, ObservationNotFound: the study or the observation does not exist.
        Invalid: the study does not have such a metric, or a number is beyond its natural bounds.
    """
    return Request(study_id, Corrected, partial(_correct, seq, changes, reason), key, invalidates_decisions=True)


def _correct(seq: int, changes: dict[str, Any], reason: str | None, draft: Draft, _: Points) -> Outcome[Corrected]:
    was = draft.observation(seq)
    metrics = metrics_of(draft.study.definition)
    quantities = definition_of(draft.study.definition).quantities
    check_natural_bounds(quantities, changes.get("value"), changes.get("metrics") or {})
    changes = changes | corrected_metrics(metrics, was, changes)
    differing = {name: value for name, value in changes.items() if getattr(was, name) != value}
    if differing:
        told = {name: getattr(was, name) for name in CORRECTABLE if name not in _absent(metrics)}
        payload = {
            "observation": seq,
            "parameters": was.parameters,
            **told,
            **differing,
            "was": {name: told[name] for name in differing},
            "reason": reason,
        }
        draft.record("corrected", payload, was.trial)
    lifecycle.update_state(draft)
    corrected = render.observation(draft.observation(seq), draft.space)
    return Outcome(Corrected(observation=corrected, study=lifecycle.summary(draft.study)))


def _absent(metrics: tuple[Metric, ...]) -> tuple[str, ...]:
    """Return the fields that results of a study with these metrics do not have."""
    if not metrics:
        return OF_METRICS
    return ("value", "std_error") if any(metric.goal for metric in metrics) else ()

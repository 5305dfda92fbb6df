"""PATCH and DELETE of an observation. A correction of a result, or a number added to an incomplete result, is recorded
as an event. The model is then rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, cast

from adabkb_service.contract import attributes
from adabkb_service.contract.answers import Corrected, Observation
from adabkb_service.contract.metrics import metrics_of
from adabkb_service.engine.metrics import Metric
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.operations.former import check_former, check_revision
from adabkb_service.storage.event_payloads import Changed
from adabkb_service.storage.rows import ObservationRow
from adabkb_service.study import lifecycle, render
from adabkb_service.study.draft import Draft
from adabkb_service.study.metric_checks import OF_METRICS, check_natural_bounds, corrected_metrics
from adabkb_service.study.request import Key, Outcome, Points, Request
from adabkb_service.study.transitions import CORRECTABLE


def correct(
    study_id: str,
    seq: int,
    changes: dict[str, Any],
    reason: str | None = None,
    key: Key | None = None,
    was: Mapping[str, Any] | None = None,
    revisions: frozenset[str] | None = None,
) -> Request[Corrected]:
    """Return a request to change the values of an observation, to exclude or include it, or to annotate it.

    Args:
        study_id: the study's id.
        seq: the observation's number.
        changes: new ``value``, ``std_error`` and ``excluded``; ``metrics``, ``std_errors`` and ``attributes`` need
            only the entries that change.
        reason: the reason, which the log keeps.
        key: the idempotency key of the request.
        was: former values of fields of the observation.
        revisions: the tags of the study's revisions at which the change is allowed; None for any.

    Raises:
        StudyNotFound, ObservationNotFound: the study or the observation does not exist.
        PreconditionFailed: the study has another revision, or a field has another value than in ``was``.
        Invalid: the study does not have such a metric, a number is far beyond its natural bounds, or there are
            attributes that are too many, too large, or for a result that belongs to a trial.
    """
    affects_model = bool(changes.keys() - {"attributes"})
    perform = partial(_correct, seq, changes, reason, was, revisions)
    return Request(study_id, Corrected, perform, key, invalidates_decisions=affects_model)


def _correct(
    seq: int,
    changes: dict[str, Any],
    reason: str | None,
    former: Mapping[str, Any] | None,
    revisions: frozenset[str] | None,
    draft: Draft,
    _: Points,
) -> Outcome[Corrected]:
    was = draft.observation(seq)
    check_revision(draft.study, revisions)
    check_former(f"Result {seq}", _view(draft, seq), former)
    if "attributes" in changes:
        annotate_result(draft, was, changes["attributes"])
    changes = {name: value for name, value in changes.items() if name != "attributes"}
    metrics = metrics_of(draft.study.definition)
    quantities = draft.definition.quantities
    check_natural_bounds(quantities, changes.get("value"), changes.get("metrics") or {})
    changes = changes | corrected_metrics(metrics, was, changes)
    differing = {name: value for name, value in changes.items() if getattr(was, name) != value}
    if differing:
        record_change(draft, was, differing, reason)
    lifecycle.update_state(draft)
    return Outcome(Corrected(observation=_view(draft, seq), study=lifecycle.summary(draft.study)))


def _view(draft: Draft, seq: int) -> Observation:
    return render.observation(draft.observation(seq), draft.definition, draft.space)


def annotate_result(draft: Draft, was: ObservationRow, changes: dict[str, Any]) -> None:
    """Record changes of the attributes of a result without a trial.

    Raises:
        Invalid: the attributes are too many or too large, or the result belongs to a trial.
    """
    error = attributes.error_in(attributes.merged(was.attributes, changes))
    if was.trial is not None:
        error = f"belong to trial {was.trial}; set the attributes of this trial"
    if error is not None:
        raise Invalid([FieldError("/attributes", error, "attributes")])
    if attributes.differ(was.attributes, changes):
        before = attributes.replaced(was.attributes, changes)
        draft.record("annotated", {"observation": was.seq, "attributes": changes, "was": before})


def record_change(draft: Draft, was: ObservationRow, changes: dict[str, Any], reason: str | None = None) -> None:
    """Record new values of an observation's columns: in an event ``measured`` if they only add numbers that the
    observation lacked, otherwise in an event ``corrected``."""
    absent = _absent(metrics_of(draft.study.definition))
    before: dict[str, Any] = {name: getattr(was, name) for name in CORRECTABLE if name not in absent}
    after = {**before, **changes}
    if after.get("value", 0.0) is None:
        after = {name: each for name, each in after.items() if name not in ("value", "std_error")}
    payload = {
        "observation": was.seq,
        "parameters": was.parameters,
        **({} if was.plate is None else {"plate": was.plate}),
        **after,
        "was": {name: before[name] for name in changes},
        "reason": reason,
    }
    kind: Literal["measured", "corrected"] = "measured" if _only_adds(before, changes) else "corrected"
    draft.record(kind, cast("Changed", payload), was.trial)


def _only_adds(was: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Return whether changes only add numbers: no known number or standard error changes."""
    if "excluded" in changes or (changes.keys() & {"value", "std_error"} and was["value"] is not None):
        return False
    known = was.get("metrics") or {}
    return all(
        after.get(name) == (was[field] or {}).get(name)
        for field, after in changes.items()
        if field in OF_METRICS
        for name in known
    )


def _absent(metrics: tuple[Metric, ...]) -> tuple[str, ...]:
    """Return the fields that results of a study with these metrics do not have."""
    if not metrics:
        return OF_METRICS
    return ("value", "std_error") if any(metric.goal for metric in metrics) else ()

"""Check the metrics of results against those of the study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from adabkb_service.contract.cost import COST, MAX_COST
from adabkb_service.contract.quantities import OBJECTIVE, Quantity, gross
from adabkb_service.contract.requests import PointValueBody, TrialValueBody
from adabkb_service.contract.wording import unknown
from adabkb_service.engine.metrics import Metric
from adabkb_service.errors import FieldError, Invalid, json_pointer
from adabkb_service.storage.rows import ObservationRow

OF_METRICS = ("metrics", "std_errors")
"""Fields of a result that exist only in studies with metrics."""
SEVERAL = "is not allowed: the study has several objectives ({names}), which go into {field}; leave it out"
NONE = "is not allowed: the study has no metrics, which are declared when a study is created; leave it out"
LATER = "; if it comes later, mark the result as partial"
WITHOUT_VALUE = "needs its value: the result has none yet"
NO_COST = (
    'is not allowed: the study has no cost, which is declared when a study is created ("cost": "told"); leave it out'
)


def checked_metrics(
    metrics: tuple[Metric, ...], result: TrialValueBody | PointValueBody, earlier: ObservationRow | None = None
) -> dict[str, dict[str, float]]:
    """Return the columns ``metrics`` and ``std_errors`` of a result, each in the study's order. Empty for a study
    without metrics.

    Args:
        metrics: the study's metrics.
        result: the result in the request.
        earlier: the stored part of the same result, if a part was reported before.

    Raises:
        Invalid: the value or a metric is missing, or not allowed in this study, or the cost is out of range. A partial
            result may lack everything except the cost.
    """
    may_lack_value = result.partial or (earlier is not None and earlier.value is not None)
    _raise_if_any(list(_errors_of_value(metrics, result.value, result.std_error, is_needed=not may_lack_value)))
    if result.cost is not None and not any(metric.is_cost for metric in metrics):
        raise Invalid([FieldError("/cost", NO_COST, "unknown_metric")])
    values, errors = metrics_of_result(result), result.std_errors or {}
    if not (metrics or values or errors):
        return {}
    fields = {"metrics": values, "std_errors": errors}
    _raise_if_any(
        [
            *_errors_of_missing(
                metrics, {**_stored_metrics(earlier), **values}, partial=result.partial, is_first=earlier is None
            ),
            *_errors_without_value(metrics, {**_stored_metrics(earlier), **values}, errors),
            *_errors_of_unknown(metrics, {field: numbers for field, numbers in fields.items() if numbers}),
            *_errors_of_cost(metrics, values),
        ]
    )
    names = [metric.name for metric in metrics]
    ordered, ordered_errors = ({name: each[name] for name in names if name in each} for each in (values, errors))
    return {"metrics": ordered, "std_errors": ordered_errors} if names else {}


def metrics_of_result(result: TrialValueBody | PointValueBody) -> Mapping[str, float]:
    """Return the metrics of a result, with the cost among them, whether it is given as ``cost`` or in ``metrics``."""
    return {**(result.metrics or {}), **({} if result.cost is None else {COST: result.cost})}


def check_natural_bounds(quantities: Mapping[str, Quantity], value: float | None, metrics: Mapping[str, float]) -> None:
    """Refuse values far beyond the declared natural bounds, which are typing errors. Values slightly beyond are
    allowed, since noise may be the reason.

    Raises:
        Invalid: one error per such value.
    """
    numbers = {**metrics, **({} if value is None else {OBJECTIVE: value})}
    of_value = None if value is None else OBJECTIVE
    _raise_if_any(
        [
            FieldError(
                "/value" if name == of_value else f"/metrics{json_pointer(name)}", sentence, "beyond_natural_bounds"
            )
            for name, sentence in gross(quantities, numbers)
        ]
    )


def corrected_metrics(metrics: tuple[Metric, ...], was: ObservationRow, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of ``metrics`` and ``std_errors`` that the changes contain, with all entries that they have after
    the correction. Entries that the changes set to None are left out.

    Raises:
        Invalid: one error per value or metric that is not allowed, and per standard error without its value.
    """
    given = {field: changes[field] for field in OF_METRICS if field in changes}
    value, error = changes.get("value"), changes.get("std_error")
    several = _errors_of_value(metrics, value, error) if _has_several_objectives(metrics) else ()
    has_no_value = error is not None and value is None and was.value is None
    _raise_if_any(
        [
            *(several or [FieldError("/std_error", WITHOUT_VALUE, "missing")] * has_no_value),
            *_errors_of_unknown(metrics, given),
            *_errors_of_cost(metrics, given.get("metrics", {})),
            *_errors_without_value(
                metrics, {**_stored_metrics(was), **given.get("metrics", {})}, given.get("std_errors", {})
            ),
        ]
    )
    found = {field: {**(getattr(was, field) or {}), **values} for field, values in given.items() if metrics}
    return {
        field: {name: value for name, value in values.items() if value is not None} for field, values in found.items()
    }


def _stored_metrics(earlier: ObservationRow | None) -> Mapping[str, float]:
    return {} if earlier is None else earlier.metrics or {}


def _errors_without_value(
    metrics: tuple[Metric, ...], values: Mapping[str, Any], errors: Mapping[str, Any]
) -> Iterator[FieldError]:
    for name in (metric.name for metric in metrics):
        if name not in values and errors.get(name) is not None:
            yield FieldError(f"/std_errors{json_pointer(name)}", WITHOUT_VALUE, "missing")


def _has_several_objectives(metrics: tuple[Metric, ...]) -> bool:
    return any(metric.goal for metric in metrics)


def _errors_of_value(
    metrics: tuple[Metric, ...], value: float | None, std_error: float | None, *, is_needed: bool = True
) -> Iterator[FieldError]:
    names = [metric.name for metric in metrics if metric.goal]
    if not names and value is None and is_needed:
        yield FieldError("/value", f"is required{LATER if metrics else ''}", "missing")
    if not names and value is None and std_error is not None and not is_needed:
        yield FieldError("/std_error", WITHOUT_VALUE, "missing")
    if names and value is not None:
        yield FieldError("/value", SEVERAL.format(names=", ".join(names), field="metrics"), "objectives")
    if names and std_error is not None:
        yield FieldError("/std_error", SEVERAL.format(names=", ".join(names), field="std_errors"), "objectives")


def _errors_of_missing(
    metrics: tuple[Metric, ...], values: Mapping[str, float], *, partial: bool, is_first: bool
) -> Iterator[FieldError]:
    names = [metric.name for metric in metrics if metric.name not in values]
    if partial:
        if is_first and any(metric.is_cost and metric.name in names for metric in metrics):
            yield FieldError("/cost", "is required, also of a partial result: it counts towards the budget", "missing")
        return
    if names and not values:
        example = json.dumps({metric.name: 0.1 for metric in metrics}, ensure_ascii=False)
        sentence = f"is required: give the metrics of this study, such as {example}{LATER}"
        yield FieldError("/metrics", sentence, "missing")
        return
    for name in names:
        sentence = f"is required: a result needs every metric of its study{LATER}"
        yield FieldError(f"/metrics{json_pointer(name)}", sentence, "missing")


def _errors_of_unknown(metrics: tuple[Metric, ...], given: Mapping[str, Mapping[str, Any]]) -> Iterator[FieldError]:
    known = [metric.name for metric in metrics]
    for field, values in given.items():
        if not known:
            yield FieldError(f"/{field}", NONE, "unknown_metric")
            continue
        for name in values:
            if name not in known:
                sentence = unknown(name, known, "metric")
                yield FieldError(f"/{field}{json_pointer(name)}", sentence, "unknown_metric")


def _errors_of_cost(metrics: tuple[Metric, ...], values: Mapping[str, float]) -> Iterator[FieldError]:
    for metric in metrics:
        if metric.is_cost and not 0.0 < values.get(metric.name, 1.0) <= MAX_COST:
            sentence = f"must be positive, and at most {MAX_COST:g}"
            yield FieldError(f"/metrics{json_pointer(metric.name)}", sentence, "cost")


def _raise_if_any(errors: list[FieldError]) -> None:
    if errors:
        raise Invalid(errors)

"""Metrics as results bring them: checked against those of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adabkb_service.contract.requests import PointValueBody, TrialValueBody
from adabkb_service.contract.wording import unknown
from adabkb_service.engine.metrics import Metric
from adabkb_service.errors import FieldError, Invalid, json_pointer
from adabkb_service.storage.rows import ObservationRow

OF_METRICS = ("metrics", "std_errors")
"""Fields of a result that only studies with metrics have."""
NONE = "is of no use: the study has no metrics, which are declared when a study is created; leave it out"


def checked_metrics(
    metrics: tuple[Metric, ...], result: TrialValueBody | PointValueBody
) -> dict[str, dict[str, float]]:
    """The metrics of a result and their standard errors, in the order of the study; nothing in a study without metrics.

    Raises:
        Invalid: one error for each metric of the study that is missing, and for each other one.
    """
    values, errors = result.metrics or {}, result.std_errors or {}
    if not (metrics or values or errors):
        return {}
    _raise_if_any([*_missing(metrics, values), *_unknown(metrics, {"metrics": values, "std_errors": errors})])
    names = [metric.name for metric in metrics]
    given = {name: errors[name] for name in names if name in errors}
    return {"metrics": {name: values[name] for name in names}, "std_errors": given} if names else {}


def corrected_metrics(metrics: tuple[Metric, ...], was: ObservationRow, changes: Mapping[str, Any]) -> dict[str, Any]:
    """All metrics of a corrected result, and their standard errors, if any of them is among the changes.

    Raises:
        Invalid: one error for each that is unknown.
    """
    given = {field: changes[field] for field in OF_METRICS if field in changes}
    _raise_if_any(list(_unknown(metrics, given)))
    found = {field: {**(getattr(was, field) or {}), **values} for field, values in given.items() if metrics}
    return {
        field: {name: value for name, value in values.items() if value is not None} for field, values in found.items()
    }


def _missing(metrics: tuple[Metric, ...], values: Mapping[str, float]) -> Iterator[FieldError]:
    names = [metric.name for metric in metrics if metric.name not in values]
    if names and not values:
        remedy = f"is required: a result of this study measures {', '.join(metric.name for metric in metrics)}"
        yield FieldError("/metrics", f"{remedy}, by name", "missing")
        return
    for name in names:
        sentence = "is required: a result measures every metric of its study"
        yield FieldError(f"/metrics{json_pointer(name)}", sentence, "missing")


def _unknown(metrics: tuple[Metric, ...], given: Mapping[str, Mapping[str, Any]]) -> Iterator[FieldError]:
    known = [metric.name for metric in metrics]
    for field, values in given.items():
        if values and not known:
            yield FieldError(f"/{field}", NONE, "unknown_metric")
            continue
        for name in values:
            if name not in known:
                sentence = unknown(name, known, "metric")
                yield FieldError(f"/{field}{json_pointer(name)}", sentence, "unknown_metric")


def _raise_if_any(faults: list[FieldError]) -> None:
    if faults:
        raise Invalid(faults)

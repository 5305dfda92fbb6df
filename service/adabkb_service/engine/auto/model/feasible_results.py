"""Which results satisfy the bounds of metrics, and by how much the others violate them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def violations(metrics: Sequence[Metric], record: Record) -> Array:
    """Return for each result, (T,), the sum of ``Metric.relative_violation`` over the metrics. A result with a bounded
    metric that is not known yet gets a larger violation than all results whose bounded metrics are known."""
    total, is_open = np.zeros(record.size), np.zeros(record.size, dtype=np.bool_)
    for metric, measured in zip(metrics, record.metrics, strict=True):
        if metric.is_bounded:
            is_open |= np.isnan(measured.values)
        total += [metric.relative_violation(metric.sign * value) for value in measured.values.tolist()]
    if is_open.any():
        total[is_open] = total[~is_open].max(initial=0.0) + 1.0
    return total


def ranked(metrics: Sequence[Metric], record: Record) -> Record:
    """Return the record with values by which feasible and infeasible results can be compared. An infeasible result gets
    the value of the worst feasible one. If no result is feasible, the value of each is minus its violation."""
    if not _are_bounded(metrics):
        return record
    beyond = violations(metrics, record)
    kept = beyond == 0.0
    worst = record.values[kept].min() if kept.any() else 0.0
    return replace(record, values=np.where(kept, record.values, worst) if kept.any() else -beyond)


def best_feasible_rows(metrics: Sequence[Metric], record: Record, count: int) -> Ints:
    """Return the rows, in increasing order, of the ``count`` best feasible results or, if there are none, of the result
    with the smallest violation."""
    rows = np.arange(record.size)
    if _are_bounded(metrics) and record.size:
        beyond = violations(metrics, record)
        rows = np.flatnonzero(beyond == 0.0)
        if not len(rows):
            return np.array([np.argmin(beyond)])
    if len(rows) <= count:
        return rows
    return np.sort(rows[np.argpartition(-record.values[rows], count)[:count]])


def _are_bounded(metrics: Sequence[Metric]) -> bool:
    return any(metric.is_bounded for metric in metrics)

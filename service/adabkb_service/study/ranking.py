"""Which of two results is the better one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adabkb_service.contract.metrics import Metrics, metrics_of, total_violation, violations
from adabkb_service.storage.rows import ObservationRow, StudyRow


def best_of(study: StudyRow, rows: Iterable[ObservationRow]) -> ObservationRow | None:
    """The best of some observations that counts, the earliest of equals."""
    counting = [row for row in rows if not row.excluded]
    return max(counting, key=lambda row: (rank(study, row.value, row.metrics), -row.seq), default=None)


def as_best(study: StudyRow, row: ObservationRow | None) -> dict[str, Any] | None:
    """An observation as ``studies.best`` keeps it."""
    if row is None:
        return None
    best = {"parameters": row.parameters, "value": row.value, "trial": row.trial}
    if row.metrics is None:
        return best
    beyond = violations(metrics_of(study.definition), row.metrics)
    return {**best, "metrics": row.metrics, "feasible": not beyond, "violations": beyond}


def rank(study: StudyRow, value: float, metrics: Metrics | None) -> tuple[float, float]:
    """What is larger for the better of two results: one that keeps the outcome constraints is better than one that
    does not, of two that do the one of better value, of two that do not the one that violates them less (Deb 2000)."""
    violation = 0.0 if metrics is None else total_violation(metrics_of(study.definition), metrics)
    return -violation, merit(study, value)


def merit(study: StudyRow, value: float) -> float:
    """The value, with its sign changed if the study minimises."""
    return value if study.definition["direction"] == "maximize" else -value

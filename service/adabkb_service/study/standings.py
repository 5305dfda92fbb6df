"""The best result of a study, and how long ago it came: after one more observation, or counted anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study.ranking import as_best, counting, has_several_objectives, rank

if TYPE_CHECKING:
    from adabkb_service.study.log import Rows


def after_one(study: StudyRow, row: ObservationRow) -> dict[str, Any]:
    """The columns of a study that a new observation changes: none, if it does not count, or there are several
    objectives."""
    if has_several_objectives(study) or not counting(study)(row):
        return {}
    changed: dict[str, Any] = {"results_since_best": study.results_since_best + 1}
    best = study.best
    if best is None or rank(study, row.value, row.metrics) > rank(study, best["value"], best.get("metrics")):
        changed |= {"best": as_best(study, row), "results_since_best": 0}
    return changed


def counted_anew(rows: Rows) -> dict[str, Any]:
    """The same columns, by all observations."""
    if has_several_objectives(rows.study):
        return {}
    best = rows.best_observation()
    since = 0 if best is None else rows.counting_after(best.seq)
    return {"best": as_best(rows.study, best), "results_since_best": since}

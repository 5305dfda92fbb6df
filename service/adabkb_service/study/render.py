"""Convert rows of the database to views: the Pydantic models of the API's responses."""

from __future__ import annotations

from typing import Literal

from adabkb_service.contract import quantities
from adabkb_service.contract.answers import (
    Best,
    CellRef,
    Counts,
    ModelSummary,
    NoGap,
    Observation,
    Prediction,
    Study,
    StudySummary,
    Trial,
)
from adabkb_service.contract.context import context_of, measured_of
from adabkb_service.contract.curves import CurvePoint
from adabkb_service.contract.exported import ReportLine
from adabkb_service.contract.history import Event
from adabkb_service.contract.metrics import missing
from adabkb_service.contract.model import Change, ModelRecommendation
from adabkb_service.contract.quantities import OBJECTIVE, beyond, within_reach
from adabkb_service.contract.settings import IN_COLUMNS, SETTINGS
from adabkb_service.contract.stored import StoredDefinition, definition_of, is_edited
from adabkb_service.contract.tables import in_brief
from adabkb_service.engine.space import Space
from adabkb_service.inference.proposals import Expected, Recommended
from adabkb_service.storage.rows import EventRow, ObservationRow, ReportRow, StudyRow, TrialRow, as_values, event_row


def trial(row: TrialRow, definition: StoredDefinition) -> Trial:
    """Return the view of a trial of a study."""
    measured = measured_of(definition.parameters)
    to_measure = {name: value for name, value in row.parameters.items() if name in measured}
    stored = as_values(row)
    changes = {
        "parameters": {name: value for name, value in row.parameters.items() if name not in to_measure},
        "to_measure": {} if row.state in ("completed", "stopped") else to_measure,
        "leased_until": row.leased_until if row.state == "active" else None,
        "cell": None if row.cell is None else CellRef(key=row.cell, depth=row.cell.count(".")),
    }
    return Trial(**{name: stored[name] for name in Trial.model_fields if name in stored} | changes)


def observation(row: ObservationRow, definition: StoredDefinition, space: Space) -> Observation:
    """Return the view of an observation in a study with this definition and its space."""
    found = Observation.model_validate(row, from_attributes=True)
    lacking = missing(definition.metrics_with_bounds, row.value, row.metrics)
    unlikely = beyond(definition.quantities, {OBJECTIVE: row.value, **(row.metrics or {})})
    changes = {
        **({"missing": lacking} if lacking else {}),
        **({"beyond_natural_bounds": unlikely} if unlikely else {}),
        **_if_outside(row, space),
    }
    return found.model_copy(update=changes) if changes else found


def _if_outside(row: ObservationRow, space: Space) -> dict[str, bool]:
    return {"outside": True} if space.present(row.parameters) is None else {}


def report_line(row: ReportRow) -> ReportLine:
    """Return the line of an export that holds a report."""
    return ReportLine.model_validate(row, from_attributes=True)


def curve_point(row: ReportRow) -> CurvePoint:
    """Return the view of a report."""
    return CurvePoint.model_validate(row, from_attributes=True)


def prediction(expected: Expected) -> Prediction:
    """Return the view of a model's prediction."""
    return Prediction.model_validate(expected.as_json())


def recommended(found: Recommended) -> ModelRecommendation:
    """Return the view of the point that a model recommends."""
    expected = {} if found.expected is None else found.expected.as_json()
    return ModelRecommendation(
        parameters=found.parameters,
        mean=found.mean,
        std=found.std,
        lcb=expected.get("lcb"),
        ucb=expected.get("ucb"),
        metrics=expected.get("metrics"),
        feasible_probability=expected.get("feasible_probability"),
        changes=None if found.changes is None else [Change(**vars(each)) for each in found.changes],
    )


def best(study: StudyRow) -> Best | None:
    """Return the view of a study's best result."""
    return None if study.best is None else Best(**study.best)


def gap(study: StudyRow, found: float | None) -> float | None:
    """Return the gap of a study, given the one that its model has found. If the best result is feasible, the natural
    bounds of the objective limit the gap."""
    if study.best is None or study.best.get("feasible") is False:
        return found
    bounds = study.definition.get("quantities", {}).get(OBJECTIVE, {})
    return within_reach(found, study.best["value"], study.definition.get("direction"), bounds)


def is_beyond_reach(study: StudyRow) -> bool:
    """Return whether the best result is better than the natural bound of the objective allows."""
    bounds = study.definition.get("quantities", {}).get(OBJECTIVE, {})
    best = None if study.best is None else study.best["value"]
    return quantities.is_beyond_reach(best, study.definition.get("direction"), bounds)


def counts(study: StudyRow) -> Counts:
    """Return the view of a study's counts."""
    return Counts.model_validate(study, from_attributes=True)


def event(row: EventRow) -> Event:
    """Return the view of an event."""
    return Event.model_validate(row, from_attributes=True)


def event_in_brief(row: EventRow) -> Event:
    """Return the view of a shortened event."""
    return event(shortened(row))


def shortened(row: EventRow) -> EventRow:
    """Return an event with only the first rows of each catalogue. Exports contain all rows."""
    if row.kind not in ("created", "edited"):
        return row
    return event_row(row.study_id, row.seq, row.kind, row.trial, in_brief(row.payload), row.created_at)


def model_summary(row: StudyRow) -> ModelSummary:
    """Return the view of a study's model."""
    stats = row.model or {"leaves": 1, "depth": 0, "dictionary": 0, "effective_dimension": 0.0}
    status: Literal["empty", "ok", "degraded"] = "empty" if row.model is None else "ok"
    return ModelSummary(
        status="degraded" if row.model_error else status,
        error=row.model_error,
        reason=_no_gap(row),
        rests_on=None if row.model is None else row.model["rests_on"],
        leaves=stats["leaves"],
        depth=stats["depth"],
        dictionary=stats["dictionary"],
        effective_dimension=stats["effective_dimension"],
    )


def _no_gap(row: StudyRow) -> NoGap | None:
    if row.model is not None and row.model["gap"] is not None:
        return None
    definition = definition_of(row.definition)
    if definition.objectives or context_of(definition.parameters):
        return "several_objectives" if definition.objectives else "depends_on_context"
    if not row.observations:
        return "no_results"
    if row.model_error:
        return "model_failed"
    observed = best(row)
    if observed is not None and observed.feasible is False:
        return "nothing_feasible"
    return "model_pending" if row.model is None else "not_known_yet"


def study(row: StudyRow, definition: StoredDefinition, summary: StudySummary) -> Study:
    """Return the full view of a study, from its row and its summary."""
    settings = {name: getattr(row if name in IN_COLUMNS else definition, name) for name in SETTINGS}
    if definition.cost_budget is not None:
        settings["budget"] = definition.budget
    settings["metrics"] = [metric.name for metric in definition.metrics_with_bounds if not metric.goal]
    return Study(
        **dict(summary),
        **settings | {"seed": row.seed},
        direction=definition.direction,
        parameters=definition.parameters,
        space_version=definition.space_version if is_edited(row.definition) else None,
        defaults=definition.defaults,
        cost_spent=None if definition.cost is None else row.cost_spent,
        model=model_summary(row),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )

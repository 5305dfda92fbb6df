"""Snapshots of older studies, taken when a study with ``transfer_from`` is created. A snapshot holds a limited number
of points, in coordinates of the new space, with standardized results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from adabkb_service.access.caller import Caller
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.contract.transfer import MAX_NUMBERS, MAX_POINTS, Snapshot
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.axes import Axis
from adabkb_service.engine.older import chosen, holds
from adabkb_service.engine.space import Space
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.storage import grants, observations, studies
from adabkb_service.storage.rows import ObservationRow, StudyRow

Array = NDArray[np.float64]

MIN_RESULTS = 4
"""The minimum number of results that an older study must have within the new space."""
EXAMINED = 500
"""The points of a snapshot are chosen from this number of best results of the older study, and about as many that are
evenly spread over the study. For a metric, they are chosen from about twice this number of evenly spread results."""
DIGITS = 6
"""The number of decimals of the stored coordinates and outputs."""

UNKNOWN = "is not a study that you may read; give one that GET /v1/studies lists, or leave it out"
SEVERAL = "has several objectives, but this study has only one; leave it out"
NO_OBJECTIVE = "measures none of the objectives of this study ({names}); leave it out, or use the same names"
NOTHING_SHARED = (
    "has no parameter in common with this study (with the same name and kind, and not fixed); leave it out, or use "
    "the same names"
)
TOO_FEW = (
    "has too few results within the space of this study ({count}, and {fewest} are needed); leave it out, or widen the "
    "space"
)


def snapshots(connection: Connection, definition: StudyDefinition, caller: Caller) -> list[Snapshot]:
    """Take snapshots of the older studies that a definition names, in their current state.

    Raises:
        Invalid: the caller may not read one of these studies, or it cannot be used; one error per study.
    """
    outcomes = [_snapshots(connection, study_id, definition, caller) for study_id in definition.transfer_from]
    field_errors = [
        FieldError(f"/transfer_from/{index}", each, "transfer")
        for index, each in enumerate(outcomes)
        if isinstance(each, str)
    ]
    if field_errors:
        raise Invalid(field_errors)
    return [snapshot for each in outcomes if not isinstance(each, str) for snapshot in each]


def _snapshots(connection: Connection, study_id: str, new: StudyDefinition, caller: Caller) -> list[Snapshot] | str:
    """Return the snapshots of a study, one for each objective that it measures, or the reason why it cannot be used."""
    study = studies.find(connection, study_id)
    if study is None or not _may_read(connection, study_id, caller):
        return UNKNOWN
    older = definition_of(study.definition)
    if older.objectives and not new.objectives:
        return SEVERAL
    measured = {metric.name for metric in older.metrics_with_bounds}
    goals = {each.name: each.goal for each in new.metrics_with_bounds if each.goal and each.name in measured}
    if new.objectives and not goals:
        return NO_OBJECTIVE.format(names=", ".join(each.metric for each in new.objectives))
    kinds = {each.name: each.kind for each in older.parameters}
    shared = [each.name for each in new.parameters if each.kind == kinds.get(each.name) and each.kind != "fixed"]
    if not shared:
        return NOTHING_SHARED
    found, most = [], min(MAX_POINTS, MAX_NUMBERS // (len(shared) * max(len(goals), 1)))
    signs: list[tuple[str | None, float]] = [*goals.items()] or [(None, older.sign)]
    for metric, sign in signs:
        points, values = _results(connection, study, older, new, shared, metric)
        if len(points) < MIN_RESULTS:
            return TOO_FEW.format(count=len(points), fewest=MIN_RESULTS)
        results = sign * np.array(values)
        rows = chosen(results, most)
        outputs = warp.fit(results[rows]).forward(results[rows]).round(DIGITS).tolist()
        of_rows = [points[row] for row in rows]
        found.append(Snapshot(study=study_id, parameters=shared, points=of_rows, outputs=outputs, metric=metric))
    return found


def _may_read(connection: Connection, study_id: str, caller: Caller) -> bool:
    if caller.is_admin:
        return True
    return caller.reaches(study_id) and bool(grants.of_user(connection, study_id, caller.user or ""))


def _results(
    connection: Connection,
    study: StudyRow,
    older: StoredDefinition,
    new: StudyDefinition,
    shared: list[str],
    metric: str | None,
) -> tuple[list[list[float]], list[float]]:
    """Return the positions along the shared axes of the results that lie in both current spaces, and their values; with
    ``metric``, the values of this metric."""
    space, older_space = new.space(), older.space()
    rests = zip(space.axes, space.activity.rest.tolist(), strict=True)
    axes = [(axis, rest) for axis, rest in rests if axis.name in shared]
    points, values = [], []
    if metric is None:
        rows = observations.best_and_others(connection, study.id, maximize=older.sign > 0, count=EXAMINED)
    else:
        rows = observations.spread(connection, study.id, 2 * EXAMINED)
    for row in rows:
        position = _position(row, older_space, axes)
        value = row.value if metric is None else (row.metrics or {}).get(metric)
        if position is not None and value is not None:
            points.append(position)
            values.append(value)
    return points, values


def _position(row: ObservationRow, older_space: Space, axes: list[tuple[Axis, float]]) -> list[float] | None:
    """Return the position of a result along some axes. ``axes`` are pairs of an axis and the position to use if the
    axis is inactive. Return None if the result is outside the older study's space or the range of an axis."""
    point = older_space.present(row.parameters)
    if point is None:
        return None
    if not all(holds(axis, point[axis.name]) for axis, _ in axes if axis.name in point):
        return None
    exact = [axis.encode(point[axis.name]) if axis.name in point else rest for axis, rest in axes]
    return [round(min(max(each, 0.0), 1.0), DIGITS) for each in exact]

"""Reports of a model, in the user's units: statistics, predictions, the recommended point and the boxes of cells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.cells import box_of
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.engine.paper import index
from adabkb_service.engine.paper.leaves import TIE
from adabkb_service.engine.paper.state import State

Array = NDArray[np.float64]

CHUNK = 2048
"""The number of points whose features are computed at a time."""


def report(state: State) -> Report:
    """Statistics of the current model."""
    tree, summary, points = state.tree, state.summary, state.points
    known = summary.incumbent is not None
    covers = known and not tree.listed  # bounds at fixed points do not bound the objective between them
    return Report(
        gap=index.gap(tree, summary.ucb, summary.best_lcb) * summary.scale if covers else None,
        best_lcb=summary.offset + summary.scale * summary.best_lcb if known else None,
        beta=summary.beta,
        leaves=tree.count,
        depth=int(tree.depth[tree.leaves].max(initial=0)),
        dictionary=len(state.gp.sketch.dictionary),
        basis=len(state.gp.sketch.basis),
        effective_dimension=summary.effective_dimension,
        points=len(points.evaluated),
        observations=len(points.values),
        offset=summary.offset,
        scale=summary.scale,
        clipped=state.clipped,
    )


def learned(state: State) -> Mapping[str, object] | None:
    """With batches, ``drawn_at``: the number of results when the dictionary was drawn. None without batches."""
    return None if state.batch is None else {"drawn_at": state.batch.start}


def predict(state: State, points: Array) -> Prediction:
    """The posterior at cube positions (k, d), given only the observations: pending points are ignored."""
    parts = [_predicted(state, points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    mean, std, lcb, ucb = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Prediction(mean, std, lcb, ucb)


def _predicted(state: State, points: Array) -> tuple[Array, Array, Array, Array]:
    summary = state.summary
    features = state.gp.sketch.embed(state.problem.scaled(points))
    variance = state.gp.posterior.variance_at(features)
    mean = summary.offset + summary.scale * (features @ summary.weights)
    width = summary.scale * summary.beta * np.sqrt(variance)
    std = summary.scale * np.sqrt(state.problem.config.ridge * variance)
    return mean, std, mean - width, mean + width


def recommend(state: State, feasible: float = FEASIBLE) -> Recommendation | None:  # noqa: ARG001
    """The evaluated point with the best posterior mean, the first observed one in a tie; None before the first
    result."""
    ids, summary = state.points.evaluated, state.summary
    if not len(ids):
        return None
    mean = summary.mean[ids]
    best = int(ids[np.argmax(mean >= mean.max() - TIE * abs(mean.max()))])
    std = np.sqrt(state.problem.config.ridge) * summary.deviation[best]
    return Recommendation(
        point=state.points.positions.array[best],
        mean=float(summary.offset + summary.scale * summary.mean[best]),
        std=float(summary.scale * std),
    )


def cell_box(state: State, key: str) -> CellBox:
    """The corners and the centroid of the cell with this key."""
    problem = state.problem
    low, high = box_of(key, problem.config.branching, problem.side_scale)
    return CellBox(low, high, problem.space.snap((low + high)[None] / 2)[0])

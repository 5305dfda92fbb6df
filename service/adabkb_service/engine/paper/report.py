"""What the model of the ``paper`` profile says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.cells import box_of
from adabkb_service.engine.paper import index
from adabkb_service.engine.paper.leaves import TIE
from adabkb_service.engine.paper.state import State

Array = NDArray[np.float64]


def report(state: State) -> Report:
    """The numbers of the current model."""
    tree, belief, points = state.tree, state.belief, state.points
    known = belief.incumbent is not None
    covers = known and not tree.listed  # bounds of fixed points say nothing of what lies between them
    return Report(
        gap=index.gap(tree, belief.ucb, belief.best_lcb) * belief.scale if covers else None,
        best_lcb=belief.offset + belief.scale * belief.best_lcb if known else None,
        beta=belief.beta,
        leaves=tree.count,
        depth=int(tree.depth[tree.leaves].max(initial=0)),
        dictionary=len(state.view.sketch.dictionary),
        basis=len(state.view.sketch.basis),
        effective_dimension=belief.effective_dimension,
        points=len(points.evaluated),
        observations=len(points.values),
        offset=belief.offset,
        scale=belief.scale,
        clipped=state.clipped,
        learned=None if state.batch is None else {"drawn_at": state.batch.start},
    )


def predict(state: State, points: Array) -> Prediction:
    """The posterior at cube positions (k, d); by the observations alone, pending points play no part."""
    belief = state.belief
    features = state.view.sketch.embed(state.problem.scaled(points))
    variance = state.view.posterior.variance_at(features)
    mean = belief.offset + belief.scale * (features @ belief.weights)
    width = belief.scale * belief.beta * np.sqrt(variance)
    std = belief.scale * np.sqrt(state.problem.config.ridge * variance)
    return Prediction(mean, std, mean - width, mean + width)


def recommend(state: State) -> Recommendation | None:
    """The evaluated point of best posterior mean, ties to the first observed; None before the first result."""
    ids, belief = state.points.evaluated, state.belief
    if not len(ids):
        return None
    mean = belief.mean[ids]
    best = int(ids[np.argmax(mean >= mean.max() - TIE * abs(mean.max()))])
    std = np.sqrt(state.problem.config.ridge) * belief.deviation[best]
    return Recommendation(
        point=state.points.positions.array[best],
        mean=float(belief.offset + belief.scale * belief.mean[best]),
        std=float(belief.scale * std),
    )


def cell_box(state: State, key: str) -> CellBox:
    """A cell's corners and centroid."""
    problem = state.problem
    low, high = box_of(key, problem.config.branching, problem.side_scale)
    return CellBox(low, high, problem.space.snap((low + high)[None] / 2)[0])

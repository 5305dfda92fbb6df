"""What a study's model says, in the user's output units (and the engine's sign: larger is better)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import index
from adabkb_service.engine.cells import box_of
from adabkb_service.engine.leaves import TIE
from adabkb_service.engine.state import State

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Report:
    """The model in numbers."""

    gap: float | None
    """The certificate: with probability 1 - delta no point of the box is better than the incumbent by more.
    None before the first result."""
    best_lcb: float | None
    """l* = max over evaluated points of mean - beta s."""
    beta: float
    """Confidence width, in model output units per ridge-scaled standard deviation."""
    leaves: int
    depth: int
    """Of the deepest leaf; 0 when none is left."""
    dictionary: int
    basis: int
    """Members of the dictionary with independent features."""
    effective_dimension: float
    points: int
    """Distinct evaluated points."""
    observations: int
    offset: float
    scale: float
    """user's output = offset + scale * model output."""
    clipped: int
    """How often rounding forced a factorisation from scratch."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The posterior at k points; arrays of shape (k,)."""

    mean: Array
    std: Array
    """Posterior standard deviation of the objective (not of a noisy result)."""
    lcb: Array
    ucb: Array
    """mean -+ beta s, the bounds the algorithm works with."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The evaluated point of best posterior mean."""

    point: Array
    """(d,) cube position."""
    mean: float
    std: float


def report(state: State) -> Report:
    """The numbers of the current model."""
    tree, belief, points = state.tree, state.belief, state.points
    known = belief.incumbent is not None
    return Report(
        gap=index.gap(tree, belief.ucb, belief.best_lcb) * belief.scale if known else None,
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


def cell_box(state: State, key: str) -> tuple[Array, Array]:
    """Corners (low, high) of a cell in the unit cube, (d,) each."""
    problem = state.problem
    return box_of(key, problem.config.branching, problem.side_scale)

"""What the model of the ``auto`` profile says, in the user's output units whatever the warp does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import Prediction, Recommendation, Report
from adabkb_service.engine.auto.calibration import Calibration, calibrate
from adabkb_service.engine.auto.feasible_results import probability
from adabkb_service.engine.auto.gap import gap
from adabkb_service.engine.auto.objectives import middle
from adabkb_service.engine.auto.pruning import upper_bounds
from adabkb_service.engine.auto.state import CHUNK, State, incumbent, mean_and_std, within_reach
from adabkb_service.engine.auto.tree import LEAF, box_of
from adabkb_service.engine.auto.warp import HIGHEST
from adabkb_service.engine.metrics import FEASIBLE

Array = NDArray[np.float64]

INTERVAL = 1.6448536269514722
"""Standard deviations to either end of the 90% interval."""


def report(state: State) -> Report:
    """The numbers of the current model."""
    tree, warp, members = state.tree, state.warp, len(dictionary(state))
    leaves, found = tree.depth[tree.axis == LEAF], gap(state)
    return Report(
        gap=found,
        best_lcb=None,
        beta=state.checkpoint.beta,
        leaves=len(leaves),
        depth=int(leaves.max(initial=0)),
        dictionary=members,
        basis=members,
        effective_dimension=state.checkpoint.effective_dimension,
        points=state.record.points,
        observations=state.record.size,
        offset=-warp.middle,
        scale=warp.spread,
        clipped=0,
        gap_share=None if found is None else found / float(np.ptp(state.record.values)),
    )


def learned(state: State) -> Mapping[str, object]:
    """The checkpoint as JSON."""
    metrics = {"metrics": [learned(metric) for metric in state.metrics]} if state.metrics else {}
    return {**state.checkpoint.as_json(), "settled": state.settled, **metrics}


def dictionary(state: State) -> tuple[int, ...]:
    """The posterior's inducing points as ordinals of distinct evaluated points, ascending."""
    record, checkpoint = state.record, state.checkpoint
    if checkpoint.dictionary is None:
        return tuple(range(record.points))
    rows = np.concatenate([np.array(checkpoint.dictionary, dtype=np.int64), np.arange(checkpoint.count, record.size)])
    return tuple(np.unique(record.ordinals[rows]).tolist())


def predict(state: State, points: Array, calibration: Calibration | None = None) -> Prediction:
    """The posterior at cube positions (k, d), by the results alone.

    The mean is that of the warped outputs in the user's units (the median of the prediction); the bounds are the ends
    of its 90% interval, and the standard deviation half the width of the 68% one. Both are calibrated, as is right for
    this state unless something else is given: ``Calibration()`` leaves them what the search works with.
    """
    mean, deviation = mean_and_std(state.surrogate, points)
    deviation = (calibration or calibrate(state)).widened(deviation)
    widths = np.array([-INTERVAL, -1.0, 0.0, 1.0, INTERVAL])
    lcb, low, middle, high, ucb = _in_user_units(state, mean + widths[:, None] * deviation)
    found = Prediction(middle, high / 2.0 - low / 2.0, lcb, ucb)
    if not state.metrics:
        return found
    metrics = tuple(predict(metric, points) for metric in state.metrics)
    return replace(found, metrics=metrics, feasible=feasible_probability(state, points))


def feasible_probability(state: State, points: Array) -> Array:
    """(k,) that points keep all bounds of metrics, whose posteriors are independent."""
    found = np.ones(len(points))
    for measured, metric in zip(state.metrics, state.problem.config.metrics, strict=True):
        if metric.is_bounded:
            mean, deviation = mean_and_std(measured.surrogate, points)
            deviation = calibrate(measured).widened(deviation)
            found *= probability(mean, deviation, *measured.in_model_outputs(metric))
    return found


def mean(state: State, points: Array) -> Array:
    """The mean of ``predict`` alone."""
    parts = [state.surrogate.mean(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    return _in_user_units(state, np.concatenate(parts))


def of_metric(state: State, index: int) -> State:
    """The state that models a metric."""
    return state.metrics[index]


def cell_indices(state: State, keys: Sequence[str]) -> Array:
    """U of cells (``pruning``), (k,): what decides on pruning them. NaN before there are bounds."""
    if not state.checkpoint.beta:
        return np.full(len(keys), np.nan)
    return state.warp.inverse(upper_bounds(state, [box_of(state.problem.domain, key) for key in keys]))


def recommend(state: State, feasible: float = FEASIBLE) -> Recommendation | None:
    """The evaluated point of best posterior mean, ties to the first observed; None before the first result. Where
    metrics have bounds, only a point that keeps them with this probability comes into question, or else the likeliest
    one. Of several objectives, the middle of the front."""
    if state.problem.has_several:
        row = middle(state)
    else:
        row = _likely_incumbent(state, feasible) if state.metrics else incumbent(state)
    if row is None:
        return None
    point = state.record.positions[row]
    found = predict(state, point[None])
    return Recommendation(point, float(found.mean[0]), float(found.std[0]))


def _likely_incumbent(state: State, feasible: float) -> int | None:
    if not state.record.size:
        return None
    positions = state.record.positions
    probabilities = feasible_probability(state, positions)
    rows = np.flatnonzero(probabilities >= feasible)
    if not len(rows):
        return int(np.argmax(probabilities))
    means = np.concatenate([state.surrogate.mean(positions[rows[i : i + CHUNK]]) for i in range(0, len(rows), CHUNK)])
    return int(rows[np.argmax(means)])


def _in_user_units(state: State, outputs: Array) -> Array:
    """Model outputs -> values, within what the warp can give."""
    if not state.record.size:
        return outputs
    return np.clip(state.warp.inverse(np.clip(outputs, *within_reach(state))), -HIGHEST, HIGHEST)

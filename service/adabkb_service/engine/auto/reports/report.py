"""Reports of the model of the ``auto`` profile, in the user's output units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import Prediction, Recommendation, Report
from adabkb_service.engine.auto.acquisition import failing
from adabkb_service.engine.auto.acquisition.objectives import middle
from adabkb_service.engine.auto.domain.tree import LEAF, box_of
from adabkb_service.engine.auto.model.averaged import INTERVALS, prediction
from adabkb_service.engine.auto.model.feasible_results import best_feasible_rows
from adabkb_service.engine.auto.reports.averaging import averaged
from adabkb_service.engine.auto.reports.gap import gap
from adabkb_service.engine.auto.search.pruning import upper_bounds
from adabkb_service.engine.auto.state.state import CONTENDERS, State, mean_and_std
from adabkb_service.engine.metrics import FEASIBLE

Array = NDArray[np.float64]

UNKNOWN = 0.5
"""Probability that a point satisfies the bounds of a metric that has no results."""


def report(state: State) -> Report:
    """Return the statistics of the current model."""
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
        clipped=state.surrogate.clipped,
        gap_share=None if found is None else found / float(np.ptp(state.record.values)),
    )


def learned(state: State) -> Mapping[str, object]:
    """Return the checkpoint as JSON."""
    metrics = {"metrics": [learned(metric) for metric in state.metrics]} if state.metrics else {}
    return {**state.checkpoint.as_json(), "cells_learned_from": state.cells_learned_from, **metrics}


def dictionary(state: State) -> tuple[int, ...]:
    """Return the posterior's inducing points as ordinals of distinct evaluated points, in increasing order."""
    record, checkpoint = state.record, state.checkpoint
    if checkpoint.dictionary is None:
        return tuple(range(record.points))
    rows = np.concatenate([np.array(checkpoint.dictionary, dtype=np.int64), np.arange(checkpoint.count, record.size)])
    return tuple(np.unique(record.ordinals[rows]).tolist())


def predict(state: State, points: Array) -> Prediction:
    """Return the averaged posterior at cube positions (k, d), including metrics. Pending points have no effect."""
    found = predict_one(state, points)
    if not state.metrics:
        return found
    metrics = tuple(
        predict_one(each, points) if each.record.size or not state.record.size else Prediction.unknown(len(points))
        for each in state.metrics
    )
    return replace(found, metrics=metrics, feasible=feasible_probability(state, points))


def finish_probability(state: State, points: Array, failed: Array, finished: Array | None = None) -> Array | None:
    """Return the probability that a trial at cube positions (k, d) finishes instead of failing, (k,), given the
    positions of failed points, (f, d), and of finished ones, (n, d); by default, those of all results. None while too
    few have failed: see ``failing``."""
    given = state.record.positions if finished is None else finished
    return failing.finish_probability(state.problem, given, failed, points)


def predict_one(state: State, points: Array) -> Prediction:
    """Return ``predict`` without metrics, at cube positions (k, d).

    The mean is the median of the members' medians, the bounds are the ends of the 90% interval, and the standard
    deviation is half the width of the 68% interval. Without results it is the prior, in model output units.
    """
    if not state.record.size:
        mean, deviation = mean_and_std(state.surrogate, points)
        return Prediction.normal(mean, deviation)
    return prediction(averaged(state).mean_and_quantiles(points, INTERVALS))


def feasible_probability(state: State, points: Array) -> Array:
    """Return the probability that points satisfy all bounds of metrics, (k,). The metrics are treated as independent.
    For a metric without results, while the objective has some, the probability is ``UNKNOWN``."""
    found = np.ones(len(points))
    if not state.record.size:
        return found
    for measured, metric in state.bounded:
        known = measured.record.size > 0
        found *= averaged(measured).between(points, *metric.signed_bounds) if known else UNKNOWN
    return found


def mean(state: State, points: Array) -> Array:
    """Return only the mean of ``predict``, (k,)."""
    return averaged(state).mean(points) if state.record.size else mean_and_std(state.surrogate, points)[0]


def cell_indices(state: State, keys: Sequence[str]) -> Array:
    """Return the bound U of cells, (k,), by which they are pruned (see ``pruning``); NaN before bounds exist."""
    if not state.checkpoint.beta:
        return np.full(len(keys), np.nan)
    return state.warp.inverse(upper_bounds(state, [box_of(state.problem.domain, key) for key in keys]))


def recommend(state: State, feasible: float = FEASIBLE) -> Recommendation | None:
    """Return the evaluated point with the best mean of the averaged posterior (in a tie, the one that was observed
    first); in a study without metrics, only the ``CONTENDERS`` best results are considered. None before the first
    result. If metrics have bounds, only points that satisfy them with at least the probability ``feasible`` are
    considered or, if there are none, those with the largest probability. With several objectives, return
    ``objectives.middle``."""
    if not state.record.size:
        return None
    row = middle(state) if state.problem.has_several else _best(state, feasible)
    if row is None:
        return None
    point = state.record.positions[row]
    found = predict(state, point[None])
    return Recommendation(point, float(found.mean[0]), float(found.std[0]))


def _best(state: State, feasible: float) -> int:
    if state.metrics:
        probabilities = feasible_probability(state, state.record.positions)
        rows = np.flatnonzero(probabilities >= feasible)
        if not len(rows) and all(measured.record.size for measured in state.metrics):
            return int(np.argmax(probabilities))
        if not len(rows):
            rows = np.flatnonzero(probabilities == probabilities.max())
    else:
        rows = best_feasible_rows((), state.record, CONTENDERS)
    return int(rows[np.argmax(mean(state, state.record.positions[rows]))])

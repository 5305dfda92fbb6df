"""Answers of a study's model. Values are in the user's units, multiplied by the engine's sign, so that larger is
better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

INTERVAL = 1.6448536269514722
"""The distance from the mean of a normal distribution to the ends of its central 90% interval, in standard
deviations."""


@dataclass(frozen=True, slots=True)
class Report:
    """Statistics of the model."""

    gap: float | None
    """An upper bound on how much better any point of the space can be than the incumbent (``paper``) or the recommended
    point (``auto``). It holds with probability 1 - delta by the bounds of the theorem (``paper``), or with 90%
    probability according to the model (``auto``). None if it is unknown, or if the algorithm has no gap."""
    best_lcb: float | None
    """l*, the largest lower bound of an evaluated point; None if the gap does not depend on it."""
    beta: float
    """Width of the confidence bounds used for pruning, in model output units per standard deviation (``paper``: per
    standard deviation divided by the square root of the ridge)."""
    leaves: int
    depth: int
    """Depth of the deepest leaf; 0 without leaves."""
    dictionary: int
    basis: int
    """The number of members of the dictionary with linearly independent features."""
    effective_dimension: float
    points: int
    """The number of distinct evaluated points."""
    observations: int
    offset: float
    scale: float
    """user's output = offset + scale * model output. With ``auto``, this is the model output before the warp."""
    clipped: int
    """How often rounding errors required a new factorization, or one with more noise."""
    gap_share: float | None = None
    """The gap divided by the range of the results (only ``auto``)."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The posterior at k points; arrays of shape (k,)."""

    mean: Array
    std: Array
    """Posterior standard deviation of the objective (not of a noisy result)."""
    lcb: Array
    ucb: Array
    """``paper``: the confidence bounds of the algorithm, mean - beta s and mean + beta s. ``auto``: the ends of the
    central 90% interval."""
    metrics: tuple[Prediction, ...] = ()
    """A prediction for each metric of the study; NaN for a metric that has no result yet."""
    feasible: Array | None = None
    """(k,) probability that all metrics with bounds are within these; None without metrics."""

    @classmethod
    def unknown(cls, count: int) -> Prediction:
        """Return the prediction of a metric that has no result yet: NaN at ``count`` points."""
        nothing = np.full(count, np.nan)
        return cls(nothing, nothing, nothing, nothing)

    @classmethod
    def normal(cls, mean: Array, std: Array) -> Prediction:
        """Return the prediction for normal distributions with these means and standard deviations, (k,) each."""
        return cls(mean, std, mean - INTERVAL * std, mean + INTERVAL * std)


@dataclass(frozen=True, slots=True)
class Change:
    """A value of a recommended point that differs from the baseline."""

    axis: int
    gain: float
    """Decrease of the posterior mean if only this axis is set to the baseline."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The evaluated point with the best posterior mean. In a slice of the space, or near a baseline, the point need not
    have been evaluated."""

    point: Array
    """(d,) position in the unit cube."""
    mean: float
    std: float
    changes: tuple[Change, ...] | None = None
    """Differences from the baseline; None without a baseline."""


@dataclass(frozen=True, slots=True)
class Front:
    """The Pareto front of a study with K objectives and T results."""

    reference: Array
    """(K,) reference point of the hypervolume, in the units of the objectives, multiplied by their signs."""
    growth: Array
    """(T,) hypervolume of the results up to and including each result."""
    rows: Ints
    """Rows of the record: the results that no other result dominates."""
    points: Array
    """(m, d) evaluated points with posterior means that no other evaluated point dominates."""
    probabilities: Array
    """(m,) probability that each is on the front of all evaluated points, according to the posterior."""


@dataclass(frozen=True, slots=True)
class CellBox:
    """Two opposite corners of a cell and its centroid, (d,) each, in the unit cube."""

    low: Array
    high: Array
    centroid: Array


@dataclass(frozen=True, slots=True)
class Judged:
    """How probable each of n results is, given the others; arrays of shape (n,)."""

    rows: Ints
    """Rows of the record, ascending."""
    tails: Array
    """Predicted probability that a result is at least as far from the predicted mean as this one."""
    doubted: NDArray[np.bool_]
    """Whether a result has less weight because the others contradict it."""


@dataclass(frozen=True, slots=True)
class LeftOut(Judged):
    """Leave-one-out predictions of n results; arrays of shape (n,)."""

    predicted: Prediction
    """Predictions of results, including their noise: a result lies in its interval with 90% probability."""
    noise: Array | None
    """Standard deviation between repeated results at each point; None if the results are not known to be noisy."""

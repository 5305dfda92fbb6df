"""What a study's model says. Values are in the user's output units, with the engine's sign: larger is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Report:
    """The model in numbers."""

    gap: float | None
    """No point of the box is better than the incumbent by more than this: with probability 1 - delta, by the bounds of
    the theorem (``paper``), or with 90% probability, by the model (``auto``). None as long as it is not known, and for
    systems that have no such number."""
    best_lcb: float | None
    """l*, the largest lower bound of an evaluated point; None where the gap does not rest on it."""
    beta: float
    """Confidence width of the bounds that prune: in model output units per ridge-scaled standard deviation (``paper``),
    or per standard deviation (``auto``)."""
    leaves: int
    depth: int
    """Depth of the deepest leaf; 0 when no leaf is left."""
    dictionary: int
    basis: int
    """Number of members of the dictionary whose features are linearly independent."""
    effective_dimension: float
    points: int
    """Number of distinct evaluated points."""
    observations: int
    offset: float
    scale: float
    """user's output = offset + scale * model output (``auto``: of the model output before the warp)."""
    clipped: int
    """How often rounding forced a factorisation from scratch, or one with more noise."""
    gap_share: float | None = None
    """``auto``: the gap as a share of the range of the results."""


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
    """Of each metric of the study."""
    feasible: Array | None = None
    """(k,) probability that all bounds of metrics are kept; there if the study has metrics."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value of a recommended point that is not that of the baseline."""

    axis: int
    gain: float
    """What the posterior mean loses if the value alone is put back."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The evaluated point of best posterior mean; in a slice of the space, any point."""

    point: Array
    """(d,) position in the unit cube."""
    mean: float
    std: float
    changes: tuple[Change, ...] | None = None
    """From a baseline; None without one."""


@dataclass(frozen=True, slots=True)
class Front:
    """The Pareto front of a study with K objectives, whose results are rows of its record."""

    reference: Array
    """(K,) the point above which volume counts, in the units of the objectives and with their signs."""
    growth: Array
    """(T,) the hypervolume of all results up to each."""
    rows: Ints
    """Results that no other one dominates."""
    points: Array
    """(m, d) evaluated points of which none has better posterior means than another one."""
    probabilities: Array
    """(m,) that they are on the front of all evaluated points, by the posterior at each."""


@dataclass(frozen=True, slots=True)
class CellBox:
    """Two opposite corners of a cell and its centroid, (d,) each, in the unit cube."""

    low: Array
    high: Array
    centroid: Array


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the posterior would predict of results if they were not known; n of them, arrays of shape (n,)."""

    rows: Ints
    """Of the record, ascending."""
    predicted: Prediction
    """Of the result itself, with its noise: the interval holds it with 90% probability."""
    tails: Array
    """The probability of a result that is at least as far out."""
    noise: Array | None
    """Standard deviation between repeated results at each point; None where results are not known to be noisy."""
    doubted: NDArray[np.bool_]
    """Which results weigh less, since the others contradict them."""

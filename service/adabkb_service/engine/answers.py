"""What a study's model says, in the user's output units (and the engine's sign: larger is better)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Report:
    """The model in numbers."""

    gap: float | None
    """The certificate: with probability 1 - delta no point of the box is better than the incumbent by more.
    None before the first result."""
    best_lcb: float | None
    """l*, the largest lower bound of an evaluated point."""
    beta: float
    """Confidence width of the certificate: in model output units per ridge-scaled standard deviation (``paper``), or
    per standard deviation (``auto``)."""
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
    """user's output = offset + scale * model output; before the warp, where there is one."""
    clipped: int
    """How often rounding forced a factorisation from scratch."""
    learned: Mapping[str, Any] | None = None
    """What was learned (``auto``), or when the dictionary was drawn (batches), as JSON: all that ``restore`` needs
    beyond the record, the tree and the dictionary."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The posterior at k points; arrays of shape (k,)."""

    mean: Array
    std: Array
    """Posterior standard deviation of the objective (not of a noisy result)."""
    lcb: Array
    ucb: Array
    """The bounds the algorithm works with (``paper``: mean -+ beta s), or the ends of the 90% interval (``auto``)."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The evaluated point of best posterior mean."""

    point: Array
    """(d,) cube position."""
    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class CellBox:
    """A cell's extent: two opposite corners and its centroid, (d,) each."""

    low: Array
    high: Array
    centroid: Array

"""Coordinates of the choices of a category, computed from their descriptors.

The descriptors of a category are standardized over its choices and replaced by their principal components: any number
of descriptors, correlated or not, becomes at most ``MOST`` coordinates, those of the largest variance. All coordinates
are divided by the range of the first component, so components of small variance have a small range. The kernel has a
lengthscale for each (``kernel``). Constant descriptors are ignored.

Coordinates are rounded, so that they are the same with every linear algebra library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.catalogue import Table

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST = 4
"""The maximum number of components of a category."""
SMALLEST = 0.05
"""The minimum share of the descriptors' variance that a component must explain."""
MAX_ROW_COMPONENTS, MIN_ROW_SHARE = 32, 0.01
"""The same two limits for the columns of a catalogue."""
DECIMALS = 9
"""Decimals of coordinates."""
CONSTANT = 1e-12
"""The relative standard deviation below which a descriptor counts as constant."""


@dataclass(frozen=True)
class Components:
    """The p components of the categories of a space."""

    axes: Ints
    """(p,) the categorical axis of each component."""
    counts: Ints
    """(p,) the number of choices of that axis."""
    places: Array
    """(p, most) the coordinate of each choice; 0 beyond the number of choices."""
    of_rows: Bools
    """(p,) whether that axis is a catalogue."""

    def __len__(self) -> int:
        """Return p."""
        return len(self.axes)

    def of(self, positions: Array) -> Array:
        """Return the coordinates, (k, p), of cube positions (k, d)."""
        choices = (positions[:, self.axes] * self.counts).astype(np.int64)
        found: Array = self.places[np.arange(len(self)), np.clip(choices, 0, self.counts - 1)]
        return found

    def along(self, axes: Ints) -> Components:
        """Return the components of some axes, (s,), renumbered in the order of ``axes``."""
        kept = np.isin(self.axes, axes)
        numbers = np.array([int(np.flatnonzero(axes == axis)[0]) for axis in self.axes[kept]], dtype=np.int64)
        return Components(numbers, self.counts[kept], self.places[kept], self.of_rows[kept])


def components(placed: Sequence[tuple[int, Array]], catalogues: Collection[int] = ()) -> Components:
    """Return the components of categorical axes, given the coordinates of their choices, (choices, p) each."""
    found = [(axis, column) for axis, places in placed for column in places.T]
    most = max((len(column) for _, column in found), default=0)
    places = np.zeros((len(found), most))
    for row, (_, column) in zip(places, found, strict=True):
        row[: len(column)] = column
    axes = np.array([axis for axis, _ in found], dtype=np.int64)
    counts = np.array([len(column) for _, column in found], dtype=np.int64)
    return Components(axes, counts, places, np.isin(axes, list(catalogues)))


NONE = components(())


def principal(descriptors: Array, most: int = MOST, smallest: float = SMALLEST) -> Array:
    """Return the coordinates of choices, (choices, p), from their descriptors, (choices, descriptors): at most ``most``
    components, each with at least the share ``smallest`` of the variance."""
    standard = _standardized(descriptors)
    if not standard.shape[1]:
        return standard
    U, sizes, _ = np.linalg.svd(standard, full_matrices=False)
    kept = min(most, int((sizes**2 >= smallest * (sizes**2).sum()).sum()))
    places: Array = U[:, :kept] * sizes[:kept]
    return np.round(places / np.ptp(places[:, 0]), DECIMALS)


@lru_cache(16)
def places_of(table: Table) -> Array:
    """Return the coordinates of the rows of a catalogue, (rows, p).

    Up to ``MAX_ROW_COMPONENTS`` columns are used as coordinates directly, scaled to equal ranges. More columns are
    replaced by principal components, of which there may be more than for a category, because each column stands for a
    whole parameter. The ranges of the coordinates decrease with their number, since distances grow with the dimension
    (``likelihood``).
    """
    found = _standardized(table.numbers)
    if found.shape[1] > MAX_ROW_COMPONENTS:
        found = principal(table.numbers, MAX_ROW_COMPONENTS, MIN_ROW_SHARE)
    elif found.shape[1]:
        found = found / np.ptp(found, axis=0)
    return np.round(found / max(1.0, math.sqrt(found.shape[1] / 3.0)), DECIMALS)


def _standardized(descriptors: Array) -> Array:
    """Return the columns of (choices, descriptors) that vary, with mean 0 and standard deviation 1."""
    scale = np.abs(descriptors).max(axis=0)
    scaled = descriptors / np.where(scale > 0.0, scale, 1.0)
    centered = scaled - scaled.mean(axis=0)
    deviation = centered.std(axis=0)
    varying = deviation > CONSTANT
    found: Array = centered[:, varying] / deviation[varying]
    return found

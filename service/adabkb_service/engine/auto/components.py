"""Coordinates of the choices of a category, from their descriptors.

The descriptors of a category are standardised over its choices. Their principal components replace them: any number of
descriptors, correlated or not, becomes at most ``MOST`` coordinates, those of the largest variance. All are divided by
the range of the first one, so a component of small variance also has a small range. The kernel has a lengthscale for
each (``kernel``). Descriptors that are the same for all choices are ignored.

Coordinates are rounded, so that they do not depend on the rounding of a machine's linear algebra.
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
"""The most components of a category."""
SMALLEST = 0.05
"""Smallest share of the descriptors' variance that a component must explain."""
MOST_OF_ROWS, SMALLEST_OF_ROWS = 32, 0.01
"""The same share for a catalogue."""
DECIMALS = 9
"""Decimals of coordinates."""
CONSTANT = 1e-12
"""Standard deviation of a descriptor, relative to its largest value, below which it counts as rounding."""


@dataclass(frozen=True)
class Components:
    """The components of the categories of a space, p of them."""

    axes: Ints
    """(p,) the categorical axis that each is of."""
    counts: Ints
    """(p,) its number of choices."""
    places: Array
    """(p, most) where each choice is; 0 beyond the number of choices."""
    of_rows: Bools
    """(p,) whether the axis is a catalogue."""

    def __len__(self) -> int:
        """p."""
        return len(self.axes)

    def of(self, positions: Array) -> Array:
        """Cube positions (k, d) along the components: (k, p)."""
        choices = (positions[:, self.axes] * self.counts).astype(np.int64)
        found: Array = self.places[np.arange(len(self)), np.clip(choices, 0, self.counts - 1)]
        return found

    def along(self, axes: Ints) -> Components:
        """Those of some axes, (s,), numbered by their order there."""
        kept = np.isin(self.axes, axes)
        numbers = np.array([int(np.flatnonzero(axes == axis)[0]) for axis in self.axes[kept]], dtype=np.int64)
        return Components(numbers, self.counts[kept], self.places[kept], self.of_rows[kept])


def components(placed: Sequence[tuple[int, Array]], catalogues: Collection[int] = ()) -> Components:
    """Of categorical axes with the places of their choices, (choices, p) each, some of which are catalogues."""
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
    """The coordinates of choices, (choices, p), by their descriptors, (choices, descriptors): so many components at
    most, each with such a share of the variance at least."""
    standard = _standardised(descriptors)
    if not standard.shape[1]:
        return standard
    U, sizes, _ = np.linalg.svd(standard, full_matrices=False)
    kept = min(most, int((sizes**2 >= smallest * (sizes**2).sum()).sum()))
    places: Array = U[:, :kept] * sizes[:kept]
    return np.round(places / np.ptp(places[:, 0]), DECIMALS)


@lru_cache(16)
def places_of(table: Table) -> Array:
    """The coordinates of the rows of a catalogue, (rows, p).

    Few columns are coordinates themselves, each as long as any other; of many the principal components are, of which
    more are kept than of a category: they stand for whole parameters. As coordinates of a cube of more dimensions, they
    are shorter the more there are (``likelihood``).
    """
    found = _standardised(table.numbers)
    if found.shape[1] > MOST_OF_ROWS:
        found = principal(table.numbers, MOST_OF_ROWS, SMALLEST_OF_ROWS)
    elif found.shape[1]:
        found = found / np.ptp(found, axis=0)
    return np.round(found / max(1.0, math.sqrt(found.shape[1] / 3.0)), DECIMALS)


def _standardised(descriptors: Array) -> Array:
    """Those columns of (choices, descriptors) that vary, with mean 0 and deviation 1."""
    scale = np.abs(descriptors).max(axis=0)
    scaled = descriptors / np.where(scale > 0.0, scale, 1.0)
    centred = scaled - scaled.mean(axis=0)
    deviation = centred.std(axis=0)
    varying = deviation > CONSTANT
    found: Array = centred[:, varying] / deviation[varying]
    return found

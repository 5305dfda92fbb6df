"""Where the choices of a category lie by their descriptors.

The descriptors of a category are standardised over its choices. Their principal components replace them: any number of
descriptors, correlated or not, becomes at most ``MOST`` coordinates, those of the largest variance. All are divided by
the range of the first one, so a component of small variance also has a small range. The kernel has a lengthscale for
each (``kernel``). Descriptors that are the same for all choices are ignored.

Coordinates are rounded, so that they do not depend on the rounding of a machine's linear algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 4
"""Components of a category."""
SMALLEST = 0.05
"""Share of the variance of the descriptors that a component has to have."""
DECIMALS = 9
"""Of places."""
CONSTANT = 1e-12
"""Deviation of a descriptor, as a share of its largest value, below which it is rounding."""


@dataclass(frozen=True)
class Components:
    """The components of the categories of a space, p of them."""

    axes: Ints
    """(p,) the categorical axis that each is of."""
    counts: Ints
    """(p,) its number of choices."""
    places: Array
    """(p, most) where each choice is; 0 beyond the number of choices."""

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
        return Components(numbers, self.counts[kept], self.places[kept])


def components(descriptors: Sequence[tuple[int, Array]]) -> Components:
    """Of categorical axes with their descriptors, (choices, descriptors) each."""
    found = [(axis, column) for axis, values in descriptors for column in _principal(values).T]
    most = max((len(column) for _, column in found), default=0)
    places = np.zeros((len(found), most))
    for row, (_, column) in zip(places, found, strict=True):
        row[: len(column)] = column
    axes = np.array([axis for axis, _ in found], dtype=np.int64)
    return Components(axes, np.array([len(column) for _, column in found], dtype=np.int64), places)


NONE = components(())


def _principal(descriptors: Array) -> Array:
    """The coordinates of choices, (choices, p), by their descriptors, (choices, descriptors)."""
    scale = np.abs(descriptors).max(axis=0)
    scaled = descriptors / np.where(scale > 0.0, scale, 1.0)
    centred = scaled - scaled.mean(axis=0)
    deviation = centred.std(axis=0)
    varying = deviation > CONSTANT
    if not varying.any():
        return np.zeros((len(descriptors), 0))
    standard = centred[:, varying] / deviation[varying]
    U, sizes, _ = np.linalg.svd(standard, full_matrices=False)
    kept = min(MOST, int((sizes**2 >= SMALLEST * (sizes**2).sum()).sum()))
    places: Array = U[:, :kept] * sizes[:kept]
    return np.round(places / np.ptp(places[:, 0]), DECIMALS)

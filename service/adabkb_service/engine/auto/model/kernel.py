"""The kernel of the ``auto`` profile on mixed spaces, and quantities for its gradients.

    k(x, x') = (1 + r) exp(-r) * exp(-q)                     Matern 3/2
    r^2 = 3 sum over ordered axes ((x_k - x'_k) / l_k)^2     with a lengthscale per axis
        + 3 sum over components ((z_j - z'_j) / m_j)^2       of the descriptors of choices (``components``)
    q   = sum over categorical axes [x_k != x'_k] / l_k      one factor exp(-1 / l_k) per axis that differs

A periodic axis is embedded as a circle: x_k - x'_k is replaced by the chord between two points, sin(pi (x_k - x'_k)).
So the kernel acts on a Euclidean space and is positive definite. Points half a period apart have the same distance as
the two ends of an axis that is not periodic.

If the results seem noisy (``likelihood``), and in mixtures (``Domain.is_smooth``), the kernel is Matern 5/2: (1 + r +
r^2 / 3) exp(-r) in place of (1 + r) exp(-r), and 5 in place of 3 in r^2. If the results support it, an additive part is
added (``additive``).

Results of the same plate, if a study has plates, share an offset: tau is added to their covariance. The offset is a
part of the results, not of the objective, so predictions do not include it (``surrogate``).

The constant mean of the model is part of the kernel: k + MEAN_VARIANCE is equivalent to a mean with a normal prior of
that variance, so the uncertainty about the mean widens the posterior.
"""

from __future__ import annotations

from ctypes import byref
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.components import NONE, Components
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.native import structures
from adabkb_service.engine.native.library import COUNT, POINTER, reals, routine

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

MEAN_VARIANCE = 10.0
RADIUS = 0.5
"""Radius of the circle that represents a periodic axis."""

_gram = routine("gram", POINTER, COUNT, POINTER, COUNT, POINTER, POINTER)


@dataclass(frozen=True)
class Kernel:
    """The kernel. Its first two fields are the lengthscales, and which axes are categorical; (d,) each."""

    lengthscales: Array
    categorical: Bools
    additive: Additive | None = None
    components: Components = NONE
    along_components: Array = field(default_factory=lambda: np.zeros(0))
    """(p,) lengthscales m of the components."""
    smooth: bool = False
    """Whether the kernel is Matern 5/2 instead of 3/2."""
    periodic: Bools | None = None
    """(d,) whether each axis is periodic; None if none is."""
    plates: float | None = None
    """tau, the variance of the offsets of plates; None in a study without plates."""

    @cached_property
    def units(self) -> Array:
        """The divisor of positions, (d,), 1 for categorical axes, whose positions are only labels."""
        return np.where(self.categorical, 1.0, self.lengthscales)

    def scaled(self, positions: Array) -> Array:
        """Return positions (k, d) in units of lengthscales, (k, d + p + q): with p columns for the components of
        descriptors, and one more column, the sine, for each of the q periodic axes."""
        scaled: Array = positions / self.units
        if len(self.components):
            scaled = np.concatenate([scaled, self.components.of(positions) / self.along_components], axis=1)
        if self.periodic is None or not self.periodic.any():
            return scaled
        angles = 2.0 * np.pi * positions[:, self.periodic]
        radii = RADIUS / self.lengthscales[self.periodic]
        scaled[:, np.flatnonzero(self.periodic)] = radii * np.cos(angles)
        return np.concatenate([scaled, radii * np.sin(angles)], axis=1)

    def gram(self, X: Array, Y: Array) -> Array:
        """Return k + MEAN_VARIANCE, (n, m), between scaled points (n, d + p + q) and (m, d + p + q)."""
        left, right, K = np.ascontiguousarray(X), np.ascontiguousarray(Y.T), np.empty((len(X), len(Y)))
        _gram(byref(self.native), len(X), reals(left), len(Y), reals(right), reals(K))
        return K

    def between_plates(self, some: Ints, others: Ints) -> Array:
        """Return tau where results are of the same plate, else 0, (n, m), given the plates of rows, (n,) and (m,), -1
        for a row without one."""
        found: Array = (self.plates or 0.0) * ((some[:, None] == others) & (some[:, None] >= 0))
        return found

    @cached_property
    def native(self) -> structures.Kernel:
        """The kernel as a structure for the C functions."""
        shares, reach = (self.additive.shares, self.additive.lengthscale) if self.additive else (None, 1.0)
        lengthscales = np.append(self.lengthscales, self.along_components)
        described = of_components(self.components)
        sines = sine_columns(self.periodic, len(self.lengthscales), len(self.components))
        numbers = lengthscales, self.categorical, sines, described, MEAN_VARIANCE, shares, reach
        return structures.Kernel(*numbers, smooth=self.smooth)


def of_components(components: Components) -> structures.Components:
    """Return the components as a structure for the C functions."""
    return structures.Components(components.axes, components.counts, components.places)


def sine_columns(periodic: Bools | None, dimension: int, components: int) -> Ints:
    """Return for each axis the column of scaled points that holds its sine, (d,); 0 for axes that are not periodic."""
    columns = np.zeros(dimension, dtype=np.int64)
    if periodic is not None:
        columns[periodic] = dimension + components + np.arange(np.count_nonzero(periodic))
    return columns


def add_to_diagonal(matrix: Array, values: Array | float) -> None:
    """Add values, (n,) or one for all rows, to the diagonal of a contiguous matrix, (n, n), in place."""
    matrix.reshape(-1)[:: len(matrix) + 1] += values

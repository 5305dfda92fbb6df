"""Model outputs: results, robustly standardized and then warped to be nearly normal (Yeo and Johnson 2000).

Results y have the engine's sign (larger is better), and so have model outputs z. Costs u = (median - y) / (IQR / 1.349)
are transformed by Yeo-Johnson with the lambda that maximizes its profile likelihood, and standardized again; z is the
negative of this. For lambda < 0 large costs are bounded, so a cost of 1e6 among values near 1 has little effect. The
transform is increasing, so the best result stays the best. Reports use ``of_worse``, which is linear for results better
than the median.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

POWERS = np.linspace(-4.0, 4.0, 33)
# The only power with an additive part: a warp would not preserve the sum.
LINEAR = np.array([1.0])
# Ranges below this share of the quartiles are rounding: such outputs count as constant.
CONSTANT = 1e-12
# Standardized costs beyond this grow like their logarithm, so that a single one cannot dominate the scale.
LARGEST = 1e9
# How far predictions may be beyond the worst or the best result, as a share of the distance to the end of the warp's
# range.
BEYOND = 0.9
HIGHEST = float(np.finfo(float).max)


@dataclass(frozen=True, slots=True)
class Warp:
    """An increasing map from results to model outputs."""

    middle: float = 0.0
    """The median of -y."""
    spread: float = 1.0
    """IQR / 1.349 or, if that is 0, the largest distance from the median; in the units of y."""
    power: float = 1.0
    """lambda."""
    offset: float = 0.0
    scale: float = 1.0
    """Mean and standard deviation of the transformed costs."""
    power_of_gains: float | None = None
    """The power for results better than the median; None for Yeo and Johnson's 2 - lambda."""

    def forward(self, values: Array) -> Array:
        """Return the model outputs of results, of any shape."""
        z: Array = -(_transform(self._costs(values), self.power, self._gains) - self.offset) / self.scale
        return z

    def robust(self, values: Array) -> Array:
        """Return results in robust standard deviations from the median of the results to which the warp was fitted."""
        return -self._costs(values)

    def slope(self, values: Array) -> Array:
        """Return dz / dy at results y, of any shape."""
        slope: Array = np.exp(self._log_stretch(values)) / (self.spread * self.scale)
        return slope

    def log_slope(self, values: Array) -> Array:
        """Return log dz / dy at results y, of any shape, also where dz / dy exceeds floating point."""
        log_slope: Array = self._log_stretch(values) - math.log(self.spread) - math.log(self.scale)
        return log_slope

    def inverse(self, outputs: Array) -> Array:
        """Return the results that have these model outputs, of any shape; -inf or inf beyond the range of the
        transform."""
        u = _inverse(self.offset - self.scale * np.asarray(outputs, dtype=float), self.power, self._gains)
        size = np.abs(u)
        is_beyond = size > LARGEST
        with np.errstate(over="ignore"):
            if is_beyond.any():
                beyond = np.sign(u) * LARGEST * np.exp(np.maximum(size - LARGEST, 0.0))
                u = np.where(is_beyond, beyond, u)
            y: Array = -(self.middle + self.spread * u)
        return y

    def range(self) -> tuple[float, float]:
        """Return the range of model outputs: -inf and inf, or the limits for infinite costs or gains."""
        largest = -1.0 / self.power if self.power < 0.0 else np.inf
        smallest = 1.0 / self._gains if self._gains < 0.0 else -np.inf
        return (self.offset - largest) / self.scale, (self.offset - smallest) / self.scale

    def reach(self, worst: float, best: float) -> tuple[float, float]:
        """Return the smallest and the largest model output that is converted to a value, given the worst and the best
        result. ``range`` may end just beyond the outputs of these."""
        low, high = self.range()
        least, most = self.forward(np.array([worst, best])).tolist()
        return least - BEYOND * (least - low), most + BEYOND * (high - most)

    @property
    def _gains(self) -> float:
        return 2.0 - self.power if self.power_of_gains is None else self.power_of_gains

    def _log_stretch(self, values: Array) -> Array:
        u = self._costs(values)
        exponent = np.where(u >= 0, self.power - 1.0, self._gains - 1.0)
        stretch: Array = exponent * np.log1p(np.abs(u))
        return stretch

    def _costs(self, values: Array) -> Array:
        # Halved first, since the difference of two results may overflow.
        with np.errstate(over="ignore"):
            u: Array = (-values / 2.0 - self.middle / 2.0) / self.spread * 2.0
        size = np.abs(u)
        is_beyond = size > LARGEST
        if not is_beyond.any():
            return u
        beyond = np.sign(u) * (LARGEST + np.log(np.clip(size, LARGEST, HIGHEST) / LARGEST))
        costs: Array = np.where(is_beyond, beyond, u)
        return costs


def fit(values: Array, powers: Array = POWERS) -> Warp:
    """Return the best warp of these results, (n,), with one of these powers; without results, the identity. Equal
    results count once. Otherwise, many equal results, as of a piecewise constant objective, would dominate the fit."""
    if not len(values):
        return Warp()
    values = np.unique(values)
    raw = _standardized(values)
    u = raw._costs(values)
    transformed = _transform(u, powers[:, None], 2.0 - powers[:, None])
    scales = transformed.std(axis=1)
    usable = scales > CONSTANT
    if not usable.any():
        return raw
    log_slopes = np.sign(u) * np.log1p(np.abs(u))
    fitness = -len(u) * np.log(np.where(usable, scales, 1.0)) + (powers - 1.0) * log_slopes.sum()
    fitness[~usable] = -np.inf
    best = int(np.argmax(fitness))
    return Warp(raw.middle, raw.spread, float(powers[best]), float(transformed[best].mean()), float(scales[best]))


def of_worse(values: Array, power: float) -> Warp:
    """Return the warp of these results, (n,), with this power for those worse than the median and linear for the
    others."""
    values = np.unique(values)
    raw = _standardized(values)
    transformed = _transform(raw._costs(values), power, 1.0)
    scale = float(transformed.std())
    if not scale > CONSTANT:
        return raw
    return Warp(raw.middle, raw.spread, power, float(transformed.mean()), scale, 1.0)


def _standardized(values: Array) -> Warp:
    """Return the linear warp by the median and the quartiles of distinct results, (n,), in increasing order; n >= 1."""
    quarters = -values / 4.0  # quarters of the costs, since a difference of two costs may overflow
    low, middle, high = np.quantile(quarters, [0.25, 0.5, 0.75])
    spread = (high - low) / 1.349
    rounding = CONSTANT * float(np.abs([low, middle, high]).max())
    if not spread > rounding:
        spread = float(np.abs(quarters - middle).max())
    spread = min(spread, HIGHEST / 4.0) if spread > rounding else 0.25
    return Warp(float(middle * 4.0), float(spread * 4.0))


def _transform(u: Array, power: float | Array, gains: float | Array) -> Array:
    """Return the Yeo-Johnson transform, with separate powers for costs u >= 0 and for gains."""
    size = np.log1p(np.abs(u))
    exponent = np.where(u >= 0, power, gains)
    with np.errstate(invalid="ignore"):
        grown = np.where(exponent == 0.0, size, np.expm1(exponent * size) / exponent)
    return np.copysign(grown, u)


def _inverse(t: Array, power: float, gains: float) -> Array:
    def undo(size: Array, exponent: float) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if exponent == 0.0:
                return np.expm1(size)
            base = exponent * size
            result: Array = np.where(base > -1.0, np.expm1(np.log1p(np.maximum(base, -1.0)) / exponent), np.inf)
        return result

    result: Array = np.where(t >= 0, undo(np.maximum(t, 0.0), power), -undo(np.maximum(-t, 0.0), gains))
    return result

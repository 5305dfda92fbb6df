"""The outputs the model works with: robustly standardised, then warped to look normal (Yeo and Johnson 2000).

Costs u = (y - median) / (IQR / 1.349) go through the Yeo-Johnson transform with the lambda that maximises its
profile likelihood, and are standardised again. For lambda < 0 large costs are bounded: one of 1e6 among values near 1
changes little. The transform rises strictly, so the best stays the best. Results y have the engine's sign (larger is
better), model outputs z too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

POWERS = np.linspace(-4.0, 4.0, 33)
# Ranges below this share of the largest magnitude are rounding: such outputs count as constant.
CONSTANT = 1e-12


@dataclass(frozen=True, slots=True)
class Warp:
    """A rising map from results to model outputs."""

    middle: float = 0.0
    spread: float = 1.0
    power: float = 1.0
    """lambda."""
    offset: float = 0.0
    scale: float = 1.0

    def forward(self, values: Array) -> Array:
        """Results -> model outputs."""
        z: Array = -(_transform(self._costs(values), self.power) - self.offset) / self.scale
        return z

    def slope(self, values: Array) -> Array:
        """dz / dy at results y."""
        u = self._costs(values)
        exponent = np.where(u >= 0, self.power - 1.0, 1.0 - self.power)
        slope: Array = np.exp(exponent * np.log1p(np.abs(u))) / (self.spread * self.scale)
        return slope

    def inverse(self, outputs: Array) -> Array:
        """Model outputs -> results; -inf or inf beyond the range of the transform."""
        u = _inverse(self.offset - self.scale * np.asarray(outputs, dtype=float), self.power)
        with np.errstate(over="ignore"):
            y: Array = -(self.middle + self.spread * u)
        return y

    def range(self) -> tuple[float, float]:
        """Where the model outputs end: -inf and inf, or the limit of what the largest costs or gains can reach."""
        largest = -1.0 / self.power if self.power < 0.0 else np.inf
        smallest = -1.0 / (self.power - 2.0) if self.power > 2.0 else -np.inf
        return (self.offset - largest) / self.scale, (self.offset - smallest) / self.scale

    def _costs(self, values: Array) -> Array:
        return (-np.asarray(values, dtype=float) - self.middle) / self.spread


def fit(values: Array) -> Warp:
    """The warp of these results, (n,); without any, none."""
    if not len(values):
        return Warp()
    costs = -values
    middle = float(np.median(costs))
    quarter, three_quarters = np.quantile(costs, [0.25, 0.75])
    spread = float(three_quarters / 1.349 - quarter / 1.349)
    floor = CONSTANT * (float(np.abs(costs).max()) or 1.0)
    if not spread > floor:
        largest = float(np.abs(costs - middle).max())
        spread = largest if largest > floor else 1.0
    u = (costs - middle) / spread
    transformed = np.stack([_transform(u, power) for power in POWERS])
    scales = transformed.std(axis=1)
    if not scales.max() > CONSTANT:
        return Warp(middle, spread)
    log_slopes = np.sign(u) * np.log1p(np.abs(u))
    with np.errstate(divide="ignore"):
        fitness = -len(u) * np.log(np.maximum(scales, CONSTANT)) + (POWERS - 1.0) * log_slopes.sum()
    best = int(np.argmax(fitness))
    return Warp(middle, spread, float(POWERS[best]), float(transformed[best].mean()), float(scales[best]))


def _transform(u: Array, power: float) -> Array:
    high, low = np.log1p(np.maximum(u, 0.0)), np.log1p(np.maximum(-u, 0.0))
    above = high if power == 0.0 else np.expm1(power * high) / power
    below = low if power == 2.0 else np.expm1((2.0 - power) * low) / (2.0 - power)
    result: Array = np.where(u >= 0, above, -below)
    return result


def _inverse(t: Array, power: float) -> Array:
    def undo(size: Array, exponent: float) -> Array:
        if exponent == 0.0:
            return np.expm1(size)
        base = exponent * size
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            result: Array = np.where(base > -1.0, np.expm1(np.log1p(np.maximum(base, -1.0)) / exponent), np.inf)
        return result

    result: Array = np.where(t >= 0, undo(np.maximum(t, 0.0), power), -undo(np.maximum(-t, 0.0), 2.0 - power))
    return result

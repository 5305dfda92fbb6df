"""A user's prior on the optimum: a density per parameter with heavy tails, which exclude no point.

A number has a most likely position c on its axis and a width w; a choice has a weight v. The density, relative to its
maximum, has the form of a Cauchy distribution. It falls so slowly that results can outweigh it:

    log pi(u) = -log(1 + sum over numbers of ((u - c) / w)^2 + sum over choices of (largest v / v - 1)).

So if one number is at distance w from its c, and all other parameters are at their best, the density is half of its
maximum. The density is not a product over the parameters: in many dimensions, a product would almost vanish far from
the mode, and a wrong prior would cost many more evaluations. Inactive parameters do not contribute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]

NARROWEST = 1e-3
"""The smallest width, as a share of the parameter's range."""
AT_ONCE = 1000
"""The number of positions at which the density is evaluated at a time, so that the arrays fit into the processor's
cache."""
MIN_WEIGHT, MAX_WEIGHT = 1e-6, 1e6


def share_of(axis: Axis, spread: float) -> float:
    """The width in the unit cube for a width in the user's units or, on a log scale, for a factor."""
    ends = axis.raw_bounds
    assert ends is not None, "a number has bounds"
    raw = math.log(spread) if getattr(axis, "scale", "linear") == "log" else spread
    return raw / 2 / (ends[1] / 2 - ends[0] / 2)  # halved first: the difference of huge bounds would overflow


@dataclass(frozen=True, slots=True)
class Around:
    """A number with a most likely position."""

    axis: int
    middle: float
    """c, in the unit cube."""
    width: float
    """w, in the unit cube."""
    is_periodic: bool = False
    """Whether the axis is periodic; u - c is then the difference along the shorter way."""

    def deviations(self, u: Array) -> Array:
        """(u - c) / w, (k,)."""
        difference = u - self.middle
        found: Array = (difference - np.rint(difference) if self.is_periodic else difference) / self.width
        return found

    def drawn(self, deviations: Array) -> Array:
        """The positions, (k,), on the axis at these deviations, (k,), in units of w."""
        moved = self.middle + self.width * deviations
        found: Array = moved % 1.0 if self.is_periodic else np.clip(moved, 0.0, 1.0)
        return found


@dataclass(frozen=True, slots=True)
class Weighted:
    """Choices, or rows of a catalogue, with weights."""

    axis: int
    count: int
    """The number of choices of the axis."""
    given: tuple[tuple[int, float], ...]
    """The indices of some choices, ascending, and their positive weights. All other choices have weight 1."""

    def costs(self, positions: Array) -> Array:
        """(Largest v) / v - 1 for the choices at positions, (k,). The computing time does not depend on the number of
        choices."""
        index = np.clip((positions * self.count).astype(int), 0, self.count - 1)
        if not self.given:
            return np.zeros(len(index))
        numbers, given = map(np.array, zip(*self.given, strict=True))
        place = np.minimum(np.searchsorted(numbers, index), len(numbers) - 1)
        found: Array = self.largest() / np.where(numbers[place] == index, given[place], 1.0) - 1.0
        return found

    def largest(self) -> float:
        """The largest weight."""
        given = [weight for _, weight in self.given]
        return max(given) if len(given) == self.count else max([1.0, *given])

    def weights(self) -> Array:
        """The weight of each choice, (count,), in the order of the axis."""
        found = np.ones(self.count)
        for number, weight in self.given:
            found[number] = weight
        return found


@dataclass(frozen=True, slots=True)
class Prior:
    """A prior on the optimum."""

    around: tuple[Around, ...]
    weighted: tuple[Weighted, ...]

    def log_density(self, space: Space, positions: Array) -> Array:
        """log pi relative to its maximum, at cube positions (k, d), shape (k,)."""
        return -np.log(self._reciprocal(space, positions))

    def log_density_and_gradient(self, space: Space, positions: Array) -> tuple[Array, Array]:
        """As ``log_density``, with its gradient, (k, d), which is zero along choices."""
        total, slopes = self._reciprocal(space, positions), np.zeros(positions.shape)
        for belief in self.around:
            z = belief.deviations(positions[:, belief.axis])
            slopes[:, belief.axis] = 2.0 * z / belief.width
        active = space.activity.active(positions)
        return -np.log(total), np.where(active, -slopes, 0.0) / total[:, None]

    def _reciprocal(self, space: Space, positions: Array) -> Array:
        """1 / pi, (k,)."""
        total = np.empty(len(positions))
        for first in range(0, len(positions), AT_ONCE):
            some = positions[first : first + AT_ONCE]
            squares = np.zeros(some.shape)
            for belief in self.around:
                z = belief.deviations(some[:, belief.axis])
                squares[:, belief.axis] = z * z
            for choices in self.weighted:
                squares[:, choices.axis] = choices.costs(some[:, choices.axis])
            total[first : first + AT_ONCE] = 1.0 + np.where(space.activity.active(some), squares, 0.0).sum(axis=1)
        return total

    def drawn(self, uniform: Array) -> Array:
        """Positions (k, d), from uniform numbers (k, d) in [0, 1). Each coordinate is drawn independently, from its
        density with all others at their best. The first position is the mode."""
        drawn = uniform.copy()
        for belief in self.around:
            tails = np.tan(np.pi * (uniform[:, belief.axis] - 0.5))
            tails[0] = 0.0
            drawn[:, belief.axis] = belief.drawn(tails)
        for choices in self.weighted:
            weights = choices.weights()
            index = np.searchsorted(np.cumsum(weights) / weights.sum(), uniform[:, choices.axis], side="right")
            index[0] = np.argmax(weights)
            drawn[:, choices.axis] = (np.minimum(index, len(weights) - 1) + 0.5) / len(weights)
        return drawn

"""The points of a mixture: a polytope or, if components may be absent, one polytope per set of components.

Shares are in the user's units. Projection is Euclidean: all present shares move by the same amount, up to their bounds
(Held, Wolfe and Crowder 1974). For random points, all sets of components are equally likely, and points are uniform in
the polytope of a set. They are drawn by exponential spacings. If upper bounds exclude some of these, two shares at a
time are moved, which preserves the uniform distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import FloatAxis, Value
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOVES = 4
"""The number of moves of two shares, per component, if upper bounds exclude a part of the simplex."""
AT_ONCE = 512
"""The number of points that are projected at a time."""
SPREAD = 1024
"""The number of random points from which the variation of shares is estimated."""
MAX_KNOWN = 1000
"""The maximum number of sets of present components whose bounds on the grid are kept."""
ROUNDING = 1e-9
"""Differences up to this fraction of the total count as rounding errors."""


@dataclass(frozen=True, eq=False)
class Simplex:
    """A mixture in a slice of a space, with n shares."""

    mixture: Mixture
    axes: tuple[int, ...]
    """Indices of the shares' axes in the space."""
    shares: tuple[FloatAxis, ...]
    """The axes of the shares."""
    fixed: tuple[float | None, ...]
    """Values of the fixed shares; None for free ones."""

    @cached_property
    def low(self) -> Array:
        """(n,) lower bound of each share if it is present."""
        ends = zip(self.shares, self.fixed, strict=True)
        return np.array([max(axis.low, self.mixture.least) if at is None else at for axis, at in ends])

    @cached_property
    def high(self) -> Array:
        """(n,) upper bound of each share."""
        ends = zip(self.shares, self.fixed, strict=True)
        return np.array([axis.high if at is None else at for axis, at in ends])

    @cached_property
    def optional(self) -> Bools:
        """(n,) which shares may be absent."""
        if self.mixture.is_convex:
            return np.zeros(len(self.axes), dtype=np.bool_)
        at_zero = np.array([axis.low <= 0.0 and at is None for axis, at in zip(self.shares, self.fixed, strict=True)])
        found: Bools = at_zero & (self.low <= self.high)
        return found

    @cached_property
    def required(self) -> Bools:
        """(n,) which shares are always present, or fixed (even at 0)."""
        free = np.array([at is None for at in self.fixed])
        if self.mixture.is_convex:
            return np.ones(len(self.axes), dtype=np.bool_)
        positive = np.array([axis.low > 0.0 for axis in self.shares])
        found: Bools = ~free | positive
        return found

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The possible numbers of optional shares that are present, ascending; empty if no mixture exists."""
        total, rounding = self.mixture.total, ROUNDING * self.mixture.total
        slack, least = self.mixture.slack, self.mixture.least
        too_small = any(at is not None and slack < at < least - slack for at in self.fixed)
        if too_small or (self.low > self.high + rounding)[self.required].any():
            return ()
        always = int((self.required & (self.high > 0.0)).sum())
        most = len(self.axes) if self.mixture.at_most is None or self.mixture.is_convex else self.mixture.at_most
        highest, found = np.sort(self.high[self.optional])[::-1], []
        for count in range(min(most - always, len(highest)) + 1):
            low = float(self.low[self.required].sum()) + count * self.mixture.least
            high = float(self.high[self.required].sum() + highest[:count].sum())
            if low <= total + rounding and high >= total - rounding:
                found.append(count)
        return tuple(found)

    @property
    def is_empty(self) -> bool:
        """Whether no mixture exists."""
        return not self.counts

    @cached_property
    def spread(self) -> Array:
        """(n,) standard deviation of each share over random points, relative to that of a uniform number between its
        bounds; from 0.01 to 1."""
        found = self.of(self.drawn((0, -1), SPREAD)).std(axis=0) * np.sqrt(12.0)
        return np.asarray(np.clip(found, 0.01, 1.0))

    def values(self, positions: Array) -> Array:
        """(k, n) shares at positions (k, d)."""
        found: Array = self._base + self._span * positions[:, self.axes]
        return found

    def of(self, values: Array) -> Array:
        """(k, n) coordinates in the unit cube of shares (k, n)."""
        found: Array = np.clip((values - self._base) / self._span, 0.0, 1.0)
        return found

    def put(self, positions: Array, values: Array) -> Array:
        """Positions (k, d), with their shares replaced by ``values``, (k, n)."""
        found = positions.copy()
        found[:, self.axes] = self.of(values)
        return found

    def holds(self, positions: Array) -> Bools:
        """(k,) whether positions (k, d) are mixtures, up to the tolerance."""
        values, slack = self.values(positions), self.mixture.slack
        found: Bools = np.abs(values.sum(axis=1) - self.mixture.total) <= slack
        if not self.mixture.is_convex:
            present = values > slack
            found &= present.sum(axis=1) <= (self.mixture.at_most or len(self.axes))
            found &= (~present | (values >= self.mixture.least - slack)).all(axis=1)
        return found

    def may_hold(self, lows: Array, highs: Array) -> Bools:
        """(k,) whether boxes with these corners, (k, d) each, may contain mixtures; False is a proof."""
        low, high, slack = self.values(lows), self.values(highs), self.mixture.slack
        found: Bools = (low.sum(axis=1) <= self.mixture.total + slack) & (
            high.sum(axis=1) >= self.mixture.total - slack
        )
        if self.mixture.at_most is not None:
            found &= (low > slack).sum(axis=1) <= self.mixture.at_most
        return found

    def present(self, values: Array) -> Bools:
        """(k, n) which components are present in mixtures (k, n); all if none may be absent."""
        found: Bools = self.required | (self.optional & (values > self.mixture.slack))
        return found

    def ends(self, present: Bools) -> tuple[Array, Array]:
        """(k, n) smallest and largest shares of mixtures with these components, (k, n)."""
        return np.where(present, self.low, 0.0), np.where(present, self.high, 0.0)

    def around(self, position: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Bounds and a gradient for moves of a position (d,) that keep the set of present components.

        Args:
            position: a position of a mixture.
            low, high: bounds along all axes, (d,) each.

        Returns:
            The bounds, (d,) each, in which those of the shares are replaced; and a gradient, (d,): by how much the sum
            of the shares changes, as a fraction of the total, per unit of the cube along each axis.
        """
        present = self.present(self.values(position[None]))
        ends = (self.of(each)[0] for each in self.ends(present))
        low, high, spans = low.copy(), high.copy(), np.zeros(len(position))
        for each, found in zip((low, high), ends, strict=True):
            each[list(self.axes)] = found
        spans[list(self.axes)] = self._span / self.mixture.total
        return low, high, spans

    def moved(self, positions: Array) -> Array:
        """Positions (k, d) moved to the nearest mixtures. Positions that are mixtures up to the tolerance stay
        unchanged."""
        moved = self.put(positions, self.projected(self.values(positions)))
        found: Array = np.where(self.holds(positions)[:, None], positions, moved)
        return found

    def given_way(self, positions: Array, chosen: Sequence[int]) -> Array:
        """Positions (k, d) in which the shares along the axes ``chosen`` stay. The other present shares are multiplied
        by a common factor so that the sum is the total, as far as their bounds allow."""
        values = self.values(positions)
        kept = np.isin(self.axes, chosen)
        low, high = (np.where(kept, values, ends) for ends in self.ends(self.present(values)))
        scaled = _scaled(values, low, high, self.mixture.total)
        return self.put(positions, shifted(scaled, low, high, self.mixture.total))

    def projected(self, values: Array) -> Array:
        """The mixtures, (k, n), that are nearest to shares (k, n). At least one mixture must exist."""
        parts = [self._projected(values[first : first + AT_ONCE]) for first in range(0, len(values), AT_ONCE)]
        return np.concatenate([*parts, np.zeros((0, len(self.axes)))])

    def _projected(self, values: Array) -> Array:
        found, nearest = values.copy(), np.full(len(values), np.inf)
        counts = self.counts if self.mixture.least > 0.0 else self.counts[-1:]  # else all components can be nearest
        for count in counts:
            moved = shifted(values, *self.ends(self._chosen(values, count)), self.mixture.total)
            distances = ((moved - values) ** 2).sum(axis=1)
            better = distances < nearest
            found[better], nearest[better] = moved[better], distances[better]
        return found

    def _chosen(self, preferred: Array, count: int | NDArray[np.int64]) -> Bools:
        """(k, n) which components are present, ``count`` of them optional: those with the largest numbers in
        ``preferred``, (k, n) or, if these cannot reach the total, those with the largest upper bounds."""
        ranks = np.argsort(np.argsort(np.where(self.optional, -preferred, np.inf), axis=1, kind="stable"), axis=1)
        present = self.required | (self.optional & (ranks < np.reshape(count, (-1, 1))))
        reach = np.where(present, self.high, 0.0).sum(axis=1)
        short = reach < self.mixture.total * (1.0 - ROUNDING)
        if short.any():
            highest = np.argsort(np.argsort(np.where(self.optional, -self.high, np.inf), kind="stable"))
            largest = self.required | (self.optional & (highest < np.reshape(count, (-1, 1))))
            present = np.where(short[:, None], largest, present)
        return present

    def drawn(self, draw: tuple[int, int], count: int) -> Array:
        """Random mixtures, (count, n): all sets of components are equally likely, and the mixtures of a set are
        uniform.

        Args:
            draw: (seed, step) of the random numbers.
            count: number of mixtures.
        """
        n, moves = len(self.axes), MOVES * len(self.axes)
        numbers = uniforms(*draw, count * (1 + 2 * n + 3 * moves)).reshape(count, -1)
        weights = np.cumsum([comb(int(self.optional.sum()), size) for size in self.counts])
        sizes = np.array(self.counts)[np.searchsorted(weights / weights[-1], numbers[:, 0], side="right")]
        low, high = self.ends(self._chosen(numbers[:, 1 : n + 1], sizes))
        spacings = np.where(high > low, -np.log1p(-numbers[:, n + 1 : 2 * n + 1]), 0.0)
        sums = spacings.sum(axis=1, keepdims=True)
        left = self.mixture.total - low.sum(axis=1, keepdims=True)
        values: Array = low + left * spacings / np.where(sums > 0.0, sums, 1.0)
        if not (values > high).any():
            return values
        values = shifted(values, low, high, self.mixture.total)
        rows = np.arange(count)
        for step in numbers[:, 2 * n + 1 :].reshape(count, moves, 3).transpose(1, 0, 2):
            one, other = (step[:, :2].T * n).astype(np.int64)
            other = np.where(one == other, (other + 1) % n, other)
            both = values[rows, one] + values[rows, other]
            least = np.maximum(low[rows, one], both - high[rows, other])
            most = np.maximum(np.minimum(high[rows, one], both - low[rows, other]), least)
            values[rows, one] = least + (most - least) * step[:, 2]
            values[rows, other] = both - values[rows, one]
        return values

    def exact(self, values: Array) -> dict[str, float]:
        """The shares of a mixture, (n,), as they are issued: decimal numbers on a grid, with exactly the total as their
        sum."""
        lowest, highest = self._steps(tuple(self.present(values[None])[0].tolist()))
        # Fixed shares need no step: their bounds are equal, so they have no room.
        steps = [round(Decimal(value) / self._step) for value in values.tolist()]
        steps = [min(max(each, least), most) for each, least, most in zip(steps, lowest, highest, strict=True)]
        free = [k for k, at in enumerate(self.fixed) if at is None]
        missing = self._free_steps - sum(steps[k] for k in free)
        for k in sorted(free, key=lambda k: lowest[k] - highest[k]):  # the share with the most room first
            if not missing:
                break
            after = min(max(steps[k] + missing, lowest[k]), highest[k])
            missing -= after - steps[k]
            steps[k] = after
        shares = zip(self.mixture.names, steps, self.fixed, strict=True)
        return {name: float(each * self._step) if at is None else at for name, each, at in shares}

    def _steps(self, present: tuple[bool, ...]) -> tuple[list[int], list[int]]:
        """The smallest and the largest shares of mixtures with these components, in steps of the grid."""
        known = self._known_steps  # which other threads may clear
        found = known.get(present)
        if found is None:
            low, high = (ends[0].tolist() for ends in self.ends(np.array([present])))
            lowest = [_up(at, self._step) for at in low]
            highest = [max(_down(at, self._step), least) for at, least in zip(high, lowest, strict=True)]
            if len(known) >= MAX_KNOWN:
                known.clear()
            found = known[present] = lowest, highest
        return found

    @cached_property
    def _known_steps(self) -> dict[tuple[bool, ...], tuple[list[int], list[int]]]:
        """Set of present components -> the result of ``_steps``, for up to ``MAX_KNOWN`` sets."""
        return {}

    @cached_property
    def _step(self) -> Decimal:
        """The step of the grid."""
        return Decimal(1).scaleb(-self._decimals)

    @cached_property
    def _free_steps(self) -> int:
        """The total of the shares that are not fixed, in steps."""
        rest = Decimal(repr(self.mixture.total)) - sum(Decimal(repr(at)) for at in self.fixed if at is not None)
        return round(rest / self._step)

    @cached_property
    def _decimals(self) -> int:
        """Decimals of the grid. A value with that many decimals is a value of each axis."""
        return min(axis.decimals for axis in self.shares)

    @cached_property
    def _base(self) -> Array:
        return np.array([axis.low for axis in self.shares])

    @cached_property
    def _span(self) -> Array:
        return np.array([axis.high - axis.low for axis in self.shares])


def simplex(space: Space, mixture: Mixture, fixed: Mapping[str, Value]) -> Simplex:
    """A mixture of a space in which some parameters are fixed."""
    axes = {axis.name: (k, axis) for k, axis in enumerate(space.axes)}
    found = [axes[name] for name in mixture.names]
    values = [fixed.get(name) for name in mixture.names]
    shares = tuple(axis for _, axis in found if isinstance(axis, FloatAxis))
    at = tuple(float(each) if isinstance(each, int | float) else None for each in values)
    return Simplex(mixture, tuple(k for k, _ in found), shares, at)


def given_way(space: Space, positions: Array, chosen: Sequence[int]) -> Array:
    """Return positions (k, d) in which the coordinates along the axes ``chosen`` stay, and the other shares of their
    mixtures are changed so that they sum to the total (``Simplex.given_way``)."""
    for mixture in space.mixtures:
        one = simplex(space, mixture, {})
        if not set(chosen).isdisjoint(one.axes):
            positions = one.given_way(positions, chosen)
    return positions


def with_shares_given_way(
    space: Space, points: Sequence[dict[str, Any]], chosen: Sequence[str]
) -> list[dict[str, Any]]:
    """Return points in which the parameters ``chosen`` stay, and the other shares of their mixtures are changed so that
    they sum to the total."""
    shares = {name for mixture in space.mixtures for name in mixture.names}
    axes = [(k, axis) for k, axis in enumerate(space.axes) if axis.name in shares]
    positions = np.zeros((len(points), space.dimension))
    for k, axis in axes:
        positions[:, k] = [axis.encode(point[axis.name]) for point in points]
    moved = given_way(space, positions, [k for k, axis in enumerate(space.axes) if axis.name in chosen])
    return [
        {**point, **{axis.name: axis.decode(float(at[k])) for k, axis in axes}}
        for point, at in zip(points, moved, strict=True)
    ]


def shifted(values: Array, low: Array, high: Array, total: float) -> Array:
    """The numbers (k, n) nearest to ``values`` (k, n) that are within bounds, (k, n) each, and whose sum in each row is
    ``total``."""
    shifts = np.sort(np.concatenate([low - values, high - values], axis=1), axis=1)
    sums = np.clip(values[:, None, :] + shifts[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    found: Array = np.clip(values + _reaching(shifts, sums, total), low, high)
    return found


def _scaled(values: Array, low: Array, high: Array, total: float) -> Array:
    """The ``values`` (k, n), which are not negative. Each row is multiplied by a factor and clipped to bounds, (k, n)
    each. With this factor, the sum of the row is ``total`` or as near to it as possible. A value of 0 becomes its lower
    bound."""
    ends = np.concatenate([low, high], axis=1)
    divisors = np.concatenate([values, values], axis=1)
    multiples = np.sort(np.divide(ends, divisors, out=np.zeros_like(ends), where=divisors > 0.0), axis=1)
    sums = np.clip(values[:, None, :] * multiples[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    found: Array = np.clip(values * _reaching(multiples, sums, total), low, high)
    return found


def _reaching(steps: Array, sums: Array, total: float) -> Array:
    """(k, 1) the step in each row at which the sum is ``total``, or the nearest step if no sum is. Given are sorted
    steps (k, m) and their sums (k, m), which grow linearly between steps."""
    before = np.clip((sums <= total).sum(axis=1) - 1, 0, steps.shape[1] - 2)
    rows = np.arange(len(steps))
    start, end = steps[rows, before], steps[rows, before + 1]
    width = sums[rows, before + 1] - sums[rows, before]
    share = np.where(width > 0.0, (total - sums[rows, before]) / np.where(width > 0.0, width, 1.0), 0.0)
    found: Array = (start + np.clip(share, 0.0, 1.0) * (end - start))[:, None]
    return found


def _up(value: float, step: Decimal) -> int:
    return -int((-Decimal(repr(value)) / step).to_integral_value(rounding="ROUND_FLOOR"))


def _down(value: float, step: Decimal) -> int:
    return int((Decimal(repr(value)) / step).to_integral_value(rounding="ROUND_FLOOR"))

"""The search in mixtures: start points for ascents, and the point that represents a cell.

Candidates are random mixtures (``feasible``), and the usual candidates in the cube (as in spaces without mixtures),
each moved to the nearest mixture, which is often at an edge. Around the best point, two components exchange their
shares, or one gives a part of its share to another. If components may be absent, ascents change only those that are
present in their start point (``constrained``).

A cell is a box. A mixture in it that is near its middle represents it. There are two candidates, both with the
components of the target: the mixture nearest to the middle, and the nearest one in which shares that are at a bound in
the target stay there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.simplex import ROUNDING, Simplex, shifted

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

EXCHANGES = 100
"""The number of random exchanges of two components in the best point."""
STREAM = 1 << 42
"""Added to the step, for a separate random stream."""


def exchanges(feasible: Feasible, around: Array, draw: tuple[int, int]) -> Array:
    """Return positions, (k, d), at which two components of the mixtures at one position, (d,), have exchanged their
    shares, or one has given a part of its share to the other."""
    found = []
    for number, mixture in enumerate(feasible.mixtures):
        n, values = len(mixture.axes), mixture.values(around[None])[0]
        numbers = uniforms(draw[0] + number, STREAM + draw[1], EXCHANGES * 3).reshape(EXCHANGES, 3)
        one, other = (numbers[:, :2].T * n).astype(np.int64)
        other = np.where(one == other, (other + 1) % n, other)
        part = np.minimum(3.0 * numbers[:, 2] ** 3, 1.0)  # a part of 1 exchanges the shares
        rows, moved = np.arange(EXCHANGES), np.repeat(values[None], EXCHANGES, axis=0)
        given = np.where(part < 1.0, part * values[one], values[one] - values[other])
        moved[rows, one] -= given
        moved[rows, other] += given
        found.append(mixture.put(np.repeat(around[None], EXCHANGES, axis=0), mixture.projected(moved)))
    return np.concatenate(found)


def middle(domain: Domain) -> Array:
    """Return the position, (1, d), in the middle of all axes and mixtures."""
    return domain.whole.put(domain.snap(np.full((1, domain.dimension), 0.5)))


def start_points(feasible: Feasible, ranked: Array, count: int) -> Array:
    """Return start points for ascents, (count, d), from positions (k, d), best first. Up to half of them are the best
    positions of different sets of components; the rest are the next best positions."""
    sets = np.column_stack([mixture.present(mixture.values(ranked)) for mixture in feasible.mixtures])
    firsts = np.sort(np.unique(sets, axis=0, return_index=True)[1])[: (count + 1) // 2]
    others = np.setdiff1d(np.arange(len(ranked)), firsts)[: count - len(firsts)]
    found: Array = ranked[np.sort(np.concatenate([firsts, others]))]
    return found


def representatives(domain: Domain, feasible: Feasible, ends: tuple[Array, Array], target: Array) -> Iterator[Array]:
    """Yield the points, (d,), that may represent a cell that contains a target, (d,), given the cell's lowest and
    highest positions, (d,) each."""
    low, high = ends
    center = np.where(domain.categorical, target, (low + high) / 2.0)
    for is_of_target in (False, True):
        found = center.copy()[None]
        for mixture in feasible.mixtures:
            found = mixture.put(found, _middle_of(mixture, low, high, target, is_of_target=is_of_target))
        point = feasible.exact(found[0])
        if feasible.admits(point):
            yield point


def _middle_of(mixture: Simplex, low: Array, high: Array, target: Array, *, is_of_target: bool) -> Array:
    """Return the mixture, (1, n), of the components of a target, (d,), that is nearest to the middle of a box. If
    ``is_of_target``, shares that are at a bound in the target stay there."""
    values = mixture.values(np.stack([low, high, target]))
    least, most = mixture.ends(mixture.present(values[2:]))
    least, most = np.maximum(least[0], values[0]), np.minimum(most[0], values[1])
    at_bound = (values[2] <= mixture.low + ROUNDING) | (values[2] >= mixture.high - ROUNDING)
    if is_of_target:
        least, most = np.where(at_bound, values[2], least), np.where(at_bound, values[2], most)
    most = np.maximum(least, most)
    return shifted((values[:1] + values[1:2]) / 2.0, least[None], most[None], mixture.mixture.total)

"""Plateaus: regions where equal results at different points show that the objective is a step function.

Such an objective uses, for example, a look-up table, rounded sizes or an instrument that rounds. The search would
suggest points with known results again and again. So a point counts as evaluated if its nearest result belongs to a
plateau (a set of equal results), and is no farther away than these results are from each other. Since a plateau may
surround a better one, only points within half of this distance count as evaluated at every second suggestion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # imports its subpackages on first use
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.state.state import State

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

REACHES = (1.0, 0.5)
"""How far a plateau extends around its results, as a multiple of its width. Suggestions use these values in turn."""
NARROWEST = 1e-3
"""The minimum width of a plateau: at the top of a smooth peak, results are equal by rounding."""
SHARE = 0.1
"""The minimum share of points whose result equals another one. Fewer may be chance, for instance in a symmetric
objective."""
MOST = 500
"""Equal results are searched among this many of the latest distinct points."""
APART = 1e6
"""Length of a categorical axis, in sides of the cube, so that results of different choices are never close."""


@dataclass(frozen=True, slots=True)
class Plateaus:
    """Known steps of the objective; empty for an objective without steps."""

    domain: Domain
    scales: Array
    """(d,) scales of the axes: ``APART`` for a categorical axis; otherwise 1 if the axis is relevant, 0 if not."""
    points: Array
    """(n, d + q) distinct points with a result, scaled; each of q periodic axes has two coordinates on its circle."""
    widths: Array
    """(n,) the width of each point's plateau; 0 if the point is on none."""

    @property
    def are_found(self) -> bool:
        """Whether there are any."""
        return len(self.points) > 0

    def hold(self, positions: Array, step: int) -> Bools:
        """Return which positions, (k, d), are on a plateau, with the value of ``REACHES`` for this step (see
        ``issued.step_of``)."""
        if not self.are_found:
            return np.zeros(len(positions), dtype=bool)
        distances = scipy.spatial.distance.cdist(_scaled(self.domain, positions, self.scales), self.points)
        widths = self.widths[distances.argmin(axis=1)]
        held: Bools = (widths > 0.0) & (distances.min(axis=1) <= widths * REACHES[step % len(REACHES)])
        return held


def plateaus(state: State) -> Plateaus:
    """Return the plateaus of a study.

    There are none if too few results are equal (see ``SHARE``), and in four further cases: results have noise, so that
    equality means nothing; all results are equal; there are metrics, which may differ where the objective does not; or
    the space is small enough for an exhaustive search.
    """
    problem, record = state.problem, state.record
    scales = np.where(problem.domain.categorical, APART, state.relevant_axes.astype(float))
    none = Plateaus(problem.domain, scales, np.zeros((0, len(scales))), np.zeros(0))
    if problem.domain.is_listed or problem.config.metrics or problem.has_several or state.declares_noise:
        return none
    rows = record.first_rows()[-MOST:]
    values = record.values[rows]
    if len(np.unique(values)) in (1, len(values)):
        return none
    points = _scaled(problem.domain, record.positions[rows], scales)
    alike = np.column_stack([values, points[:, np.flatnonzero(problem.domain.categorical)]])
    _, plateau = np.unique(alike, axis=0, return_inverse=True)
    widths = np.zeros(len(rows))
    for each in np.flatnonzero(np.bincount(plateau) > 1):
        members = plateau == each
        widths[members] = scipy.spatial.distance.cdist(points[members], points[members]).max(axis=1)
    widths[widths < NARROWEST] = 0.0
    return Plateaus(problem.domain, scales, points, widths) if (widths > 0.0).mean() >= SHARE else none


def _scaled(domain: Domain, positions: Array, scales: Array) -> Array:
    """Return positions (k, d) in units of the scales, (k, d + q)."""
    scaled: Array = positions * scales
    if not domain.periodic.any():
        return scaled
    angles, radii = 2.0 * np.pi * positions[:, domain.periodic], scales[domain.periodic] / (2.0 * np.pi)
    scaled[:, domain.periodic] = radii * np.cos(angles)
    return np.concatenate([scaled, radii * np.sin(angles)], axis=1)

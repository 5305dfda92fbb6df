"""Plateaus: where equal results at different points show that the objective has steps.

Wherever a table is looked up, an instrument rounds, or a size is rounded to what is in stock, the search would ask
again and again for what it knows. So a point counts as known if the nearest result is one of several equal ones, a
plateau, and is no farther away than these are from each other. A plateau may surround a better one, so in every second
step a point counts as known up to half of that distance only.

An objective without steps has hardly any equal results: less than ``SHARE`` are taken for chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from adabkb_service.engine.auto.domain import Domain
from adabkb_service.engine.auto.state import State

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

REACHES = (1.0, 0.5)
"""How far around its results a plateau is taken to go, in its widths, by turns."""
NARROWEST = 1e-3
"""Width of a plateau, at least: at the very top of a smooth peak, results are equal by rounding."""
SHARE = 0.1
"""Share of the points that have an equal result, at least: fewer are chance, as where the objective is symmetric."""
MOST = 500
"""Distinct points among which equal results are looked for: the last ones."""
APART = 1e6
"""Length of a categorical axis, in sides of the cube, so that results of different choices are never near."""


@dataclass(frozen=True, slots=True)
class Plateaus:
    """Steps of the objective that are known by equal results; none in an objective without steps."""

    domain: Domain
    scales: Array
    """(d,) of the axes: 0 where the objective does not change along one."""
    points: Array
    """(n, d + q) distinct points with a result, scaled: along q periodic axes in the plane of the circle."""
    widths: Array
    """(n,) of the plateau that each is on; 0 where its result is the only one of this value."""

    @property
    def are_found(self) -> bool:
        """Whether there are any."""
        return len(self.points) > 0

    def hold(self, positions: Array, step: int) -> Bools:
        """Which positions, (k, d), are on one, as seen at a step of the study."""
        if not self.are_found:
            return np.zeros(len(positions), dtype=bool)
        distances = cdist(_scaled(self.domain, positions, self.scales), self.points)
        widths = self.widths[distances.argmin(axis=1)]
        held: Bools = (widths > 0.0) & (distances.min(axis=1) <= widths * REACHES[step % len(REACHES)])
        return held


def plateaus(state: State) -> Plateaus:
    """Those of a study.

    There are none where results have noise, since equal ones then say nothing, where metrics are measured, which may
    differ where the objective does not, and in spaces so small that a search looks at every point.
    """
    problem, record = state.problem, state.record
    scales = np.where(problem.domain.categorical, APART, state.relevant_axes.astype(float))
    none = Plateaus(problem.domain, scales, np.zeros((0, len(scales))), np.zeros(0))
    if problem.domain.is_listed or problem.config.metrics or problem.has_several or state.declares_noise:
        return none
    rows = record.first_rows()[-MOST:]
    values = record.values[rows]
    if len(np.unique(values)) == len(values):
        return none
    points = _scaled(problem.domain, record.positions[rows], scales)
    alike = np.column_stack([values, points[:, np.flatnonzero(problem.domain.categorical)]])
    _, plateau = np.unique(alike, axis=0, return_inverse=True)
    widths = np.zeros(len(rows))
    for each in np.flatnonzero(np.bincount(plateau) > 1):
        members = plateau == each
        widths[members] = cdist(points[members], points[members]).max(axis=1)
    widths[widths < NARROWEST] = 0.0
    return Plateaus(problem.domain, scales, points, widths) if (widths > 0.0).mean() >= SHARE else none


def _scaled(domain: Domain, positions: Array, scales: Array) -> Array:
    """Positions (k, d), in scales: (k, d + q)."""
    scaled: Array = positions * scales
    if not domain.periodic.any():
        return scaled
    angles, radii = 2.0 * np.pi * positions[:, domain.periodic], scales[domain.periodic] / (2.0 * np.pi)
    scaled[:, domain.periodic] = radii * np.cos(angles)
    return np.concatenate([scaled, radii * np.sin(angles)], axis=1)

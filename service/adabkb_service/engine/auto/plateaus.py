"""Plateaus: equal results at different points, as of an objective that has steps.

Wherever a table is looked up, an instrument rounds or a size is rounded to what there is in stock, the search would ask
again and again for what it knows. So a point counts as known if the nearest result is of a plateau and no farther away
than the plateau is wide. As a plateau may surround a better one, every second step asks for half of that only.

An objective without steps has hardly any equal results, and nothing of this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from adabkb_service.engine.auto.state import State

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

REACHES = (1.0, 0.5)
"""How far around its results a plateau is taken to go, in its widths, by turns."""
NARROWEST = 1e-3
"""Width of a plateau at least: at the very top of a smooth peak results are equal, too, by rounding."""
SHARE = 0.1
"""Of the points that have an equal one: below this it is chance, as of a symmetric objective."""
MOST = 500
"""Distinct points that are looked at: the last ones."""
APART = 1e6
"""Between two choices of a category, in sides of the cube."""


@dataclass(frozen=True, slots=True)
class Plateaus:
    """Where the objective is known by results on the same step of it."""

    scales: Array
    """(d,) of the axes: 0 where the objective does not change along one."""
    points: Array
    """(n, d) distinct points with a result, scaled."""
    reaches: Array
    """(n,) how far the plateau of each goes around it; 0 where its result is the only one of this value."""

    def hold(self, positions: Array) -> Bools:
        """Which positions, (k, d), are on a known plateau."""
        distances = cdist(positions * self.scales, self.points)
        nearest = distances.argmin(axis=1)
        held: Bools = (self.reaches[nearest] > 0.0) & (distances.min(axis=1) <= self.reaches[nearest])
        return held

    def leave(self, positions: Array) -> Bools:
        """Which positions, (k, d), are not."""
        return ~self.hold(positions)


def plateaus(state: State, step: int) -> Plateaus | None:
    """Those of a study at a step; None if there are none.

    There are none where results have noise, since equal ones then say nothing, where metrics are measured, which may
    differ where the objective does not, and in spaces so small that a search looks at every point.
    """
    problem, record = state.problem, state.record
    if problem.domain.is_listed or problem.config.metrics or problem.has_several or state.declares_noise:
        return None
    rows = record.first_rows()[-MOST:]
    values = record.values[rows]
    if len(np.unique(values)) == len(values):
        return None
    categorical = problem.domain.categorical
    scales = np.where(categorical, APART, state.relevant_axes.astype(float))
    points = record.positions[rows] * scales
    alike = np.column_stack([values, points[:, categorical]])
    _, plateau = np.unique(alike, axis=0, return_inverse=True)
    widths = np.zeros(len(rows))
    for each in np.flatnonzero(np.bincount(plateau) > 1):
        members = plateau == each
        widths[members] = cdist(points[members], points[members]).max(axis=1)
    widths[widths < NARROWEST] = 0.0
    if (widths > 0.0).mean() < SHARE:
        return None
    return Plateaus(scales, points, widths * REACHES[step % len(REACHES)])

"""Which method chooses the point of a step: the search, a restart (``restarts``) or the quadratic model
(``quadratic``).

While the search has stalled, two of three steps belong to restarts. Of the other steps, the quadratic model gets every
second one as long as it brings gains. Otherwise (far from an optimum, with noise, or at kinks of the objective), it
gets few. With several workers, results arrive in another order than suggestions, so a point itself shows whether it is
one of the model's (``are_off_grid``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain.domain import Domain

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

RESTARTS_PERIOD = 3
"""While the search has stalled, one in this many steps does not belong to a restart."""
PERIOD, PERIOD_WITHOUT_GAIN = 2, 12
"""One in this many steps belongs to the model: the first number while it brings gains, the second otherwise."""
IN_A_ROW = 3
"""After a gain, the model also gets the next step, up to this many in a row."""
MEMORY, SHARE = 4, 1.0 / 3.0
"""The model counts as bringing gains if at least this share of its last steps did. The number of these steps is the
number of its axes plus ``MEMORY``. Before it has had that many steps, it counts as bringing gains."""
RADII = (0.05, 4.0)
"""Smallest and largest radius of the model's ball, in standard deviations of its results along their principal
directions."""
HALVINGS = 20
"""Cells are halved, so their middles after fewer than this many cuts along an axis are on a grid of this many
halvings. Points of the model practically never are."""
FINE = 1e-8
"""This holds along axes of which every position is at most this far from the nearest number."""
MODELS_SHARE = 0.75
"""The largest share of all results that the model can have had, given ``IN_A_ROW`` and ``PERIOD``."""
MAX_AXES = 20
"""The maximum number of axes of a model. The number of its coefficients is about half the square of the number of
axes."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The state that determines which method chooses the next point."""

    gains: tuple[bool, ...] = ()
    """Whether each of the model's last steps brought a gain."""
    in_a_row: int = 0
    """The number of consecutive steps of the model, if the last one brought a gain; else 0."""
    others: int = PERIOD
    """The number of steps since the model's last one."""
    radius: float = 1.0
    """The radius of the model's ball: doubled after a gain, halved otherwise."""
    is_alternative: bool = False
    """Whether the model has its alternative form (``quadratic``). A step of the model without a gain changes this."""

    def is_models(self, axes: int) -> bool:
        """Return whether the next step without a restart belongs to the model, given the number of its axes."""
        last = self.gains[-(axes + MEMORY) :]
        brings_gains = len(last) < axes + MEMORY or sum(last) >= SHARE * len(last)
        period = PERIOD if brings_gains else PERIOD_WITHOUT_GAIN
        return 0 < self.in_a_row < IN_A_ROW or self.others >= period - 1

    def after(self, *, is_models: bool, gained: bool | None) -> Turns:
        """Return the state after a step.

        Args:
            is_models: whether the step was the model's.
            gained: whether its result is the best so far; None without a result.
        """
        if not is_models:
            return replace(self, in_a_row=0, others=self.others + 1)
        if gained is None:
            return replace(self, in_a_row=0, others=0)
        gains = (*self.gains, gained)[-(MAX_AXES + MEMORY) :]
        radius = min(2.0 * self.radius, RADII[1]) if gained else max(0.5 * self.radius, RADII[0])
        return Turns(gains, self.in_a_row + 1 if gained else 0, 0, radius, self.is_alternative != (not gained))


NEW = Turns()
"""The state of a new study."""


def are_off_grid(domain: Domain, positions: Array) -> Bools:
    """Return which positions, (k, d), are no middles of cells along the real axes; all if these axes are not fine."""
    fine = np.flatnonzero(domain.resolutions <= FINE)
    if not len(fine):
        return np.ones(len(positions), dtype=np.bool_)
    halves = 2.0**HALVINGS
    scaled: Array = halves * positions[:, fine]
    are_off: Bools = np.abs(scaled - np.round(scaled)) > 2.0 * halves * domain.resolutions[fine]
    return np.asarray(are_off.any(axis=1))


def is_restarts(restarted_at: int | None, step: int) -> bool:
    """Return whether a step belongs to a restart, given ``State.restarted_at``."""
    return restarted_at is not None and step % RESTARTS_PERIOD != 0


def axes_of_model(problem: Problem, relevant: Bools, *, seems_noisy: bool) -> Ints:
    """Return the axes of the model: the relevant continuous axes, without one share of each mixture.

    There is no model, and so no axis, with constraints, conditions, noise, plates, metrics or several objectives, if
    a mixture is not convex (``Mixture.is_convex``), or if there would be more than ``MAX_AXES`` axes.
    """
    config, domain = problem.config, problem.domain
    without = config.metrics or config.noise_std or problem.space.constraints or domain.activity.needs
    may_lack = not all(mixture.is_convex for mixture in problem.space.mixtures)
    if without or config.has_plates or problem.has_several or seems_noisy or may_lack:
        return np.zeros(0, dtype=np.int64)
    axes = np.setdiff1d(np.flatnonzero(relevant), [*domain.discrete, *domain.remainders])
    return axes if len(axes) <= MAX_AXES else axes[:0]


def coefficients(axes: int) -> int:
    """Return the number of coefficients of a quadratic function of ``axes`` axes."""
    return (axes + 1) * (axes + 2) // 2


def fewest_for_model(axes: int) -> int:
    """Return the minimum number of results for a model of ``axes`` axes."""
    return coefficients(axes) + 1

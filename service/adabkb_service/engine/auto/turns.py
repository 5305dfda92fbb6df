"""Who chooses the point of a step: the search, a restart (``restarts``) or the quadratic model (``quadratic``).

While the search has stalled, two of three steps are those of restarts. Of the others the model has every second one as
long as it brings gains, and few otherwise: far from an optimum, under noise, or where the objective has kinks. Gains
are counted in the order of results, which with several workers is about that of suggestions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

RESTARTS_PERIOD = 3
"""While the search has stalled, one of so many steps is not a restart's."""
PERIOD, PERIOD_WITHOUT_GAIN = 2, 12
"""One of so many steps is the model's."""
IN_A_ROW = 3
"""After a gain of the model the next step is its own, too; so many in a row at most."""
MEMORY, SHARE = 4, 1.0 / 3.0
"""The model brings gains if this share of its last steps did, of which ``MEMORY`` more than its axes count."""
RADII = (0.05, 4.0)
"""Smallest and largest radius of the model's ball."""
MOST_AXES = 20
"""Axes of a model, at most: it has about half of their square as coefficients."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What the steps so far say about who chooses the next point."""

    gains: tuple[bool, ...] = ()
    """Whether each of the model's last steps brought a gain."""
    in_a_row: int = 0
    """Last steps that were the model's, if the last one brought a gain; else 0."""
    others: int = PERIOD
    """Steps since the model's last one."""
    radius: float = 1.0
    """Of the model's ball: doubled after a gain, halved otherwise."""

    def is_models(self, axes: int) -> bool:
        """Whether the next step that is no restart's is the model's, which has so many axes."""
        last = self.gains[-(axes + MEMORY) :]
        brings_gains = len(last) < axes + MEMORY or sum(last) >= SHARE * len(last)
        period = PERIOD if brings_gains else PERIOD_WITHOUT_GAIN
        return 0 < self.in_a_row < IN_A_ROW or self.others >= period - 1

    def after(self, axes: int, *, is_restarts: bool, gained: bool | None) -> Turns:
        """After the next step.

        Args:
            axes: of the model.
            is_restarts: whether it was a restart's.
            gained: whether its result is the best so far; None if it has none yet.
        """
        if is_restarts or not self.is_models(axes):
            return replace(self, in_a_row=0, others=self.others + 1)
        if gained is None:
            return replace(self, in_a_row=0, others=0)
        gains = (*self.gains, gained)[-(MOST_AXES + MEMORY) :]
        radius = min(2.0 * self.radius, RADII[1]) if gained else max(0.5 * self.radius, RADII[0])
        return Turns(gains, self.in_a_row + 1 if gained else 0, 0, radius)


NEW = Turns()
"""Those of a new study."""


def is_restarts(restarted_at: int | None, step: int) -> bool:
    """Whether a step is a restart's, given the number of results before it (None: the search has not stalled)."""
    return restarted_at is not None and step % RESTARTS_PERIOD != 0


def axes_of_model(problem: Problem, relevant: Bools, *, seems_noisy: bool) -> Ints:
    """The continuous axes among those that matter, (d,), without one share of each mixture. There is no model, and so
    no axis, under constraints, conditions or noise, where some components of a mixture have to be absent, and none for
    several objectives, bounded metrics or gains per cost."""
    config, domain = problem.config, problem.domain
    without = config.metrics or config.noise_std is not None or problem.space.constraints or domain.activity.needs
    may_lack = not all(mixture.is_convex for mixture in problem.space.mixtures)
    if without or problem.has_several or seems_noisy or may_lack:
        return np.zeros(0, dtype=np.int64)
    axes = np.setdiff1d(np.flatnonzero(relevant), [*domain.discrete, *domain.remainders])
    return axes if len(axes) <= MOST_AXES else axes[:0]


def coefficients(axes: int) -> int:
    """Of a quadratic function of so many axes."""
    return (axes + 1) * (axes + 2) // 2


def fewest_for_model(axes: int) -> int:
    """Results that a model of so many axes needs."""
    return coefficients(axes) + 1

"""The posterior with a prior on the optimum, as the search sees it.

The search maximises

    f~(x) + (GAMMA / n) sigma_f log pi(x),

where n counts suggestions and pi is the prior relative to its largest value (``engine.prior``; Hvarfner et al. 2022,
"pi-BO", have pi to the power of gamma / n times an expected improvement). With no results the first term is constant,
so the search begins where the prior is largest. As n grows the second one fades. The posterior is what it was, and with
it all that is predicted or recommended.

A prior may mislead, so results decide on whether it counts: the second suggestion does without it, and the others have
it while the best quarter of the results lies where it is larger than at the average result. Of several objectives, each
has the term, and the results on the front take the place of the best quarter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import lbfgs
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.transferred import Transferred
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

GAMMA = 2.0
"""Of the prior, at the first suggestion, in standard deviations of the objective per unit of log pi."""
FREE = 1
"""The step, counted from 0, that does without the prior: what the prior is compared with."""
BEST = 4
"""One of so many results is among the best."""
DRAWN = 50
"""Candidates that are drawn from the prior."""
STREAM = 1 << 32
"""Added to steps, so that these draws are not those of the other candidates."""
ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class PriorWeighted:
    """A posterior whose upper confidence bound has a term for the prior. It has the methods of ``Surrogate`` that the
    search needs; mean and deviation are the posterior's."""

    posterior: Surrogate | Transferred
    space: Space
    prior: Prior
    weight: float = GAMMA
    """GAMMA / n."""

    def of_step(self, step: int) -> PriorWeighted:
        """As decision ``step``, counted from 0, has it."""
        posterior = self.posterior.of_step(step) if isinstance(self.posterior, Transferred) else self.posterior
        return replace(self, posterior=posterior, weight=0.0 if step == FREE else GAMMA / (step + 1))

    def mean(self, positions: Array) -> Array:
        """As ``Surrogate.mean``."""
        return self.posterior.mean(positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """As ``Surrogate.mean_and_std``."""
        return self.posterior.mean_and_std(positions)

    def ucb(self, positions: Array, beta: float) -> Array:
        """The index at cube positions (k, d), shape (k,)."""
        return self.posterior.ucb(positions, beta) + self._scale * self.prior.log_density(self.space, positions)

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """The index, (k,), and its gradient in the cube, (k, d)."""
        value, slope = self.posterior.ucb_and_gradient(positions, beta)
        belief, slope_of_belief = self.prior.log_density_and_gradient(self.space, positions)
        return value + self._scale * belief, slope + self._scale * slope_of_belief

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> PriorWeighted:
        """As ``Surrogate.condition``."""
        return replace(self, posterior=self.posterior.condition(positions, outputs, noise_ratios))

    def candidates(self, draw: tuple[int, int]) -> Array:
        """Positions, (k, d), that the prior favours, and those of older studies."""
        d = self.space.dimension
        drawn = self.prior.drawn(uniforms(draw[0], STREAM + draw[1], DRAWN * d).reshape(DRAWN, d))
        if not isinstance(self.posterior, Transferred):
            return drawn
        return np.concatenate([drawn, self.posterior.candidates(draw)])

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Maxima near some positions, (k, d), along the free axes of each, (k, d): see ``lbfgs.maxima``."""
        return lbfgs.maxima(lambda positions: self.ucb_and_gradient(positions, beta), starts, free, ITERATIONS)

    @property
    def _scale(self) -> float:
        """Of log pi, in model output units."""
        return self.weight * float(np.sqrt(self.posterior.variance))


Single = Surrogate | PriorWeighted | Transferred
"""One objective as the search sees it."""


def best_quarter(record: Record) -> Ints:
    """Rows of the best results."""
    return np.argsort(-record.values, kind="stable")[: max(record.size // BEST, 1)]


def is_trusted(space: Space, prior: Prior, positions: Array, best: Ints) -> bool:
    """Whether the results speak for a prior, or do not speak yet.

    Args:
        space: of the study.
        prior: on the optimum.
        positions: (n, d) of the results.
        best: rows of the best ones.
    """
    if len(positions) <= FREE:
        return True
    belief = prior.log_density(space, positions)
    return bool(belief[best].mean() >= belief.mean())

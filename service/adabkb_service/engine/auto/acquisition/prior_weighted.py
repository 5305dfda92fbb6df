"""The posterior with a prior on the optimum, in the form that the search uses.

The search maximizes

    f~(x) + (GAMMA / n) sigma_f log pi(x),

where f~ is the upper confidence bound and sigma_f^2 the prior variance of the posterior (``surrogate``), n counts
suggestions, and pi is the prior on the optimum, relative to its largest value (``engine.prior``). Similarly, Hvarfner
et al. (2022, "pi-BO") multiply the expected improvement by a power of pi that decreases as 1 / n. Without results, the
first term is constant, so the search begins where the prior is largest. As n grows, the second term vanishes. It
affects only the search, not the predictions and recommendations.

Since a prior may be wrong, it is used only if the results support it. The second suggestion ignores it. The later ones
use it while the mean of log pi at the best quarter of the results is at least that at all results. With several
objectives, each has the term, and the results on the front replace the best quarter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.ascent import lbfgs
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.transferred import Transferred
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

GAMMA = 2.0
"""Weight of the prior at the first suggestion, in standard deviations of the objective per unit of log pi."""
STEP_WITHOUT_PRIOR = 1
"""The step, from 0, that ignores the prior, for comparison."""
MIN_RESULTS = 2
"""The minimum number of results by which the prior is judged."""
BEST = 4
"""The best 1 / ``BEST`` of the results are compared with all results."""
DRAWN = 50
"""The number of candidates drawn from the prior."""
STREAM = 1 << 32
"""Added to the step, for a separate random stream."""
ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class PriorWeighted:
    """A posterior whose upper confidence bound has a term for the prior. It has the methods of ``Surrogate`` that the
    search needs; mean and standard deviation are those of the posterior."""

    posterior: Surrogate | Transferred
    space: Space
    prior: Prior
    weight: float = GAMMA
    """GAMMA / n."""

    def of_step(self, step: int) -> PriorWeighted:
        """Return this posterior with the weight of the prior at a step, counted from 0."""
        posterior = self.posterior.of_step(step) if isinstance(self.posterior, Transferred) else self.posterior
        return replace(self, posterior=posterior, weight=0.0 if step == STEP_WITHOUT_PRIOR else GAMMA / (step + 1))

    def mean(self, positions: Array) -> Array:
        """See ``Surrogate.mean``."""
        return self.posterior.mean(positions)

    def mean_and_std(self, positions: Array) -> tuple[Array, Array]:
        """See ``Surrogate.mean_and_std``."""
        return self.posterior.mean_and_std(positions)

    def ucb(self, positions: Array, beta: float) -> Array:
        """Return the upper confidence bound plus the prior's term at cube positions (k, d), shape (k,)."""
        return self.posterior.ucb(positions, beta) + self._scale * self.prior.log_density(self.space, positions)

    def ucb_and_gradient(self, positions: Array, beta: float) -> tuple[Array, Array]:
        """Return the result of ``ucb``, (k,), and its gradient in the cube, (k, d)."""
        value, slope = self.posterior.ucb_and_gradient(positions, beta)
        belief, slope_of_belief = self.prior.log_density_and_gradient(self.space, positions)
        return value + self._scale * belief, slope + self._scale * slope_of_belief

    def condition(self, positions: Array, outputs: Array | None, noise_ratios: Array) -> PriorWeighted:
        """See ``Surrogate.condition``."""
        return replace(self, posterior=self.posterior.condition(positions, outputs, noise_ratios))

    def candidates(self, draw: tuple[int, int]) -> Array:
        """Return positions, (k, d), that the prior or older studies favor."""
        d = self.space.dimension
        drawn = self.prior.drawn(uniforms(draw[0], STREAM + draw[1], DRAWN * d).reshape(DRAWN, d))
        if not isinstance(self.posterior, Transferred):
            return drawn
        return np.concatenate([drawn, self.posterior.candidates(draw)])

    def ascend(self, starts: Array, beta: float, free: Bools) -> Array:
        """Return maxima near positions (k, d), along the free axes of each, (k, d): see ``lbfgs.maxima``."""
        return lbfgs.maxima(lambda positions: self.ucb_and_gradient(positions, beta), starts, free, ITERATIONS)

    @property
    def _scale(self) -> float:
        """The factor of log pi, in model output units."""
        return self.weight * float(np.sqrt(self.posterior.variance))


Single = Surrogate | PriorWeighted | Transferred
"""The posterior of one objective in the form that the search uses."""


def best_quarter(record: Record) -> Ints:
    """Return the rows of the best quarter of the results."""
    return np.argsort(-record.values, kind="stable")[: max(record.size // BEST, 1)]


def is_trusted(space: Space, prior: Prior, positions: Array, best: Ints) -> bool:
    """Return whether the results support a prior, or are too few to judge.

    Args:
        space: the space of the study.
        prior: the prior on the optimum.
        positions: (n, d) positions of the results.
        best: rows of the best results.
    """
    if len(positions) < MIN_RESULTS:
        return True
    belief = prior.log_density(space, positions)
    return bool(belief[best].mean() >= belief.mean())

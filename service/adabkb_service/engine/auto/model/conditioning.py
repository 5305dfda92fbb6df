"""The posterior conditioned on rows of a record: their positions, results, standard errors and plates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import noise, surrogate
from adabkb_service.engine.auto.model.likelihood import Hyperparameters
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.warp import Warp
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Given:
    """Rows of a record, for posteriors with different sets of hyperparameters and different warps."""

    positions: Array
    """(n, d)"""
    values: Array
    """(n,) results in the user's units."""
    errors: Array
    """(n,) standard errors in the user's units (see ``noise.errors``)."""
    plates: Ints | None
    """(n,) the plate of each row, -1 for none; None in a study without plates."""
    _outputs: dict[Warp, Array] = field(default_factory=dict)

    def outputs(self, warped: Warp) -> Array:
        """Return the model outputs, (n,), computed once for each warp."""
        if warped not in self._outputs:
            self._outputs[warped] = warped.forward(self.values)
        return self._outputs[warped]

    def posterior(
        self, domain: Domain, hyperparameters: Hyperparameters, warped: Warp, inducing: Array | None = None
    ) -> Surrogate:
        """Return the posterior given these rows.

        Args:
            domain, hyperparameters, warped: the model.
            inducing: (m, d) points to which the posterior is compressed; None for an exact posterior.

        Raises:
            FloatingPointError: the covariance overflows floating point.
        """
        kernel, variance = hyperparameters.kernel(domain), hyperparameters.variance
        noises = noise.ratios(hyperparameters, warped, self.values, self.errors)
        rows = self.positions, self.outputs(warped), noises, self.plates
        if inducing is None:
            return surrogate.exact(kernel, variance, *rows)
        return surrogate.compressed(kernel, variance, inducing, *rows)

    def conditioned(self, posterior: Surrogate, hyperparameters: Hyperparameters, warped: Warp) -> Surrogate:
        """Return a posterior that is also conditioned on these rows.

        Raises:
            FloatingPointError: the covariance overflows floating point.
        """
        noises = noise.ratios(hyperparameters, warped, self.values, self.errors)
        return posterior.condition(self.positions, self.outputs(warped), noises, self.plates)


def given_rows(problem: Problem, record: Record, rows: Ints | slice) -> Given:
    """Return some rows of a record."""
    errors = noise.errors(problem, record)[rows]
    return Given(record.positions[rows], record.values[rows], errors, record.plates_of(rows))


def given_last(problem: Problem, record: Record) -> Given:
    """Return the last row of a record."""
    return given_rows(problem, record, slice(record.size - 1, record.size))

"""BoTorch as its tutorials use it: a SingleTaskGP with its default priors and noisy log expected improvement.

With categories it is a MixedSingleTaskGP. Parameters with finitely many values and the others are optimized
alternately.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters


class BotorchGP(Method):
    """Twice as many Sobol points as axes, then one fit and one maximized acquisition per point; in the unit cube."""

    def __init__(self, space: Space, seed: int) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        d = space.dimension
        self._space = space
        self._cube = torch.stack([torch.zeros(d), torch.ones(d)]).double()
        values = {i: middles(axis.count) for i, axis in enumerate(space.axes) if axis.count is not None}
        self._categorical = {i: values[i] for i, axis in enumerate(space.axes) if isinstance(axis, ChoiceAxis)}
        self._ordered = {i: each for i, each in values.items() if i not in self._categorical}
        self._initial = draw_sobol_samples(self._cube, n=2 * d, q=1, seed=seed).squeeze(1)
        self._points: list[list[float]] = []
        self._values: list[float] = []

    def ask(self) -> Parameters:
        """A Sobol point, or the acquisition's maximizer."""
        n = len(self._values)
        point = self._initial[n] if n < len(self._initial) else self._maximizer()
        return self._space.decode(np.clip(point.numpy(), 0.0, 1.0))

    def tell(self, parameters: Parameters, value: float) -> None:
        """Store the result."""
        self._points.append(self._space.encode(parameters).tolist())
        self._values.append(-value)

    def _maximizer(self) -> torch.Tensor:
        X = torch.tensor(self._points, dtype=torch.float64)
        y = torch.tensor(self._values, dtype=torch.float64)[:, None]
        with warnings.catch_warnings():
            # Warnings of fits that were repeated; only their final result matters.
            warnings.simplefilter("ignore")
            if self._categorical:
                model = MixedSingleTaskGP(X, y, cat_dims=[*self._categorical], outcome_transform=Standardize(m=1))
            else:
                model = SingleTaskGP(X, y, outcome_transform=Standardize(m=1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = qLogNoisyExpectedImprovement(model, X_baseline=X, prune_baseline=True)
            if self._categorical or self._ordered:
                point, _ = optimize_acqf_mixed_alternating(
                    acquisition,
                    self._cube,
                    discrete_dims=self._ordered,
                    cat_dims=self._categorical,
                    num_restarts=10,
                    raw_samples=256,
                )
            else:
                point, _ = optimize_acqf(acquisition, self._cube, q=1, num_restarts=10, raw_samples=256)
        return point.squeeze(0)


def middles(count: int) -> list[float]:
    """The positions of the values of an axis with finitely many."""
    return [(index + 0.5) / count for index in range(count)]

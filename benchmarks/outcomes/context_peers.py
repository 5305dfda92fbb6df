"""BoTorch as a peer for contexts: a Gaussian process of all parameters, and an acquisition that is maximised with the
context as a fixed feature. It is imported only when it runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np
import torch
from botorch.acquisition import PosteriorMean
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.functions import Array

if TYPE_CHECKING:
    from benchmarks.outcomes.contexts import InContext

RESTARTS, SAMPLES = 4, 128
"""Settings of ``optimize_acqf``."""


def botorch(problem: InContext, seed: int, counts: Collection[int], recommend: Callable[[Array], None]) -> None:
    """Search with a SingleTaskGP and noisy log expected improvement, after twice as many Sobol points as parameters."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    d = problem.chosen
    cube = torch.stack([torch.zeros(d + 1), torch.ones(d + 1)]).double()
    first = draw_sobol_samples(cube[:, :d], n=2 * (d + 1), q=1, seed=seed).squeeze(1).numpy()
    positions, values = np.zeros((0, d + 1)), np.zeros(0)
    for number, (at, noise) in enumerate(zip(problem.contexts, problem.noise, strict=True), 1):
        if number <= len(first):
            point = first[number - 1]
        else:
            model = _fitted(positions, values)
            acquisition = qLogNoisyExpectedImprovement(model, X_baseline=torch.tensor(positions), prune_baseline=True)
            point = _maximum(acquisition, cube, float(at))
        value = float(problem.values(point[None], float(at))[0] + noise)
        positions, values = np.vstack([positions, [*point, at]]), np.append(values, value)
        if number in counts:
            mean = PosteriorMean(_fitted(positions, values))
            recommend(np.array([_maximum(mean, cube, float(each)) for each in problem.judged]))


def _fitted(positions: Array, values: Array) -> SingleTaskGP:
    model = SingleTaskGP(torch.tensor(positions), torch.tensor(values)[:, None], outcome_transform=Standardize(m=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that were repeated
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _maximum(acquisition: AcquisitionFunction, cube: torch.Tensor, context: float) -> Array:
    """The point (chosen,) with the largest acquisition in a context."""
    d = cube.shape[1] - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = optimize_acqf(
            acquisition, cube, q=1, num_restarts=RESTARTS, raw_samples=SAMPLES, fixed_features={d: context}
        )
    point: Array = found.squeeze(0)[:d].numpy()
    return point

"""BoTorch for several objectives, as in its tutorials: a SingleTaskGP, and noisy expected hypervolume improvement."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from botorch.utils.multi_objective.hypervolume import infer_reference_point
from botorch.utils.multi_objective.pareto import is_non_dominated
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.functions import Array
from benchmarks.outcomes.objective_problems import Traded


def nehvi(problem: Traded, seed: int, budget: int) -> list[tuple[float, ...]]:
    """Twice as many Sobol points as axes, then one fit and one maximized acquisition per point, in the unit cube; the
    reference point is inferred from the front so far. Returns the objectives of each evaluation."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    space, d = problem.space, problem.space.dimension
    cube = torch.stack([torch.zeros(d), torch.ones(d)]).double()
    points = draw_sobol_samples(cube, n=2 * d, q=1, seed=seed).squeeze(1)[:budget]
    found = [_evaluated(problem, point) for point in points]
    while len(found) < budget:
        X = torch.stack([torch.tensor(space.encode(space.decode(_inside(point)))) for point in points])
        points = torch.cat([points, _maximizer(X, -torch.tensor(found, dtype=torch.float64), cube)])
        found.append(_evaluated(problem, points[-1]))
    return found


def _maximizer(X: torch.Tensor, Y: torch.Tensor, cube: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        # Warnings of fits that were repeated; only their final result matters.
        warnings.simplefilter("ignore")
        model = SingleTaskGP(X, Y, outcome_transform=Standardize(m=Y.shape[1]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        reference = infer_reference_point(Y[is_non_dominated(Y)])
        acquisition = qLogNoisyExpectedHypervolumeImprovement(model, reference, X_baseline=X, prune_baseline=True)
        point, _ = optimize_acqf(acquisition, cube, q=1, num_restarts=10, raw_samples=256)
    return point.detach()


def _evaluated(problem: Traded, point: torch.Tensor) -> tuple[float, ...]:
    return problem.evaluate(problem.space.decode(_inside(point)))


def _inside(point: torch.Tensor) -> Array:
    inside: Array = np.clip(point.numpy(), 0.0, 1.0)
    return inside

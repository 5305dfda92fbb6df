"""A model of where evaluations fail: a Gaussian process with value +1 at finished points and -1 at failed ones.

It has its own hyperparameters, learned like those of the objective. The search treats it as a metric with the lower
bound ``LEAST``. So the search avoids regions where points fail. The width of the bound alternates (``outcomes``), which
explores the boundaries of these regions. Failures that do not depend on the point appear as noise, and have little
effect.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.outcomes import Bounded
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.failures import are_many
from adabkb_service.engine.auto.model import likelihood, surrogate
from adabkb_service.engine.auto.model.likelihood import Evidence
from adabkb_service.engine.auto.model.rows import best_and_sample

Array = NDArray[np.float64]

LEAST = 0.0
"""The lower bound: halfway between failed and finished points."""
MOST = (200, 200)
"""The maximum numbers of failed and of finished points in the model."""
LEARNED_FROM = (50, 50)
"""The maximum numbers of failed and of finished points from which the hyperparameters are learned."""
NOISE = 0.01
"""Initial noise ratio of the hyperparameter search."""


def finish_probability(problem: Problem, finished: Array, failed: Array, points: Array) -> Array | None:
    """Return the probability that points, (k, d), finish instead of failing, (k,), given finished points, (n, d), and
    failed points, (f, d). None while so few points fail that the model cannot learn where.

    The posterior mean of the labels +1 and -1 is 2 p - 1. Far from all points, it tends to the estimated constant mean
    of the labels.
    """
    if not are_many(len(finished), len(failed)):
        return None
    found: Array = np.clip((1.0 + finishing(problem, finished, failed).posterior.mean(points)) / 2.0, 0.0, 1.0)
    return found


def finishing(problem: Problem, finished: Array, failed: Array) -> Bounded:
    """Return the model as a metric with a bound, given finished points, (n, d), and failed points, (f, d)."""
    labels, domain = np.repeat([1.0, -1.0], [len(finished), len(failed)]), problem.domain
    rows = best_and_sample(problem.seed, -labels, *MOST)
    positions, labels = np.concatenate([finished, failed])[rows], labels[rows]
    some = best_and_sample(problem.seed, -labels, *LEARNED_FROM)
    evidence = Evidence.over(domain, positions[some], labels[some], np.zeros(len(some)), smooth=False)
    known = likelihood.learn(evidence, [replace(likelihood.prior_of(domain), noise_ratio=NOISE)])
    kernel = known.kernel(domain)
    noises = np.full(len(labels), known.noise_ratio)
    posterior = surrogate.exact(kernel, known.variance, positions, labels, noises)
    return Bounded(posterior, LEAST, np.inf, known.noise_ratio)

"""Where evaluations fail: a Gaussian process given +1 at finished points and -1 at failed ones.

It has hyperparameters of its own, learned as those of the objective are. The search treats it as a metric that has to
be at least ``LEAST``, so it avoids regions where points fail and looks, by turns, closely and widely at their edge
(``outcomes``). Failures that have nothing to do with where a point is come out as noise, and change little.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, surrogate
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import Evidence
from adabkb_service.engine.auto.outcomes import Bounded
from adabkb_service.engine.auto.rows import best_and_sample

Array = NDArray[np.float64]

LEAST = 0.0
"""What points have to be at least: halfway between those that fail and those that finish."""
MOST = (200, 200)
"""Failed and finished points that are looked at, at most."""
LEARNED_FROM = (50, 50)
"""Of these, those that the hyperparameters are learned from, at most."""
FEWEST, SHARE = 3, 0.4
"""Failed points, and their share of all points with an outcome, from which on it is learned where they fail. Before,
they are vague results (``handed_out``): a region that is closed on little evidence may hold the optimum."""
NOISE = 0.01
"""Noise ratio that the search for hyperparameters starts from."""


def are_many(finished: int, failed: int) -> bool:
    """Whether so many points fail that it is worth learning where."""
    return failed >= FEWEST and failed >= SHARE * (finished + failed)


def finishing(problem: Problem, finished: Array, failed: Array) -> Bounded:
    """What is known of finishing, as a metric with a bound, given finished points, (n, d), and failed ones, (f, d)."""
    labels, domain = np.repeat([1.0, -1.0], [len(finished), len(failed)]), problem.domain
    rows = best_and_sample(problem.seed, -labels, *MOST)
    positions, labels = np.concatenate([finished, failed])[rows], labels[rows]
    some = best_and_sample(problem.seed, -labels, *LEARNED_FROM)
    evidence = Evidence.over(domain, positions[some], labels[some], np.zeros(len(some)))
    known = likelihood.learn(evidence, [replace(likelihood.prior_of(domain), noise_ratio=NOISE)])
    kernel = known.kernel(domain.categorical, domain.components, domain.periodic)
    noises = np.full(len(labels), known.noise_ratio)
    posterior = surrogate.exact(kernel, known.variance, positions, labels, noises)
    return Bounded(posterior, LEAST, np.inf, known.noise_ratio)

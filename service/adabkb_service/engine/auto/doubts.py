"""Results that the others contradict, in studies that want to know (``Config.robust``).

One after the other, the result that is farthest from what the others predict gets noise of its own, as much as explains
it. It stays if that raises the posterior density of the hyperparameters, learned anew, by ``EVIDENCE`` times the number
of results, one of which was chosen; the idea is relevance pursuit (Ament et al. 2024, "Robust Gaussian processes via
relevance pursuit"). A result with a replicate that agrees is not doubted.

It is a function of the results alone. Beyond ``EACH`` of them it is computed when a tenth of them is new, and after a
replicate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, surrogate, warp
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.rows import to_learn_from
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

FEWEST = 8
"""Results from which on one may be doubted."""
EACH = 20
"""Results up to which doubts are computed with each of them."""
GROWTH = 10
"""Beyond, when one in so many is new."""
MOST = 10
"""At most one in so many results is doubted, and one in any case."""
SUSPECT = 2.0
"""Standard deviations from its prediction, from which on a result may be doubted."""
MATERIAL = 0.25
"""Distance from its prediction at least, in standard deviations of all results: what is closer does no harm, and a
replicate that is closer agrees."""
EVIDENCE = 20.0
"""What noise of its own has to raise the posterior density by, times the number of results."""


def declared(problem: Problem, record: Record) -> Array:
    """(T,) standard errors in the user's units: those of the results, or else the study's; 0 if neither is known."""
    return np.where(record.errors > 0.0, record.errors, problem.config.noise_std or 0.0)


def doubts(problem: Problem, record: Record) -> Mapping[int, float]:
    """By row of the record the standard deviation, in the user's units, of the noise that a doubted result has beside
    that of all."""
    if not problem.config.robust or record.size < FEWEST:
        return {}
    return problem.remembered("doubts", record.first(_as_of(record)), _found)


def awaiting_replicates(problem: Problem, record: Record) -> Ints:
    """Rows of doubted results at points that have no other result."""
    counts = np.bincount(record.ordinals)
    return np.array([row for row in doubts(problem, record) if counts[record.ordinals[row]] == 1], dtype=np.int64)


def _as_of(record: Record) -> int:
    """The number of results that doubts rest on."""
    found = following = min(record.size, EACH)
    while following <= record.size:
        found, following = following, following + max(1, following // GROWTH)
    is_replicate = np.ones(record.size, dtype=bool)
    is_replicate[record.first_rows()] = False
    return max(found, int(np.flatnonzero(is_replicate).max(initial=-1)) + 1)


def _found(problem: Problem, record: Record) -> dict[int, float]:
    rows = to_learn_from(problem.seed, record.values)
    if not np.ptp(record.values) > 0.0:
        return {}
    warped, prior = warp.fit(record.values, warp.POWERS), likelihood.prior_of(problem.domain)
    evidence = _evidence(problem, record, rows, warped)
    starts = [prior, *(replace(prior, noise_ratio=ratio) for ratio in likelihood.NOISY_STARTS)]
    is_confirmed = _are_confirmed(record.ordinals[rows], evidence.outputs)
    known, found = likelihood.learn(evidence, starts), dict[int, float]()
    value, needed = _value(evidence, known), math.log(EVIDENCE * len(rows))
    for _ in range(max(1, len(rows) // MOST)):
        try:
            off, deviations = _left_out(evidence, known)
        except FloatingPointError:
            break
        suspicions = np.abs(off) / deviations
        suspicions[is_confirmed] = 0.0
        suspicions[list(found)] = 0.0
        row = int(np.argmax(suspicions))
        if not (suspicions[row] > SUSPECT and abs(off[row]) > MATERIAL):
            break
        excess = (off[row] ** 2 - deviations[row] ** 2) / known.variance
        extra = evidence.extra.copy()
        extra[row] += excess
        weighed = replace(evidence, extra=extra)
        relearned = likelihood.learn(weighed, [known, prior])
        after = _value(weighed, relearned)
        if value - after < needed:
            break
        found[row] = math.sqrt(excess * known.variance)
        evidence, known, value = weighed, relearned, after
    slopes = warped.slope(record.values[rows])
    return {int(rows[row]): deviation / float(slopes[row]) for row, deviation in sorted(found.items())}


def _evidence(problem: Problem, record: Record, rows: Ints, warped: warp.Warp) -> Evidence:
    values, known = record.values[rows], declared(problem, record)[rows]
    extra = (known * warped.slope(values)) ** 2
    return Evidence.over(problem.domain, record.positions[rows], warped.forward(values), extra)


def _are_confirmed(ordinals: Ints, outputs: Array) -> Bools:
    """Which results have a replicate that agrees, given their points and outputs, (n,) each."""
    order = np.lexsort((outputs, ordinals))
    agree = (np.diff(ordinals[order]) == 0) & (np.diff(outputs[order]) < MATERIAL)
    found = np.zeros(len(ordinals), dtype=bool)
    found[order[1:][agree]] = found[order[:-1][agree]] = True
    return found


def _value(evidence: Evidence, known: Hyperparameters) -> float:
    return evidence.negative_log_posterior(known.parameters())[0]


def _left_out(evidence: Evidence, known: Hyperparameters) -> tuple[Array, Array]:
    """How far each output is from what the others predict, and the standard deviation of that, (n,) each: see
    ``left_out``."""
    kernel = known.kernel(evidence.categorical, evidence.components, evidence.periodic)
    noises = known.noise_ratio + evidence.extra
    posterior = surrogate.exact(kernel, known.variance, evidence.positions, evidence.outputs, noises)
    inverse = np.einsum("ij,ij->j", posterior.factor, posterior.factor)
    return posterior.weights / inverse, np.sqrt(known.variance / inverse)

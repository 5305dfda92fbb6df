"""Doubted results: results that contradict the others; only in studies with ``Config.robust``.

In each step, the result that is farthest from its prediction by the others gets enough additional noise to explain the
distance, and the hyperparameters are learned again. The noise is kept if their posterior density rises by a factor of
at least ``EVIDENCE`` times the number of results. (The number of results corrects for the choice of the farthest one.)
Otherwise, the search for doubted results ends. The idea is relevance pursuit (Ament et al. 2024, "Robust Gaussian
processes via relevance pursuit"). A result that a replicate confirms is not doubted.

Doubts depend on the results alone. With more than ``EACH`` results they are computed when a tenth of the results is
new, and after a replicate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.model import likelihood, surrogate, warp
from adabkb_service.engine.auto.model.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.model.rows import to_learn_from
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

FEWEST = 8
"""The minimum number of results for doubts."""
EACH = 20
"""The maximum number of results for which doubts are computed with each new result."""
GROWTH = 10
"""With more results, doubts are computed when one in this many is new."""
MOST = 10
"""At most one in this many results is doubted, but one is always allowed."""
SUSPECT = 2.0
"""The minimum distance of a doubted result from its prediction, in standard deviations of the prediction."""
MATERIAL = 0.25
"""The minimum distance of a doubted result from its prediction, in model output units, in which the standard deviation
of distinct results is 1. Smaller errors do no harm, and a replicate within this distance confirms a result."""
EVIDENCE = 20.0
"""Factor, per result, by which the additional noise must raise the posterior density."""


def declared(problem: Problem, record: Record) -> Array:
    """Return standard errors, (T,), in the user's units: that of the result, else that of the study, else 0."""
    return np.where(record.errors > 0.0, record.errors, problem.config.noise_std or 0.0)


def doubts(problem: Problem, record: Record) -> Mapping[int, float]:
    """Return, by row of the record, the standard deviation of a doubted result's additional noise, in the user's
    units."""
    if not problem.config.robust or record.size < FEWEST:
        return {}
    return problem.remembered("doubts", record.first(_as_of(record)), _found)


def awaiting_replicates(problem: Problem, record: Record) -> Ints:
    """Return the rows of doubted results without a replicate."""
    counts = np.bincount(record.ordinals)
    return np.array([row for row in doubts(problem, record) if counts[record.ordinals[row]] == 1], dtype=np.int64)


def _as_of(record: Record) -> int:
    """Return the number of results from which doubts are computed."""
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
    warped = warp.fit(record.values, warp.POWERS)
    prior = likelihood.prior_of(problem.domain, has_plates=problem.config.has_plates)
    evidence = _evidence(problem, record, rows, warped)
    starts = [prior, *likelihood.further_starts(prior)]
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
    outputs, plates = warped.forward(values), record.plates_of(rows)
    return Evidence.over(problem.domain, record.positions[rows], outputs, extra, plates=plates)


def _are_confirmed(ordinals: Ints, outputs: Array) -> Bools:
    """Return which results a replicate confirms, given their points and outputs, (n,) each."""
    order = np.lexsort((outputs, ordinals))
    agree = (np.diff(ordinals[order]) == 0) & (np.diff(outputs[order]) < MATERIAL)
    found = np.zeros(len(ordinals), dtype=bool)
    found[order[1:][agree]] = found[order[:-1][agree]] = True
    return found


def _value(evidence: Evidence, known: Hyperparameters) -> float:
    return evidence.negative_log_posterior(known.parameters())[0]


def _left_out(evidence: Evidence, known: Hyperparameters) -> tuple[Array, Array]:
    """Return the distance of each output from its prediction by the others, and the standard deviation of that
    prediction, (n,) each: see the module ``left_out``."""
    kernel = known.kernel(evidence)
    noises = known.noise_ratio + evidence.extra
    given = evidence.positions, evidence.outputs, noises, evidence.plates
    posterior = surrogate.exact(kernel, known.variance, *given)
    precisions = posterior.precisions()
    return posterior.weights / precisions, np.sqrt(known.variance / precisions)

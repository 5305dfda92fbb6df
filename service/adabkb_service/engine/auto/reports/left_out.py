"""Leave-one-out predictions: each result as predicted from the others, as a check of the model.

With outputs z, K the covariance of the rows and N their noise, Q = (K + N)^-1 and a = Q z, the distribution of a result
given all others has a closed form (Rasmussen and Williams 2006, eq. 5.12):

    mean_i = z_i - a_i / Q_ii        variance_i = sigma_i^2 / Q_ii

sigma_f^2 is profiled, so it also has a closed form without the result:

    sigma_i^2 = sigma_f^2 (s - a_i^2 / Q_ii) / s * n / (n - 1),    s = z' a

Otherwise an outlying result would widen the interval that is used to judge it. Everything else stays as learned from
all results: lengthscales, noise ratios, warps and the weights of the members (``averaged``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import stdtr

from adabkb_service.engine.answers import Judged, LeftOut
from adabkb_service.engine.auto.model.averaged import INTERVALS, NEGLIGIBLE, Averaged, Member, prediction
from adabkb_service.engine.auto.model.conditioning import given_rows
from adabkb_service.engine.auto.model.doubts import doubts
from adabkb_service.engine.auto.model.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.model.noise import errors, noise_ratios, ratios
from adabkb_service.engine.auto.model.rows import best_and_sample
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.reports.averaging import averaged
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.record import rows_at

Array = NDArray[np.float64]

MOST = (400, 400)
"""The maximum numbers of best and of other results that are predicted, each from the rest of them."""
MIN_SHARE = 1e-6
"""The minimum share of sigma_f^2 that remains without a result."""


def left_out(state: State) -> LeftOut | None:
    """Return the leave-one-out predictions; None before hyperparameters are learned, if all results are equal, or if
    the covariance overflows floating point."""
    found = _left_out(state)
    if found is None:
        return None
    predicted = prediction(found.posterior.of_moments(found.medians, found.deviations, INTERVALS))
    is_noisy = state.declares_noise or state.seems_noisy
    noise = np.median(_noises(state, found.posterior, found.rows), axis=0) if is_noisy else None
    return LeftOut(found.rows, found.tails(state.record.values[found.rows]), found.doubted, predicted, noise)


def judged(state: State) -> Judged | None:
    """Return how probable each result is, given the others, without the predictions. With a dictionary, judge the
    results up to the last checkpoint: they then need an exact posterior, which takes too long to compute after each
    result."""
    if state.checkpoint.dictionary is None:
        return _judged(state)
    count, known = state.checkpoint.count, state.checkpoint.judged
    if count not in known:
        known[count] = _judged(replace(state, record=state.record.first(count)))
    return known[count]


def _judged(state: State) -> Judged | None:
    found = _left_out(state)
    if found is None:
        return None
    return Judged(found.rows, found.tails(state.record.values[found.rows]), found.doubted)


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """The distribution of each of n results, given the others, under each member."""

    rows: NDArray[np.int64]
    posterior: Averaged
    medians: Array
    deviations: Array
    """(members, n) in model output units."""
    doubted: NDArray[np.bool_]

    def tails(self, values: Array) -> Array:
        """Return the probabilities, (n,), of values at least as extreme as these results, (n,)."""
        below = [
            stdtr(each.degrees, (each.warp.forward(values) - median) / deviation)
            for each, median, deviation in zip(self.posterior.members, self.medians, self.deviations, strict=True)
        ]
        share = np.mean(below, axis=0)
        tails: Array = 2.0 * np.minimum(share, 1.0 - share)
        return tails


def _left_out(state: State) -> _LeftOut | None:
    record = state.record
    if record.size < MIN_RESULTS or record.values.min() == record.values.max():
        return None
    rows = best_and_sample(state.problem.seed, record.values, *MOST)
    known = _given(state, rows)
    if known is None:
        return None
    values, doubted = record.values[rows], np.zeros(record.size)
    for row, deviation in doubts(state.problem, record).items():
        doubted[row] = deviation
    known_errors = np.sqrt(np.maximum(errors(state.problem, record)[rows] ** 2 - doubted[rows] ** 2, 0.0))
    moments = [_moments(each, values, known_errors, np.flatnonzero(doubted[rows])) for each in known.members]
    medians, deviations = (np.stack(each) for each in zip(*moments, strict=True))
    return _LeftOut(rows, known, medians, deviations, doubted[rows] > 0.0)


def _given(state: State, rows: NDArray[np.int64]) -> Averaged | None:
    """Return the averaged posterior conditioned on these rows of the record."""
    record = state.record
    known = averaged(state)
    if len(rows) == record.size and state.checkpoint.dictionary is None:
        return known
    warped, hyperparameters = state.warp, state.checkpoint.hyperparameters
    try:
        exact = given_rows(state.problem, record, rows).posterior(state.problem.domain, hyperparameters, warped)
    except FloatingPointError:
        return None
    return Averaged((Member(warped, exact, hyperparameters, len(rows)),), known.worst, known.best)


def _moments(member: Member, values: Array, known_errors: Array, doubted: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return mean and standard deviation of each output, (n,), given the others. The rows ``doubted`` have only the
    noise that they would have without a doubt, by their standard errors (n,)."""
    posterior, count, outputs = member.posterior, len(values), member.warp.forward(values)
    precisions = posterior.precisions()
    off = posterior.weights / precisions
    fit = float(outputs @ posterior.weights)
    share = np.maximum(1.0 - posterior.weights * off / max(fit, NEGLIGIBLE), MIN_SHARE) * count / (count - 1)
    variances = 1.0 / precisions
    if len(doubted):
        undoubted = ratios(member.hyperparameters, member.warp, values, known_errors)[doubted]
        variances[doubted] += undoubted - _noises_in(posterior, doubted)
    deviations = np.sqrt(np.maximum(posterior.variance * share * variances, 0.0))
    return outputs - off, np.maximum(deviations, NEGLIGIBLE)


def _noises_in(posterior: Surrogate, rows: NDArray[np.int64]) -> Array:
    """Return the noise ratios that an exact posterior was given for some rows, (k,). Those of doubted results may have
    changed since."""
    units = np.zeros((len(posterior.weights), len(rows)))
    units[rows, np.arange(len(rows))] = 1.0
    roots = solve_triangular(posterior.factor, units, trans=1, lower=True)  # W^-1 is a Cholesky factor of K + N
    prior = np.array([posterior.kernel.gram(each, each)[0, 0] for each in posterior.inducing[rows][:, None]])
    offsets = 0.0 if posterior.plates is None else posterior.kernel.plates or 0.0
    found: Array = (roots**2).sum(axis=0) - prior - offsets
    return found


def noise_at(state: State, point: Array) -> float | None:
    """Return the standard deviation of the noise of a result at a point (d,), in the user's units; None if the point
    was not evaluated. It is the root mean square over the members: with few results they differ, and a repeated result
    may differ by the noise of any of them."""
    rows = rows_at(state.record.positions, point)
    if not len(rows):
        return None
    noises = _noises(state, averaged(state), rows)
    with np.errstate(over="ignore"):
        found = float(np.sqrt(np.mean(noises**2)))
    return found if math.isfinite(found) else None


def _noises(state: State, known: Averaged, rows: NDArray[np.int64]) -> Array:
    """Return the standard deviations of the noise of results in the user's units, (members, n)."""
    values, found = state.record.values[rows], []
    for member in known.members:
        ratios = noise_ratios(state.problem, member.hyperparameters, member.warp, state.record, rows)
        with np.errstate(over="ignore", divide="ignore"):
            found.append(np.sqrt(ratios * member.posterior.variance) / member.warp.slope(values))
    return np.stack(found)

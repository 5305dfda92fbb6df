"""The posterior used in reports, averaged over hyperparameters and warps.

The search uses the maximum a posteriori hyperparameters, and the warp under which the results are closest to normal.
Its predictions are too confident, above all near the best point, where results are dense. The posterior in this module
is therefore a mixture of distributions. Its members are Gaussian processes conditioned on the same results:

* The warp of a member compresses only the results worse than the median, with one of ``POWERS``. The share of
  proposals (see below) with a power is proportional to the largest posterior density under this power.
* The parameters of a member are drawn from their posterior by importance resampling (Rubin 1988), under a wide prior of
  the noise. Proposals are drawn from the widened Laplace approximation around the maximum (Rasmussen and Williams 2006,
  section 3.4). Members are drawn from the proposals, with weights: the posterior density divided by the density of the
  approximation. The approximation alone is symmetric, but the posterior of the noise is skewed: with few
  results, most draws from the approximation would have too little noise.
* sigma_f^2 has a scaled inverse chi-squared distribution, its posterior, so a member's prediction has Student's t
  distribution.

With more than ``AVERAGED`` results, the only member has the maximum a posteriori parameters. Suggestions do not use
this posterior.

The gap depends on the parts of the space without results. For the gap, the parameters are learned only from results
that are ``apart``: near the best result, where results are dense, the objective is smoother than elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import chdtri, ndtri, stdtr, stdtrit

from adabkb_service.engine.answers import Prediction
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.model import likelihood, rows, warp
from adabkb_service.engine.auto.model.conditioning import Given, given_last, given_rows
from adabkb_service.engine.auto.model.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.model.noise import ratios
from adabkb_service.engine.auto.model.rows import best_and_sample
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.warp import HIGHEST, Warp
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]

MEMBERS = 8
"""Number of members of the mixture."""
AVERAGED = 200
"""The maximum number of results for which a mixture is computed."""
POWERS = (1.0, 0.5, 0.0, -0.5)
"""Powers of the warp for results worse than the median."""
LEARNED_FROM = (50, 50)
"""The maximum numbers of best and of other results from which the parameters are learned. For the gap, and with an
additive part, they are those of ``rows.LEARNED_FROM``."""
CONDITIONED_ON = (400, 400)
"""The maximum numbers of best and of other results on which the members are conditioned."""
APART = 0.1
"""The minimum distance between results that are apart, in units of sqrt(d). Different choices have distance 1."""
FEWEST = 8
"""The minimum number of results from which parameters are learned, whether they are apart or not."""
NOISE_PRIOR = (math.log(0.01), 3.0)
"""Prior of the logarithm of the noise ratio: mean and standard deviation. If the noise of all results is declared, or
results are exact, the prior is that of the search, ``likelihood.NOISE_PRIOR``, since further noise is improbable."""
PROPOSALS = 64
"""Number of proposals, of all warps together, from which the members are drawn."""
WIDENING = 1.3
"""Factor of the standard deviations of proposals, since the posterior has longer tails than its approximation."""
MIN_CURVATURE = 1.0 / NOISE_PRIOR[1] ** 2
"""Smallest curvature of the negative log posterior density along any direction: that of the prior of the noise."""
TEMPERING = 0.8
"""The logarithms of the weights are multiplied by this repeatedly, until enough proposals have weight."""
MIN_LOG_WEIGHT = -500.0
"""Smallest logarithm of a weight, relative to the largest one."""
DIFFERENCE = 1e-3
"""Step for finite differences of the curvature."""
MIN_NOISE = 1e-6
"""Smallest noise ratio of a member, which keeps the factorization stable."""
FAR = 5.0
"""If the model output of a new result is farther than this from 0, all parameters are learned again, since the warps do
not fit the result."""
FARTHEST = 10.0
"""Largest distance of a prediction from the range of the results, in multiples of the range. It limits extrapolation:
with a warp that is close to a logarithm, predictions grow exponentially."""
INTERVALS = (0.05, 0.15865525393145705, 0.8413447460685429, 0.95)
"""Probabilities of being below the ends of the 90% and of the 68% interval."""
LEVELS = (np.arange(40) + 0.5) / 40
"""Probabilities of the quantiles that represent a member in the mixture."""
CHUNK = 2048
"""The maximum number of positions whose quantiles are computed at a time."""
NEGLIGIBLE = 1e-300
"""Standard deviations below this are replaced by it."""
JITTERS = (1e-8, 1e-6, 1e-4)
"""Values added to the diagonal of the covariance of candidates that are close together. The first sufficient one is
used."""
STREAM = -1 << 41
"""Number of the random stream. No decision uses this stream."""


@dataclass(frozen=True, slots=True)
class Member:
    """A Gaussian process with its warp."""

    warp: Warp
    posterior: Surrogate
    hyperparameters: Hyperparameters
    degrees: int
    """Degrees of freedom of the posterior of sigma_f^2."""

    def below(self, positions: Array, value: float) -> Array:
        """Return the probabilities, (k,), that the objective at positions (k, d) is below a value in the user's
        units."""
        mean, deviation = self.posterior.mean_and_std(positions)
        bound = self.warp.forward(np.array([value]))[0] if math.isfinite(value) else value
        with np.errstate(over="ignore"):
            found: Array = stdtr(self.degrees, (bound - mean) / np.maximum(deviation, NEGLIGIBLE))
        return found

    def draws(self, positions: Array, draw: tuple[int, int], count: int) -> Array:
        """Return joint draws of the objective, (k, count), in model output units. Each has its own draw of sigma_f^2.

        Args:
            positions: (k, d) cube positions.
            draw: (seed, step) of the random stream.
            count: the number of draws.

        Raises:
            FloatingPointError: the positions lie too close together.
        """
        view = self.posterior
        scaled = view.kernel.scaled(positions)
        K = view.kernel.gram(scaled, view.inducing)
        V = K @ view.factor.T
        root = _root(view.kernel.gram(scaled, scaled) - V @ V.T)
        drawn = np.clip(uniforms(*draw, (len(positions) + 1) * count), 1e-12, 1.0 - 1e-12)
        scales = np.sqrt(view.variance * self.degrees / chdtri(self.degrees, drawn[:count]))
        normals = ndtri(drawn[count:]).reshape(len(positions), count)
        found: Array = (K @ view.weights)[:, None] + scales * (root @ normals)
        return found


@dataclass(frozen=True)
class Averaged:
    """The mixture, conditioned on some results. Its answers are in the user's units."""

    members: tuple[Member, ...]
    worst: float
    best: float
    """The worst and the best result. The range of a warp may end just beyond the best one."""

    def mean(self, positions: Array) -> Array:
        """Return the means, (k,), at positions (k, d): the median of the members' medians, which is robust
        to outlying members."""
        return self._in_parts(
            positions,
            lambda part: _middle(self._values(np.stack([each.posterior.mean(part) for each in self.members]))),
        )

    def mean_and_quantiles(self, positions: Array, levels: Sequence[float]) -> Array:
        """Return the means and the quantiles of the objective at positions (k, d), (1 + q, k), for probabilities
        (q,)."""

        def of_part(part: Array) -> Array:
            moments = [each.posterior.mean_and_std(part) for each in self.members]
            medians, deviations = np.stack(moments, axis=1)
            return self.of_moments(medians, deviations, levels)

        return self._in_parts(positions, of_part)

    def of_moments(self, medians: Array, deviations: Array, levels: Sequence[float]) -> Array:
        """Return the means and the quantiles, (1 + q, k), of a mixture of t distributions in model output units, one
        per member, given their medians and scales, (members, k) each."""
        steps = np.stack([_in_deviations(each.degrees) for each in self.members])
        spread = medians[:, :, None] + deviations[:, :, None] * steps[:, None, :]
        values = self._values(np.concatenate([medians[:, :, None], spread], axis=2))
        pooled = np.moveaxis(values[:, :, 1:], 0, 1).reshape(medians.shape[1], -1)
        return np.vstack([_middle(values[:, :, 0]), _quantiles(pooled, levels)])

    def between(self, positions: Array, lower: float, upper: float) -> Array:
        """Return the probabilities, (k,), that the objective is between two values, either of which may be infinite."""
        shares = [each.below(positions, upper) - each.below(positions, lower) for each in self.members]
        found: Array = np.clip(np.mean(shares, axis=0), 0.0, 1.0)
        return found

    def _in_parts(self, positions: Array, answer: Callable[[Array], Array]) -> Array:
        parts = [positions[i : i + CHUNK] for i in range(0, len(positions), CHUNK)] or [positions]
        return np.concatenate([answer(part) for part in parts], axis=-1)

    def _values(self, outputs: Array) -> Array:
        """Return the values in the user's units of the members' outputs, (members, ...)."""
        found = np.empty_like(outputs)
        for warped, those, reach in self._by_warp:
            found[those] = warped.inverse(np.clip(outputs[those], *reach))
        return self.limited(found)

    def limited(self, values: Array) -> Array:
        """Return values clipped to the range of possible predictions, so that they are finite."""
        found: Array = np.clip(values, *self._ends)
        return found

    @cached_property
    def _by_warp(self) -> list[tuple[Warp, list[int], tuple[float, float]]]:
        """Each warp, with the indices of its members and the range of model outputs that it can convert."""
        those: dict[Warp, list[int]] = {}
        for index, member in enumerate(self.members):
            those.setdefault(member.warp, []).append(index)
        return [(warped, indices, _reach(warped, self.worst, self.best)) for warped, indices in those.items()]

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The lowest and the highest possible prediction."""
        if self.worst == self.best:
            return -HIGHEST, HIGHEST
        beyond = FARTHEST * (self.best - self.worst)
        return max(self.worst - beyond, -HIGHEST), min(self.best + beyond, HIGHEST)


def prediction(found: Array) -> Prediction:
    """Return the prediction with these means and quantiles at ``INTERVALS``, (5, k). The standard deviation is half the
    width of the 68% interval."""
    mean, lcb, low, high, ucb = found
    return Prediction(mean, high / 2.0 - low / 2.0, lcb, ucb)


def _quantiles(values: Array, levels: Sequence[float]) -> Array:
    """Return the quantiles, (q, k), of finite values (k, n) for probabilities (q,), as ``numpy.quantile`` with the
    method "hazen", under which the levels of a single member reproduce its quantiles. A sort is ten times as fast."""
    ordered, count = np.sort(values, axis=1), values.shape[1]
    found = np.empty((len(levels), len(values)))
    for row, level in enumerate(levels):
        place = min(max(count * level + 0.5 - 1.0, 0.0), count - 1.0)
        low = int(place)
        before, after, share = ordered[:, low], ordered[:, min(low + 1, count - 1)], place - low
        difference = after - before
        found[row] = before + difference * share if share < 0.5 else after - difference * (1.0 - share)
    return found


def _middle(medians: Array) -> Array:
    """Return the median, (...), over the members, given their medians, (members, ...)."""
    middle: Array = 2.0 * np.median(medians / 2.0, axis=0)  # halved first, since a sum of two values may overflow
    return middle


@lru_cache(256)
def _reach(warped: Warp, worst: float, best: float) -> tuple[float, float]:
    """Return ``Warp.reach``, cached: most new results change neither the worst nor the best value."""
    return warped.reach(worst, best)


@cache
def _in_deviations(degrees: int) -> Array:
    """Return the quantiles that represent a t distribution, in units of its scale."""
    found: Array = stdtrit(degrees, LEVELS)
    return found


@dataclass(frozen=True, slots=True)
class _Fit:
    """Parameters learned under one warp."""

    warp: Warp
    evidence: Evidence
    parameters: Array
    log_density: float
    """The log density of results and parameters, in the units of the results, so that warps can be compared."""

    def log_density_at(self, parameters: Array) -> float:
        """Return the same log density at other parameters."""
        return self.evidence.log_slopes - self.evidence.negative_log_posterior(parameters)[0]


def learn(problem: Problem, record: Record, form: Hyperparameters, *, from_apart: bool = False) -> Averaged | None:
    """Return the mixture for a record of at least one result; None if no member's covariance can be factorized.

    Args:
        problem, record: the problem and the results of the study.
        form: hyperparameters that determine the form of the kernel: smooth or not, with or without an additive part.
            With an additive part, they are also the start of the search.
        from_apart: whether to learn the parameters only from results that are apart.
    """
    most = rows.LEARNED_FROM if from_apart or form.additive else LEARNED_FROM
    learned_from = best_and_sample(problem.seed, record.values, *most)
    learned_from = learned_from[apart(problem, record, learned_from)] if from_apart else learned_from
    errors = given_rows(problem, record, learned_from).errors
    fits = _fits(problem, record, learned_from, form, errors)
    if record.size > AVERAGED:
        likeliest = max(fits, key=lambda fit: fit.log_density)
        drawn = [(likeliest, likeliest.parameters)]
    else:
        drawn = _drawn(fits, problem.seed, record.size)
    given = given_rows(problem, record, best_and_sample(problem.seed, record.values, *CONDITIONED_ON))
    found = [_member(problem, given, fit, parameters) for fit, parameters in drawn]
    members = tuple(each for each in found if each is not None)
    return Averaged(members, float(record.values.min()), float(record.values.max())) if members else None


def apart(problem: Problem, record: Record, given: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices within ``given``, in increasing order, of the rows whose results are apart from all better
    ones that are kept. If these are fewer than ``FEWEST``, the best of the other rows are added."""
    positions, d = record.positions[given], problem.domain.dimension
    kept: list[int] = []
    left: list[int] = []
    for row in np.argsort(-record.values[given], kind="stable"):
        differences = problem.domain.differences(positions[kept], positions[row])
        squares = np.where(problem.domain.categorical, differences != 0.0, differences**2).sum(axis=1)
        (left if (squares < APART**2 * d).any() else kept).append(row)
    return np.sort(np.array(kept + left[: max(FEWEST - len(kept), 0)], dtype=np.int64))


def with_result(problem: Problem, known: Averaged, record: Record) -> Averaged | None:
    """Return the mixture, also conditioned on the last result of a record. None if the parameters must be learned
    again."""
    last, found = given_last(problem, record), []
    value = float(last.values[0])
    for member in known.members:
        if not np.abs(last.outputs(member.warp)[0]) < FAR:
            return None
        try:
            posterior = last.conditioned(member.posterior, member.hyperparameters, member.warp)
            found.append(replace(member, posterior=posterior))
        except FloatingPointError:
            return None
    return Averaged(tuple(found), min(known.worst, value), max(known.best, value))


def _fits(
    problem: Problem, record: Record, given: NDArray[np.int64], form: Hyperparameters, known_errors: Array
) -> list[_Fit]:
    """Learn the parameters under each warp from the rows ``given`` and their standard errors, (n,). Each search starts
    where that of the previous warp ended."""
    domain, values, found = problem.domain, record.values[given], []
    is_exact = problem.config.is_exact
    noise_prior = likelihood.NOISE_PRIOR if is_exact or known_errors.all() else NOISE_PRIOR
    prior = likelihood.prior_of(domain, has_plates=problem.config.has_plates)
    prior = replace(prior, noise_ratio=math.exp(noise_prior[0]))
    exact = replace(prior, noise_ratio=math.exp(likelihood.NOISE_PRIOR[0]))
    starts = [each.parameters() for each in (exact, *likelihood.further_starts(exact, is_exact=is_exact))]
    if form.additive is not None:
        prior, starts = form, [form.parameters()]
    few = record.size < likelihood.MIN_RESULTS
    for warped in _warps(record.values, warp.LINEAR.tolist() if few or form.additive else POWERS):
        declared = ratios(prior, warped, values, known_errors) - prior.noise_ratio
        outputs, log_slopes = warped.forward(values), float(warped.log_slope(values).sum())
        positions = np.ascontiguousarray(record.positions[given])
        likewise = {"log_slopes": log_slopes, "smooth": form.smooth, "noise_prior": noise_prior}
        plates = record.plates_of(given)
        evidence = Evidence.over(domain, positions, outputs, declared, plates=plates, **likewise)
        if few:
            found.append(_Fit(warped, evidence, prior.parameters(), 0.0))
            continue
        value, parameters, _ = min((evidence.maximum(start) for start in starts), key=lambda each: each[0])
        found.append(_Fit(warped, evidence, parameters, log_slopes - value))
        starts = [parameters]
    return found


def _warps(values: Array, powers: Sequence[float]) -> list[Warp]:
    """Return the candidate warps of these results, (n,). If the best result is far from the others, one more warp
    compresses the results better than the median, too."""
    found = [warp.of_worse(values, power) for power in powers]
    if found[0].robust(values).max() > FAR:
        found.append(warp.fit(values))
    return found


def _drawn(fits: list[_Fit], seed: int, count: int) -> list[tuple[_Fit, Array]]:
    """Return the warp and the parameters of each member, drawn from their posterior by importance resampling."""
    likeliest = max(fits, key=lambda fit: fit.log_density)
    shares = np.cumsum(np.exp([fit.log_density - likeliest.log_density for fit in fits]))
    steps, log_proposed = _proposed(likeliest, seed, count)
    proposals, log_weights = [], -log_proposed
    for k, step in enumerate(steps):
        fit = fits[int(np.searchsorted(shares, (k + 0.5) / PROPOSALS * shares[-1]))]
        proposals.append((fit, fit.parameters + step))
        log_weights[k] += fit.log_density_at(fit.parameters + step) - fit.log_density
    if count < likelihood.MIN_RESULTS:  # nothing is learned
        log_weights[:] = 0.0
    weights = np.cumsum(_weights(log_weights))
    return [proposals[int(np.searchsorted(weights, (k + 0.5) / MEMBERS * weights[-1]))] for k in range(MEMBERS)]


def _proposed(fit: _Fit, seed: int, count: int) -> tuple[Array, Array]:
    """Return the offset of each proposal from the maximum, (PROPOSALS, parameters), drawn from the widened Laplace
    approximation, and the logarithm of its density, (PROPOSALS,), up to a constant."""
    size = len(fit.parameters)
    gradient = fit.evidence.negative_log_posterior(fit.parameters)[1]
    moved = [fit.evidence.negative_log_posterior(fit.parameters + step)[1] for step in DIFFERENCE * np.eye(size)]
    curvature = (np.array(moved) - gradient) / DIFFERENCE
    curvatures, directions = np.linalg.eigh((curvature + curvature.T) / 2.0)
    drawn = np.clip(uniforms(seed, STREAM + count, PROPOSALS * size), 1e-12, 1.0 - 1e-12).reshape(PROPOSALS, size)
    normals = ndtri(drawn)
    deviations = WIDENING / np.sqrt(np.maximum(curvatures, MIN_CURVATURE))
    return normals * deviations @ directions.T, -0.5 * (normals**2).sum(axis=1)


def _weights(logarithms: Array) -> Array:
    """Return weights, (n,), with these logarithms. If necessary, all logarithms are first multiplied by the same
    factor, so that the effective number of proposals is at least ``MEMBERS``. With many parameters, one proposal might
    otherwise have most of the weight."""
    logarithms = np.maximum(np.nan_to_num(logarithms - logarithms.max(), nan=MIN_LOG_WEIGHT), MIN_LOG_WEIGHT)
    while True:
        weights: Array = np.exp(logarithms)
        if weights.sum() ** 2 >= MEMBERS * (weights @ weights):
            return weights
        logarithms = TEMPERING * logarithms


def _member(problem: Problem, rows: Given, fit: _Fit, parameters: Array) -> Member | None:
    """Return the member with these parameters, conditioned on these rows; None if its numbers overflow."""
    evidence = fit.evidence
    parameters = evidence.within_bounds(parameters, MIN_NOISE)
    variance = evidence.variance(parameters) if len(rows.values) >= likelihood.MIN_RESULTS else 1.0
    hyperparameters = evidence.hyperparameters(parameters, variance)
    try:
        posterior = rows.posterior(problem.domain, hyperparameters, fit.warp)
    except FloatingPointError:
        return None
    return Member(fit.warp, posterior, hyperparameters, len(evidence.outputs))


def _root(covariance: Array) -> Array:
    """Return a Cholesky factor of a matrix that is positive semidefinite up to rounding.

    Raises:
        FloatingPointError: even the largest of ``JITTERS`` does not make it positive definite.
    """
    for jitter in JITTERS:
        root, failed = lapack.dpotrf(covariance + jitter * np.eye(len(covariance)), lower=1)
        if not failed:
            found: Array = root
            return found
    raise FloatingPointError("the covariance of the candidates is not positive definite")

"""Maximum a posteriori estimation of the hyperparameters: lengthscales per axis, output scale and noise.

The negative log posterior is minimized over the logarithms of the lengthscales l and the noise ratio nu = noise
variance / output variance:

    (n / 2) log sigma_f^2 + (1 / 2) log |K| + sum (log l_k - mu0)^2 / 2 + (log nu - log 1e-4)^2 / (2 * 3^2)
    + sum (log m_j - mu1)^2 / 2

with K = k + MEAN_VARIANCE + diag(nu + extra), the profiled output scale sigma_f^2 = z' K^-1 z / n, and the prior's
center mu0 = log 0.5 + log(d / 3) / 2, where d is the largest number of axes that are active together: lengthscales are
longer in more dimensions. Along an axis whose expected length differs from 1 (``Domain.lengths``), the logarithm of
this length is added to mu0. The lengthscales m of descriptor components have their own center mu1. The prior of a
category with components expects a longer l, since descriptors should explain how its choices differ; if they do not,
learning makes m long and l short. The expected l of a catalogue is longer still, because none of its rows occurs
twice.

With an additive part, k is k_w with d + 2 further parameters (``additive``), if the results support it (``EVIDENCE``).

In a study with plates, results of the same plate share an offset with variance tau sigma_f^2: K also has the term
tau [same plate], and the negative log posterior the term (log tau - log 0.001)^2 / (2 * 2^2). A result without a plate
counts as the only one of its plate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from ctypes import byref, c_double
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.components import NONE, Components
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import additive
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.auto.model.kernel import MEAN_VARIANCE, Kernel, of_components, sine_columns
from adabkb_service.engine.auto.model.warp import LINEAR, POWERS
from adabkb_service.engine.native.library import COUNT, POINTER, reals, routine
from adabkb_service.engine.native.structures import Minimization, Priors, Results

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LENGTHSCALES = (0.02, 20.0)
"""Bounds of all lengthscales: l, m and a."""
COMPONENT_PRIOR, NAME_PRIOR = math.log(0.5), math.log(3.0)
"""mu1, and mu0 of categories with components."""
ROW_PRIOR = math.log(20.0)
"""mu0 of a catalogue. All rows differ, so only their numbers, not their names, can explain the differences."""
NOISES = (1e-7, 0.5)
"""Bounds of nu."""
NOISE_PRIOR = (math.log(1e-4), 3.0)
"""Prior of log nu: center and standard deviation."""
NOISY_STARTS = (0.01, 0.1)
"""Further noise ratios from which a search starts. Noise and short lengthscales may explain a few results equally well,
and a search that starts with little noise finds only short lengthscales."""
NOISY = 1e-3
"""Results count as noisy above this noise ratio, if it is declared, or if a smooth kernel is likelier than a rough
one."""
MIN_VARIANCE = 1e-4
"""The smallest sigma_f^2, in squared model output units."""
PLATES = (1e-6, 10.0)
"""Bounds of tau, the variance of the offsets of plates over sigma_f^2."""
PLATES_PRIOR = (math.log(0.001), 2.0)
"""Prior of log tau: center and standard deviation. It favors small offsets: differences that both parameters and
offsets can explain are more often due to parameters, above all those whose values a plate shares."""
PLATES_START = 0.1
"""A further value of tau from which a search starts."""
EVIDENCE = 1e3
"""An additive part is used only if it raises the maximum of the posterior density by at least this factor."""
EVALUATIONS = 60
"""The maximum number of evaluations of the negative log posterior per start."""
SMALL_GAIN = 1e-4
"""The search stops if a step lowers the negative log posterior by less than this."""
MAX_STEP = 1.0
"""The longest step along any parameter, in logarithms."""
FLAT = 1e-3
"""Largest component of a gradient that counts as 0."""
SUFFICIENT = 1e-4
"""The minimum gain of a step, as a share of the gain that the gradient predicts."""
MIN_RESULTS = 4
"""The minimum number of results for learning."""

_negative_log_posterior = routine("negative_log_posterior", POINTER, POINTER, COUNT, POINTER, POINTER, POINTER, POINTER)
_minimize = routine("minimize", POINTER, POINTER, POINTER, COUNT, POINTER, POINTER, POINTER)
_MINIMIZATION = Minimization(EVALUATIONS, SMALL_GAIN, MAX_STEP, FLAT, SUFFICIENT)


class Axes(Protocol):
    """The kinds of the axes of a space: a ``Domain``, or ``Evidence``."""

    @property
    def categorical(self) -> Bools:
        """(d,) which axes have unordered values."""

    @property
    def components(self) -> Components:
        """The coordinates of choices with descriptors."""

    @property
    def periodic(self) -> Bools | None:
        """(d,) which axes are periodic; None if none is."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The hyperparameters: lengthscales (d,) in the unit cube, noise ratio nu, and sigma_f^2 in model output units."""

    lengthscales: Array
    noise_ratio: float
    variance: float
    additive: Additive | None = None
    components: Array = field(default_factory=lambda: np.zeros(0))
    """(p,) lengthscales along the components of descriptors."""
    smooth: bool = False
    """Whether the kernel is Matern 5/2, in mixtures and for results with noise: see ``learn_smoothness``."""
    plates: float | None = None
    """tau, the variance of the offsets of plates over sigma_f^2; None in a study without plates."""

    def kernel(self, axes: Axes) -> Kernel:
        """Return the kernel of a space or of evidence.

        Raises:
            ValueError: the number of components differs from that of the lengthscales.
        """
        if len(axes.components) != len(self.components):
            raise ValueError(f"the descriptors have {len(axes.components)} components, not {len(self.components)}")
        along = self.lengthscales, axes.categorical, self.additive, axes.components, self.components
        return Kernel(*along, self.smooth, axes.periodic, self.plates)

    def shortest(self, components: Components) -> Array:
        """Return the lengthscale of each axis, (d,). For a category with components, it is the shortest of its own
        lengthscale and those of its components."""
        found = self.lengthscales.copy()
        np.minimum.at(found, components.axes, self.components)
        return found

    @property
    def form(self) -> tuple[bool, bool]:
        """The form of the kernel: whether it is smooth, and whether it has an additive part."""
        return self.smooth, self.additive is not None

    @property
    def powers(self) -> Array:
        """The powers of the warps that are compared, for this form of the kernel."""
        return POWERS if self.additive is None else LINEAR

    def parameters(self) -> Array:
        """Return the vector over which the negative log posterior is minimized: (d + p + 1,), or (2 d + p + 3,) with an
        additive part; with plates, one element more."""
        found: Array = np.log(np.concatenate([self.lengthscales, self.components, [self.noise_ratio]]))
        if self.additive is not None:
            found = np.append(found, self.additive.parameters())
        return found if self.plates is None else np.append(found, math.log(self.plates))


def prior_center(dimension: int) -> float:
    """Return mu0, the center of the prior of log l."""
    return math.log(0.5) + 0.5 * math.log(dimension / 3.0)


def prior_centers(
    dimension: int, together: int | None = None, components: Components = NONE, lengths: Array | None = None
) -> Array:
    """Return the prior centers of the logarithms of all lengthscales, (d + p,), with the arguments of ``prior``."""
    centers = np.full(dimension, prior_center(together or dimension))
    centers[components.axes] = np.where(components.of_rows, ROW_PRIOR, NAME_PRIOR)
    if lengths is not None:
        centers += np.log(lengths)
    return np.append(centers, np.full(len(components), COMPONENT_PRIOR))


def prior(
    dimension: int, together: int | None = None, components: Components = NONE, lengths: Array | None = None
) -> Hyperparameters:
    """Return the hyperparameters at the centers of their priors, which are used before there are enough results.

    Args:
        dimension: d, the number of axes.
        together: the maximum number of axes that are active together; None for all.
        components: the components of descriptors.
        lengths: (d,) factors of the expected lengthscales of the axes (``Domain.lengths``); None if all are 1.
    """
    lengthscales = np.exp(prior_centers(dimension, together, components, lengths))
    noise_ratio = math.exp(NOISE_PRIOR[0])
    return Hyperparameters(lengthscales[:dimension], noise_ratio, 1.0, components=lengthscales[dimension:])


def prior_of(domain: Domain, *, has_plates: bool = False) -> Hyperparameters:
    """Return ``prior`` for a space, with or without plates."""
    found = prior(domain.dimension, domain.together, domain.components, domain.lengths)
    found = replace(found, smooth=domain.is_smooth)
    return replace(found, plates=math.exp(PLATES_PRIOR[0])) if has_plates else found


def further_starts(start: Hyperparameters, *, is_exact: bool = False) -> list[Hyperparameters]:
    """Return further starts of a search, with more noise unless results are exact and, in a study with plates, with
    larger offsets."""
    noisy = [] if is_exact else [replace(start, noise_ratio=ratio) for ratio in NOISY_STARTS]
    return noisy if start.plates is None else [*noisy, replace(start, plates=PLATES_START)]


@dataclass(frozen=True)
class Evidence:
    """The data for learning: positions (n, d), model outputs (n,), known noise ratios (n,), categorical axes (d,)."""

    positions: Array
    outputs: Array
    extra: Array
    categorical: Bools
    log_slopes: float = 0.0
    """Sum over results of the log slope of the warp, so that likelihoods under different warps can be compared."""
    together: int | None = None  # maximum number of axes active together; None for all
    components: Components = NONE
    smooth: bool = False  # whether the kernel is Matern 5/2
    noise_prior: tuple[float, float] = NOISE_PRIOR  # of log nu: center and deviation
    periodic: Bools | None = None  # (d,) periodic axes; None if none is
    lengths: Array | None = None  # (d,) factors of the expected lengthscales (``Domain.lengths``); None if all are 1
    plates: Ints | None = None  # (n,) plate of each result, -1 for none; None in a study without plates

    @classmethod
    def over(cls, domain: Domain, positions: Array, outputs: Array, extra: Array, **given: Any) -> Self:
        """Return the evidence of results in a domain; ``given`` are the fields that do not follow from the domain."""
        return cls(
            positions,
            outputs,
            extra,
            domain.categorical,
            together=domain.together,
            components=domain.components,
            periodic=domain.periodic,
            lengths=domain.lengths,
            **{"smooth": domain.is_smooth, **given},
        )

    def negative_log_posterior(self, parameters: Array) -> tuple[float, Array]:
        """Return the negative log posterior and its gradient at ``Hyperparameters.parameters``: log (l_1 .. l_d,
        m_1 .. m_p, nu), then the parameters of an additive part if there is one, and log tau with plates. The value is
        huge where K is not positive definite."""
        value, gradient, _ = self._at(parameters)
        return value, gradient

    def variance(self, parameters: Array) -> float:
        """Return sigma_f^2, in squared model output units, at these parameters (see ``Hyperparameters.parameters``)."""
        return self._at(parameters)[2]

    def hyperparameters(self, parameters: Array, variance: float) -> Hyperparameters:
        """Return the hyperparameters with these parameters, the inverse of ``Hyperparameters.parameters``."""
        d, p = self.positions.shape[1], len(self.components)
        lengthscales, noise, part = np.exp(parameters[: d + p]), math.exp(parameters[d + p]), parameters[d + p + 1 :]
        plates = None
        if self.plates is not None:
            plates, part = math.exp(part[-1]), part[:-1]
        mixed = additive.of(part) if len(part) else None
        return Hyperparameters(lengthscales[:d], noise, variance, mixed, lengthscales[d:], self.smooth, plates)

    def _at(self, parameters: Array) -> tuple[float, Array, float]:
        value, variance, gradient = c_double(), c_double(), np.empty(len(parameters))
        given, found = reals(parameters), reals(gradient)
        _negative_log_posterior(*self._data, len(parameters), given, byref(value), found, byref(variance))
        return value.value, gradient, variance.value

    def within_bounds(self, parameters: Array, least_noise: float) -> Array:
        """Clip parameters, as in ``Hyperparameters.parameters``, to their bounds, with at least this noise ratio."""
        plain = self.positions.shape[1] + len(self.components)
        lengths, noises = _logarithms(LENGTHSCALES), _logarithms((least_noise, NOISES[1]))
        bounds, last = [*[lengths] * plain, noises], [] if self.plates is None else [_logarithms(PLATES)]
        if len(parameters) > len(bounds) + len(last):
            bounds += [_logits(additive.SHARES), lengths]
            weights = len(parameters) - len(bounds) - len(last)
            bounds += [(-additive.MAX_WEIGHT, additive.MAX_WEIGHT)] * weights
        bounds += last
        low, high = np.array(bounds).T
        return np.clip(parameters, low, high)

    def maximum(self, start: Array) -> tuple[float, Array, float]:
        """Return the maximum of the posterior density near some parameters, as in ``Hyperparameters.parameters``: the
        negative log posterior, the parameters, and sigma_f^2 there."""
        value, variance, parameters = c_double(), c_double(), start.copy()
        rules, at = byref(_MINIMIZATION), reals(parameters)
        _minimize(*self._data, rules, len(parameters), at, byref(value), byref(variance))
        return value.value, parameters, variance.value

    @cached_property
    def _data(self) -> tuple[Any, Any]:
        priors = Priors(
            prior_centers(self.positions.shape[1], self.together, self.components, self.lengths),
            noise=self.noise_prior[0],
            noise_deviation=self.noise_prior[1],
            share_deviation=additive.SHARE_PRIOR,
            reach=additive.LENGTHSCALE_PRIOR,
            weight_deviation=additive.WEIGHT_PRIOR,
            lengthscale_bounds=_logarithms(LENGTHSCALES),
            noise_bounds=_logarithms(NOISES),
            share_bounds=_logits(additive.SHARES),
            largest_weight=additive.MAX_WEIGHT,
            plates=PLATES_PRIOR[0],
            plates_deviation=PLATES_PRIOR[1],
            plates_bounds=_logarithms(PLATES),
            mean_variance=MEAN_VARIANCE,
            smallest_variance=MIN_VARIANCE,
        )
        described = of_components(self.components)
        given = self.positions, self.outputs, self.extra, self.categorical, described
        sines = sine_columns(self.periodic, self.positions.shape[1], len(self.components))
        results = Results(*given, sines, smooth=self.smooth, plates=self.plates)
        return byref(priors), byref(results)


def _logarithms(bounds: tuple[float, float]) -> tuple[float, float]:
    return math.log(bounds[0]), math.log(bounds[1])


def _logits(bounds: tuple[float, float]) -> tuple[float, float]:
    return math.log(bounds[0] / (1.0 - bounds[0])), math.log(bounds[1] / (1.0 - bounds[1]))


def learn(evidence: Evidence, starts: Iterable[Hyperparameters]) -> Hyperparameters:
    """Return the best of the optima found from these starts; the first start if none is found."""
    return _best(evidence, starts)[1]


def learn_smoothness(evidence: Evidence, starts: Sequence[Hyperparameters]) -> tuple[Evidence, Hyperparameters]:
    """Run ``learn`` with a rough and with a smooth kernel. Return the evidence with the kernel that is chosen, and the
    hyperparameters learned with it. If ``evidence`` has a smooth kernel, or the noise of most results is known and its
    ratio is above ``NOISY``, the smooth kernel is the only one.

    Noise makes a smooth function look rough. So the smooth kernel is chosen if it is likelier and its noise ratio is
    above ``NOISY``."""
    smooth = replace(evidence, smooth=True)
    if evidence.smooth or np.median(evidence.extra) > NOISY:
        return smooth, learn(smooth, starts)
    value, rough = _best(evidence, starts)
    value_of_smooth, noisy = _best(smooth, starts)
    if value_of_smooth < value and noisy.noise_ratio > NOISY:
        return smooth, noisy
    return evidence, rough


def with_additive_part(
    warped: Evidence, plain: Hyperparameters, unwarped: Evidence, known: Hyperparameters
) -> Hyperparameters:
    """Return hyperparameters with an additive part if the evidence supports it, else the plain ones. The model with the
    part, of unwarped results, is compared with two models without it: of the warped results, and of the unwarped ones.
    (If the second comparison were missing, the gain might be due to the missing warp.)

    Args:
        warped: the evidence from which the plain hyperparameters were learned.
        plain: the hyperparameters learned without the part.
        unwarped: the same results, for a model with the part.
        known: the previous hyperparameters, with or without the part.
    """
    d = len(plain.lengthscales)
    plain_prior = prior(d, components=unwarped.components, lengths=unwarped.lengths)
    start = replace(plain_prior, additive=additive.first(d), plates=plain.plates)
    value, found = _best(unwarped, [known if known.additive else start])
    alone = warped.negative_log_posterior(plain.parameters())[0]
    gain = (alone - warped.log_slopes) - (value - unwarped.log_slopes)
    if gain < math.log(EVIDENCE):
        return plain
    rival, _ = _best(unwarped, [plain])
    return found if rival - value >= math.log(EVIDENCE) else plain


def _best(evidence: Evidence, starts: Iterable[Hyperparameters]) -> tuple[float, Hyperparameters]:
    """Return the smallest negative log posterior found from these starts, and its hyperparameters."""
    found = [evidence.maximum(start.parameters()) for start in starts]
    value, parameters, variance = min(found, key=lambda candidate: candidate[0])
    return value, evidence.hyperparameters(parameters, variance)

"""Learning the hyperparameters: lengthscales per axis, output scale and noise, by maximum a posteriori.

Minimised over the logarithms of the lengthscales l and of the noise ratio nu = noise variance / output variance:

    (n / 2) log sigma_f^2 + (1 / 2) log |K| + sum (log l_k - mu0)^2 / 2 + (log nu - log 1e-4)^2 / (2 * 3^2)
    + sum (log m_j - mu1)^2 / 2

with K = k + MEAN_VARIANCE + diag(nu + extra), sigma_f^2 = z' K^-1 z / n (the output scale, profiled), and the
prior's centre mu0 = log 0.5 + log(d / 3) / 2, d at most the axes that are active together: longer in more dimensions.
The lengthscales m of components of descriptors have a centre mu1 of their own, and a category with components has a
longer one for its l: descriptors are expected to say how its choices differ. Where they do not, results make m long and
l short. That of a catalogue, none of whose rows comes twice, is longer still.

With an additive part k is k_w, and its d + 2 parameters follow (``additive``), if it is worth it (``EVIDENCE``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from ctypes import byref, c_double
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import additive
from adabkb_service.engine.auto.additive import Additive
from adabkb_service.engine.auto.components import NONE, Components
from adabkb_service.engine.auto.domain import Domain
from adabkb_service.engine.auto.kernel import MEAN_VARIANCE, Kernel, of_components, sine_columns
from adabkb_service.engine.auto.warp import LINEAR, POWERS
from adabkb_service.engine.native.library import COUNT, POINTER, reals, routine
from adabkb_service.engine.native.structures import Minimization, Priors, Results

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

LENGTHSCALES = (0.02, 20.0)
COMPONENT_PRIOR, NAME_PRIOR = math.log(0.5), math.log(3.0)
"""mu1, and mu0 of the categories that have components."""
ROW_PRIOR = math.log(20.0)
"""mu0 of a catalogue: its rows all differ, so only their numbers say how."""
NOISES = (1e-7, 0.5)
NOISE_PRIOR = (math.log(1e-4), 3.0)
NOISY_STARTS = (0.01, 0.1)
"""Noise ratios from which a search starts as well. Noise and short lengthscales may explain a few results equally well,
and a search that starts at small noise finds short lengthscales only."""
NOISY = 1e-3
"""Results seem noisy above this noise ratio, if a smooth kernel is likelier than a rough one."""
SMALLEST_VARIANCE = 1e-4
EVIDENCE = 1e3
"""What the additive part has to raise the posterior density at its maximum by, as a factor, to be kept."""
EVALUATIONS = 60
"""Of the objective, per start."""
SMALL_GAIN = 1e-4
"""In the objective, a log-likelihood: less says nothing about the parameters."""
LONGEST_STEP = 1.0
"""Along any of the parameters, which are logarithms."""
FLAT = 1e-3
"""Largest component of a gradient that counts as 0."""
SUFFICIENT = 1e-4
"""Share of the gain promised by the gradient that a step must have."""
MIN_RESULTS = 4
"""Results before which nothing is learned."""

_negative_log_posterior = routine("negative_log_posterior", POINTER, POINTER, COUNT, POINTER, POINTER, POINTER, POINTER)
_minimize = routine("minimize", POINTER, POINTER, POINTER, COUNT, POINTER, POINTER, POINTER)
_MINIMIZATION = Minimization(EVALUATIONS, SMALL_GAIN, LONGEST_STEP, FLAT, SUFFICIENT)


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """What is learned: lengthscales (d,) in the unit cube, noise ratio nu and sigma_f^2 in model output units."""

    lengthscales: Array
    noise_ratio: float
    variance: float
    additive: Additive | None = None
    components: Array = field(default_factory=lambda: np.zeros(0))
    """(p,) lengthscales along the components of descriptors."""
    smooth: bool = False
    """Whether results seem noisy, and the kernel is a smooth one: see ``learn_smoothness``."""

    def kernel(self, categorical: Bools, components: Components, periodic: Bools | None) -> Kernel:
        """That of a space with these categorical axes, (d,), components, and periodic axes, (d,).

        Raises:
            ValueError: the number of components is another one.
        """
        if len(components) != len(self.components):
            raise ValueError(f"the descriptors have {len(components)} components, not {len(self.components)}")
        along = self.lengthscales, categorical, self.additive, components, self.components
        return Kernel(*along, self.smooth, periodic)

    def shortest(self, components: Components) -> Array:
        """Per axis, (d,), its lengthscale or, of a category with components, the shortest one along these if that is
        shorter."""
        found = self.lengthscales.copy()
        np.minimum.at(found, components.axes, self.components)
        return found

    @property
    def form(self) -> tuple[bool, bool]:
        """Of the kernel: whether it is smooth, and whether it has an additive part."""
        return self.smooth, self.additive is not None

    @property
    def powers(self) -> Array:
        """Of the warps that go with them."""
        return POWERS if self.additive is None else LINEAR

    def parameters(self) -> Array:
        """What the objective is minimised over: (d + p + 1,), or (2 d + p + 3,) with an additive part."""
        plain: Array = np.log(np.concatenate([self.lengthscales, self.components, [self.noise_ratio]]))
        if self.additive is None:
            return plain
        both: Array = np.append(plain, self.additive.parameters())
        return both


def prior_centre(dimension: int) -> float:
    """mu0, of log l."""
    return math.log(0.5) + 0.5 * math.log(dimension / 3.0)


def prior_centres(
    dimension: int, together: int | None = None, components: Components = NONE, spreads: Array | None = None
) -> Array:
    """Of the logarithms of all lengthscales, (d + p,)."""
    centres = np.full(dimension, prior_centre(together or dimension))
    centres[components.axes] = np.where(components.of_rows, ROW_PRIOR, NAME_PRIOR)
    if spreads is not None:
        centres += np.log(spreads)
    return np.append(centres, np.full(len(components), COMPONENT_PRIOR))


def prior(
    dimension: int, together: int | None = None, components: Components = NONE, spreads: Array | None = None
) -> Hyperparameters:
    """Before there is enough to learn from; with the number of axes that are active together, unless all are, and the
    spreads of the axes, (d,), unless all are 1 (``Domain.spreads``)."""
    lengthscales = np.exp(prior_centres(dimension, together, components, spreads))
    noise_ratio = math.exp(NOISE_PRIOR[0])
    return Hyperparameters(lengthscales[:dimension], noise_ratio, 1.0, components=lengthscales[dimension:])


def prior_of(domain: Domain) -> Hyperparameters:
    """That of a space."""
    return prior(domain.dimension, domain.together, domain.components, domain.spreads)


@dataclass(frozen=True)
class Evidence:
    """What is learned from: positions (n, d), model outputs (n,), known noise ratios (n,), categorical axes (d,)."""

    positions: Array
    outputs: Array
    extra: Array
    categorical: Bools
    log_slopes: float = 0.0
    """Sum over the results of the logarithm of the warp's slope: with it, likelihoods under different warps compare."""
    together: int | None = None  # axes active at once, at most; None for all
    components: Components = NONE
    smooth: bool = False  # whether the kernel is Matern 5/2
    noise_prior: tuple[float, float] = NOISE_PRIOR  # of log nu: centre and deviation
    periodic: Bools | None = None  # (d,) axes that are; None: none is
    spreads: Array | None = None  # (d,) of the axes (``Domain.spreads``); None: all are 1

    @classmethod
    def over(cls, domain: Domain, positions: Array, outputs: Array, extra: Array, **given: Any) -> Self:
        """Of results in a domain; ``given`` are the other fields that do not follow from it."""
        return cls(
            positions,
            outputs,
            extra,
            domain.categorical,
            together=domain.together,
            components=domain.components,
            periodic=domain.periodic,
            spreads=domain.spreads,
            **given,
        )

    def negative_log_posterior(self, parameters: Array) -> tuple[float, Array]:
        """The objective at log (l_1 .. l_d, m_1 .. m_p, nu), with an additive part also its parameters, and its
        gradient, of the same length; huge where K is not definite."""
        value, gradient, _ = self._at(parameters)
        return value, gradient

    def variance(self, parameters: Array) -> float:
        """sigma_f^2 at these parameters."""
        return self._at(parameters)[2]

    def hyperparameters(self, parameters: Array, variance: float) -> Hyperparameters:
        """The inverse of ``Hyperparameters.parameters``."""
        d, p = self.positions.shape[1], len(self.components)
        lengthscales, noise, part = np.exp(parameters[: d + p]), math.exp(parameters[d + p]), parameters[d + p + 1 :]
        mixed = additive.of(part) if len(part) else None
        return Hyperparameters(lengthscales[:d], noise, variance, mixed, lengthscales[d:], self.smooth)

    def _at(self, parameters: Array) -> tuple[float, Array, float]:
        value, variance, gradient = c_double(), c_double(), np.empty(len(parameters))
        given, found = reals(parameters), reals(gradient)
        _negative_log_posterior(*self._data, len(parameters), given, byref(value), found, byref(variance))
        return value.value, gradient, variance.value

    def within_bounds(self, parameters: Array, least_noise: float) -> Array:
        """Parameters moved to within their bounds, with this noise ratio at least."""
        plain = self.positions.shape[1] + len(self.components)
        lengths, noises = _logarithms(LENGTHSCALES), _logarithms((least_noise, NOISES[1]))
        bounds = [*[lengths] * plain, noises]
        if len(parameters) > len(bounds):
            bounds += [_logits(additive.SHARES), lengths]
            bounds += [(-additive.LARGEST_WEIGHT, additive.LARGEST_WEIGHT)] * (len(parameters) - len(bounds))
        low, high = np.array(bounds).T
        return np.clip(parameters, low, high)

    def maximum(self, start: Array) -> tuple[float, Array, float]:
        """The objective's minimum near some parameters: its value, where it is, and sigma_f^2 there."""
        value, variance, parameters = c_double(), c_double(), start.copy()
        rules, at = byref(_MINIMIZATION), reals(parameters)
        _minimize(*self._data, rules, len(parameters), at, byref(value), byref(variance))
        return value.value, parameters, variance.value

    @cached_property
    def _data(self) -> tuple[Any, Any]:
        priors = Priors(
            prior_centres(self.positions.shape[1], self.together, self.components, self.spreads),
            noise=self.noise_prior[0],
            noise_deviation=self.noise_prior[1],
            share_deviation=additive.SHARE_PRIOR,
            reach=additive.LENGTHSCALE_PRIOR,
            weight_deviation=additive.WEIGHT_PRIOR,
            lengthscale_bounds=_logarithms(LENGTHSCALES),
            noise_bounds=_logarithms(NOISES),
            share_bounds=_logits(additive.SHARES),
            largest_weight=additive.LARGEST_WEIGHT,
            mean_variance=MEAN_VARIANCE,
            smallest_variance=SMALLEST_VARIANCE,
        )
        described = of_components(self.components)
        given = self.positions, self.outputs, self.extra, self.categorical, described
        sines = sine_columns(self.periodic, self.positions.shape[1], len(self.components))
        results = Results(*given, sines, smooth=self.smooth)
        return byref(priors), byref(results)


def _logarithms(bounds: tuple[float, float]) -> tuple[float, float]:
    return math.log(bounds[0]), math.log(bounds[1])


def _logits(bounds: tuple[float, float]) -> tuple[float, float]:
    return math.log(bounds[0] / (1.0 - bounds[0])), math.log(bounds[1] / (1.0 - bounds[1]))


def learn(evidence: Evidence, starts: Iterable[Hyperparameters]) -> Hyperparameters:
    """The best of the optima found from these starts; the first start itself if none is found."""
    return _best(evidence, starts)[1]


def learn_smoothness(evidence: Evidence, starts: Sequence[Hyperparameters]) -> tuple[Evidence, Hyperparameters]:
    """What ``learn`` gives with a rough kernel or with a smooth one, after the evidence with that kernel.

    Noise makes a smooth function look rough. So the kernel is smooth if that is likelier, and its noise ratio is above
    ``NOISY``."""
    smooth = replace(evidence, smooth=True)
    value, rough = _best(evidence, starts)
    value_of_smooth, noisy = _best(smooth, starts)
    if value_of_smooth < value and noisy.noise_ratio > NOISY:
        return smooth, noisy
    return evidence, rough


def with_additive_part(
    warped: Evidence, plain: Hyperparameters, unwarped: Evidence, known: Hyperparameters
) -> Hyperparameters:
    """Those with an additive part, if that is worth it, also beside a form without it for the same unwarped results (or
    what speaks for it may be the missing warp); else the plain ones.

    Args:
        warped: what the plain ones were learned from.
        plain: what was learned without the part.
        unwarped: the same results, for a model with the part.
        known: as of before, with the part or without.
    """
    d = len(plain.lengthscales)
    plain_prior = prior(d, components=unwarped.components, spreads=unwarped.spreads)
    start = replace(plain_prior, additive=additive.first(d))
    value, found = _best(unwarped, [known if known.additive else start])
    alone = warped.negative_log_posterior(plain.parameters())[0]
    gain = (alone - warped.log_slopes) - (value - unwarped.log_slopes)
    if gain < math.log(EVIDENCE):
        return plain
    rival, _ = _best(unwarped, [plain])
    return found if rival - value >= math.log(EVIDENCE) else plain


def _best(evidence: Evidence, starts: Iterable[Hyperparameters]) -> tuple[float, Hyperparameters]:
    """The smallest of the optima found from these starts, and its value."""
    found = [evidence.maximum(start.parameters()) for start in starts]
    value, parameters, variance = min(found, key=lambda candidate: candidate[0])
    return value, evidence.hyperparameters(parameters, variance)

"""Optuna's samplers with their own defaults: TPE (multivariate), CMA-ES and GPSampler; and our engine as one."""

from __future__ import annotations

import warnings

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, TPESampler

from adabkb_integrations.optuna import AdaBKBSampler
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters


class OptunaMethod(Method):
    """A sampler with an in-memory study."""

    def __init__(self, space: Space, sampler: BaseSampler) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(sampler=sampler)
        self._distributions = {axis.name: distribution(axis) for axis in space.axes}

    def ask(self) -> Parameters:
        """A new trial's parameters."""
        self._trial = self._study.ask(self._distributions)
        parameters: Parameters = self._trial.params
        return parameters

    def tell(self, parameters: Parameters, value: float) -> None:
        """Complete the trial."""
        del parameters
        self._study.tell(self._trial, value)


class ConditionalOptuna(OptunaMethod):
    """A sampler that suggests the active parameters only, parents first, as in an Optuna objective."""

    def __init__(self, space: Space, sampler: BaseSampler) -> None:
        super().__init__(space, sampler)
        self._space = space
        self._order = [space.axes[axis].name for axis in space.activity.order]

    def ask(self) -> Parameters:
        """A new trial's parameters."""
        self._trial = self._study.ask()
        for name in self._order:
            if self._space.is_active(name, self._trial.params):
                self._trial._suggest(name, self._distributions[name])
        parameters: Parameters = self._trial.params
        return parameters


def distribution(axis: Axis) -> BaseDistribution:
    """The axis as an Optuna distribution."""
    match axis:
        case FloatAxis():
            return FloatDistribution(axis.low, axis.high, log=axis.scale == "log")
        case IntAxis():
            return IntDistribution(axis.low, axis.high, log=axis.scale == "log", step=axis.step)
        case ChoiceAxis():
            return CategoricalDistribution(axis.choices)  # type: ignore[arg-type]  # a list would do too
        case _:
            raise TypeError(f"no distribution for {axis}")


def tpe(space: Space, seed: int) -> Method:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return OptunaMethod(space, TPESampler(multivariate=True, seed=seed))


def adabkb(space: Space, seed: int) -> Method:
    return OptunaMethod(space, AdaBKBSampler(seed=seed))


def conditional_tpe(space: Space, seed: int) -> Method:
    """TPE that models the parameters of a branch jointly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return ConditionalOptuna(space, TPESampler(multivariate=True, group=True, seed=seed))


def conditional_adabkb(space: Space, seed: int) -> Method:
    return ConditionalOptuna(space, AdaBKBSampler(seed=seed))


def cma(space: Space, seed: int) -> Method:
    """CMA-ES. It samples categories at random; the warning about this at every trial is disabled."""
    return OptunaMethod(space, CmaEsSampler(seed=seed, warn_independent_sampling=False))


def gpsampler(space: Space, seed: int) -> Method:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return OptunaMethod(space, GPSampler(seed=seed))

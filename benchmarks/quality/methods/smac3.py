"""SMAC3's facade for hyperparameters (a random forest and expected improvement), by its ask and tell interface."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ConfigSpace import AndConjunction, Categorical, ConfigurationSpace, Float, InCondition, Integer
from ConfigSpace.hyperparameters import Hyperparameter
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters

UNLIMITED = 100_000
"""Number of trials; never reached, since the budget ends the run."""


class Smac(Method):
    """SMAC3 with its defaults and one evaluation per configuration."""

    def __init__(self, space: Space, seed: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="adabkb-bench-")
        configurations = ConfigurationSpace(seed=seed)
        configurations.add([hyperparameter(axis) for axis in space.axes])
        configurations.add(list(conditions(space, configurations)))
        scenario = Scenario(
            configurations,
            deterministic=True,
            n_trials=UNLIMITED,
            seed=seed,
            output_directory=Path(self._folder.name),
        )
        design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs_per_hyperparameter=2)
        self._smac = HyperparameterOptimizationFacade(
            scenario,
            lambda config, seed=0: 0.0,  # noqa: ARG005 - never called, since ``ask`` and ``tell`` are used
            initial_design=design,
            overwrite=True,
            logging_level=False,
        )

    def ask(self) -> Parameters:
        """The next configuration."""
        self._trial: TrialInfo = self._smac.ask()
        return dict(self._trial.config)

    def tell(self, parameters: Parameters, value: float) -> None:
        """Pass the value to SMAC3."""
        del parameters
        self._smac.tell(self._trial, TrialValue(cost=value))

    def close(self) -> None:
        """Remove the files that SMAC3 wrote."""
        self._folder.cleanup()


def conditions(space: Space, configurations: ConfigurationSpace) -> Iterator[InCondition | AndConjunction]:
    """The conditions of a space, in ConfigSpace's form."""
    by_parameter: dict[str, list[InCondition]] = defaultdict(list)
    for each in space.conditions:
        child, parent = configurations[each.parameter], configurations[each.parent]
        by_parameter[each.parameter].append(InCondition(child, parent, list(each.values)))
    for found in by_parameter.values():
        yield found[0] if len(found) == 1 else AndConjunction(*found)


def hyperparameter(axis: Axis) -> Hyperparameter:
    """The axis as a ConfigSpace hyperparameter."""
    match axis:
        case FloatAxis():
            return Float(axis.name, (axis.low, axis.high), log=axis.scale == "log")
        case IntAxis() if axis.step == 1:
            return Integer(axis.name, (axis.low, axis.high), log=axis.scale == "log")
        case ChoiceAxis():
            return Categorical(axis.name, list(axis.choices))
        case _:
            raise TypeError(f"no hyperparameter for {axis}")

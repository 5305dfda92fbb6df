"""BayBE with its defaults: a campaign whose first point is random. BoTorch chooses the others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from baybe import Campaign
from baybe.objectives import SingleTargetObjective
from baybe.parameters import CategoricalParameter, NumericalContinuousParameter, NumericalDiscreteParameter
from baybe.parameters.base import Parameter
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget
from baybe.utils.random import set_random_seed

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.quality.methods.base import Method, Parameters

TARGET = "value"
MAX_DISCRETE = 10_000
"""Largest number of combinations of discrete parameters. With more, numbers are continuous and are rounded, since BayBE
makes a table of all combinations."""


class BaybeCampaign(Method):
    """A campaign with one recommendation at a time."""

    def __init__(self, space: Space, seed: int) -> None:
        set_random_seed(seed)
        self._space = space
        listed, combinations = set[str](), 1
        for axis in sorted(space.axes, key=lambda axis: (not isinstance(axis, ChoiceAxis), axis.count or 0)):
            if axis.count is not None and combinations * axis.count <= MAX_DISCRETE:
                listed.add(axis.name)
                combinations *= axis.count
        self._names = [axis.name for axis in space.axes]
        self._positions = {
            (axis.name, label): (index + 0.5) / axis.count
            for axis in space.axes
            if isinstance(axis, ChoiceAxis)
            for index, label in enumerate(labels(axis))
        }
        self._varying = [axis.name for axis in space.axes if axis.count != 1]
        parameters = [parameter(axis, axis.name in listed) for axis in space.axes if axis.count != 1]
        objective = SingleTargetObjective(NumericalTarget(TARGET, minimize=True))
        self._campaign = Campaign(SearchSpace.from_product(parameters), objective)

    def ask(self) -> Parameters:
        """The recommended point."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of fits that were repeated
            row = self._campaign.recommend(batch_size=1).iloc[0]
        self._row = row
        at = [self._positions.get((name, row[name]), row[name]) if name in row else 0.5 for name in self._names]
        return self._space.decode(self._space.snap(np.array([at], dtype=float))[0])

    def tell(self, parameters: Parameters, value: float) -> None:
        """Add the measurement."""
        del parameters
        row = {name: [self._row[name]] for name in self._varying}
        self._campaign.add_measurements(pd.DataFrame({**row, TARGET: [value]}))


def parameter(axis: Axis, is_listed: bool) -> Parameter:
    """The parameter of an axis. Numbers are positions in the unit cube, so that scales are respected."""
    if isinstance(axis, ChoiceAxis):
        return CategoricalParameter(axis.name, labels(axis))
    if isinstance(axis, FloatAxis) or not is_listed:
        return NumericalContinuousParameter(axis.name, (0.0, 1.0))
    return NumericalDiscreteParameter(axis.name, [(index + 0.5) / axis.count for index in range(axis.count)])


def labels(axis: ChoiceAxis) -> list[str]:
    """The names of an axis's choices, since BayBE takes text only."""
    return [f"choice {index}" for index in range(axis.count)]

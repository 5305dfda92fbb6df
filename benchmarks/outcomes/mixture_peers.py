"""Ax and BayBE as peers for formulas. Both are imported only when they run.

Ax has no mixtures, so the last share is left out, and the others sum to at most 1. BayBE has a linear constraint.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from baybe import Campaign
from baybe.constraints import ContinuousLinearConstraint
from baybe.objectives import SingleTargetObjective
from baybe.parameters import NumericalContinuousParameter
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget
from baybe.utils.random import set_random_seed

from adabkb_service.engine.axes import FloatAxis
from benchmarks.functions import Array
from benchmarks.outcomes.ax_peer import AxClient, Goals

Function = Callable[[Array], Array]
VALUE = "value"


def ax(names: Sequence[str], function: Function, seed: int, budget: int) -> Array:
    """The formulas that Ax suggests with its defaults, (budget, n)."""
    free = list(names[:-1])
    goals = Goals(VALUE, parameter_constraints=[f"{' + '.join(free)} <= 1"])
    client, found = AxClient([FloatAxis(name, 0.0, 1.0) for name in free], goals, seed), []
    for _ in range(budget):
        point = client.ask()
        shares = np.array([float(point[name]) for name in free])
        found.append(np.append(shares, max(1.0 - shares.sum(), 0.0)))
        client.tell({VALUE: float(function(found[-1][None])[0])})
    return np.array(found)


def baybe(names: Sequence[str], function: Function, seed: int, budget: int) -> Array:
    """The formulas that BayBE suggests with its defaults, (budget, n)."""
    set_random_seed(seed)
    constraints = [ContinuousLinearConstraint(list(names), "=", [1.0] * len(names), 1.0)]
    parameters = [NumericalContinuousParameter(name, (0.0, 1.0)) for name in names]
    objective = SingleTargetObjective(NumericalTarget(VALUE))
    campaign = Campaign(SearchSpace.from_product(parameters, constraints), objective)
    found = []
    for _ in range(budget):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = campaign.recommend(batch_size=1)
        shares = np.clip(rows[list(names)].to_numpy(dtype=np.float64)[0], 0.0, 1.0)
        found.append(shares / shares.sum())
        value = float(function(found[-1][None])[0])
        campaign.add_measurements(pd.DataFrame({**{name: rows[name].to_list() for name in names}, VALUE: [value]}))
    return np.array(found)

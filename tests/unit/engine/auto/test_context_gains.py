"""Gains in a context are relative to what is possible there, not to the results of other contexts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.issued import issued, search_view
from adabkb_service.engine.auto.acquisition.outcomes import View, for_step
from adabkb_service.engine.auto.acquisition.per_cost import PerCost
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.auto.reports.front import front
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
SPACE = Space((FloatAxis("x", 0.0, 1.0), FloatAxis("z", 0.0, 1.0)), context=frozenset({"z"}))
TWO = Config(objective=Metric("one", goal=1.0), metrics=(Metric("two", goal=1.0),))
PER_COST = Config(metrics=(Metric("cost", is_cost=True),), per_cost=True)
LINE = np.linspace(0.0, 1.0, 101)
NOTHING = np.zeros((0, 2))
BAD = Slice(SPACE, {"z": 1.0})


def state(config: Config) -> State:
    """Results in two contexts, one with much worse values: the front is at x from 0.3 to 0.7 in both."""
    found = auto.start(SPACE, config, 0)
    for z in (0.0, 1.0):
        for x in (0.05, 0.25, 0.5, 0.75, 0.95):
            values = [-((x - 0.3) ** 2) - 5.0 * z, -((x - 0.7) ** 2) - 5.0 * z]
            other = values[1] if config is TWO else 1.0 + x
            found = auto.observe(found, np.array([x, z]), values[0], metrics=(Measured(other, 0.0),)).state
    return found


def view(config: Config, within: Slice | None) -> View:
    """The view of the search in a slice, for one step."""
    known = state(config)
    out = issued(known, NOTHING, None, None)
    return for_step(search_view(known, known.surrogate, known.warp, known.record.values, out, within).view, 0, 3)


def test_front_gains_in_a_bad_context_count() -> None:
    points = np.column_stack([LINE, np.ones(101)])
    assert view(TWO, BAD).ucb(points, 1.0).max() > 0.0
    assert view(TWO, None).ucb(points, 1.0).max() < 0.0


def test_gain_per_cost_is_relative_to_the_best_of_the_context() -> None:
    there = state(PER_COST).record.positions.copy()
    there[:, 1] = 1.0
    found = view(PER_COST, BAD)
    assert isinstance(found, PerCost)
    assert found.best == pytest.approx(found.mean(there).max())


def test_front_of_a_context_is_predicted_there() -> None:
    known = state(TWO)
    found = front(known, within=BAD)
    assert len(found.points) >= 1
    assert (found.points[:, 1] == 1.0).all()
    assert ((found.points[:, 0] > 0.2) & (found.points[:, 0] < 0.8)).all()
    everywhere = front(known)
    assert (everywhere.points[:, 1] == 0.0).all()


def test_suggestions_in_a_bad_context_are_near_its_front() -> None:
    known, found = state(TWO), list[float]()
    for _ in range(8):
        point = next(auto.suggestions_within(known, BAD, NOTHING)).point
        found.append(float(point[0]))
        x = found[-1]
        first, second = -((x - 0.3) ** 2) - 5.0, -((x - 0.7) ** 2) - 5.0
        known = auto.observe(known, point, first, metrics=(Measured(second, 0.0),)).state
    assert sum(0.25 <= x <= 0.75 for x in found) >= 6

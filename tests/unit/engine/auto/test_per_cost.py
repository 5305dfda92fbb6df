"""Suggestions per cost: their index, the preference for cheap evaluations, and compatibility with other features."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.issued import issued, search_view
from adabkb_service.engine.auto.acquisition.per_cost import PerCost
from adabkb_service.engine.auto.acquisition.scalarised import Scalarised
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state.state import State, with_spent
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.prior import Around, Prior
from adabkb_service.engine.record import Record, of
from adabkb_service.engine.space import Space
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

COST = (Metric("cost", is_cost=True),)
NONE = np.zeros((0, 2))


def price(u: Array) -> float:
    """The cost, from 1 to 10 along the first axis."""
    return float(10.0 ** u[0])


def hills(u: Array) -> float:
    """Two equally good hills, one in the cheap part of the space and one in the expensive part."""
    return float(sum(np.exp(-20.0 * ((u - [at, 0.5]) ** 2).sum()) for at in (0.2, 0.8)))


def flat(_: Array) -> float:
    """A constant, so that the search only explores."""
    return 0.0


@dataclass
class Study:
    """A study in the engine, and what a database would hold."""

    config: Config
    space: Space = field(default_factory=lambda: unit_space(2))
    objective: Callable[[Array], float] = hills
    other: Callable[[Array], float] | None = None
    """A metric that precedes the cost."""
    cells: dict[str, str] = field(default_factory=lambda: {"0": "leaf"})
    points: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = auto.start(self.space, self.config, 1)

    def run(self, steps: int) -> Study:
        for _ in range(steps):
            found = auto.suggest(self.state, NONE)
            value, cost = self.objective(found.point), Measured(price(found.point), 0.0)
            other = [] if self.other is None else [Measured(self.other(found.point), 0.0)]
            update = auto.observe(found.state, found.point, value, 0.0, [*other, cost])
            self.cells |= {**found.cells, **update.cells}
            self.points.append(found.point)
            self.state = update.state
        return self

    def record(self) -> Record:
        values = np.array([hills(point) for point in self.points])
        metrics = np.array([[(price(point), 0.0)] for point in self.points])
        return of(np.array(self.points), values, np.zeros(len(values)), metrics)


def view_of(state: State) -> PerCost:
    none = issued(state, NONE, None, None)
    view = search_view(state, state.surrogate, state.warp, state.record.values, none).view
    assert isinstance(view, PerCost)
    return view


def test_index_matches_the_formula_and_its_gradient() -> None:
    state = Study(Config(metrics=COST, per_cost=True)).run(12).state
    view, positions = view_of(state), np.random.default_rng(0).random((30, 2))
    bound, cost = state.surrogate.ucb(positions, 1.5), view.cost.relative(positions)
    gain = bound - view.best
    assert view.ucb(positions, 1.5) == pytest.approx(view.best + np.where(gain > 0, gain / cost, gain))
    errors = np.log(cost * view.cost.usual / np.array([price(u) for u in positions]))
    assert np.median(np.abs(errors)) < 0.25
    value, gradient = view.ucb_and_gradient(positions, 1.5)
    assert value == pytest.approx(view.ucb(positions, 1.5))
    for axis in (0, 1):
        step = 1e-4 * np.eye(2)[axis]
        slope = (view.ucb(positions + step, 1.5) - view.ucb(positions - step, 1.5)) / 2e-4
        assert np.median(np.abs(gradient[:, axis] - slope)) < 1e-2


@pytest.mark.parametrize(
    ("budget", "spent", "share"), [(None, 0.0, 1.0), (60.0, 0.0, 0.5), (60.0, 15.0, 0.25), (20.0, 0.0, 0.0)]
)
def test_cost_matters_less_as_the_budget_is_spent(budget: float | None, spent: float, share: float) -> None:
    """The exponent is the remaining share of the budget. Two results cost 10 and 20, and stopped trials 0 or 15."""
    state = auto.start(unit_space(2), Config(metrics=COST, per_cost=True, cost_budget=budget), 1)
    costs = np.array([[(10.0, 0.0)], [(20.0, 0.0)]])
    told = of(np.array([[0.3, 0.7], [0.6, 0.2]]), np.array([1.0, 2.0]), np.zeros(2), costs)
    state = with_spent(auto.rebuild(state, told, {}).state, spent)
    assert view_of(state).share == pytest.approx(share)


def test_costs_without_a_value_do_not_count_yet() -> None:
    """A partial result may have a cost, but no value of the objective."""
    state = Study(Config(metrics=COST, per_cost=True)).state
    partial = of(np.array([[0.3, 0.7]]), np.array([np.nan]), np.zeros(1), np.array([[(2.0, 0.0)]]))
    state = auto.rebuild(state, partial, {}).state
    assert not isinstance(
        search_view(state, state.surrogate, state.warp, state.record.values, issued(state, NONE, None, None)).view,
        PerCost,
    )
    assert auto.suggest(state, NONE).point.shape == (2,)


def test_cheap_evaluations_come_first() -> None:
    """With costs, a run that explores spends less on the same number of evaluations."""
    plain, per_cost = (Study(Config(metrics=COST, per_cost=each), objective=flat).run(12) for each in (False, True))
    assert sum(map(price, per_cost.points)) < 0.75 * sum(map(price, plain.points))


def height(u: Array) -> float:
    return float(u[1])


SEVERAL = Config(objective=Metric("hills", goal=1.0), metrics=(Metric("height", goal=1.0), *COST), per_cost=True)


def test_hypervolume_gain_is_divided_by_cost() -> None:
    state, rng = auto.start(unit_space(2), SEVERAL, 1), np.random.default_rng(0)
    for u in rng.random((4, 2)):
        told = [Measured(height(u), 0.0), Measured(price(u), 0.0)]
        state = auto.observe(state, u, hills(u), 0.0, told).state
    view, positions = view_of(state), rng.random((30, 2))
    assert isinstance(view.objective, Scalarised)
    view = replace(view, objective=view.objective.towards(1, 4))
    gain = view.objective.ucb(positions, 1.5)
    assert (gain > 0).any()
    assert view.ucb(positions, 1.5) == pytest.approx(np.where(gain > 0, gain / view.cost.relative(positions), gain))


@pytest.mark.long
def test_cheap_evaluations_of_several_objectives_come_first() -> None:
    plain, per_cost = (Study(replace(SEVERAL, per_cost=each), other=height).run(12) for each in (False, True))
    assert sum(map(price, per_cost.points)) < 0.75 * sum(map(price, plain.points))


@pytest.mark.long
def test_suggestions_per_cost_satisfy_metric_bounds() -> None:
    """The bound cuts through both hills, and leaves the better half of each."""
    study = Study(Config(metrics=(Metric("height", lower=0.45), *COST), per_cost=True), other=height).run(25)
    kept = [point for point in study.points if height(point) >= 0.45]
    assert len(kept) > 12
    assert max(map(hills, kept)) > 0.99


def test_study_with_costs_is_restored_bit_for_bit() -> None:
    study = Study(Config(metrics=COST, per_cost=True, cost_budget=300.0)).run(26)
    learned = json.loads(json.dumps(auto.learned(study.state)))
    state = auto.restore(study.space, study.config, 1, study.record(), study.cells, (), learned)
    assert np.array_equal(auto.suggest(state, NONE).point, auto.suggest(study.state, NONE).point)


def test_costs_work_with_a_prior_and_constraints() -> None:
    triangle = Space(unit_space(2).axes, (Constraint("x0 + x1 <= 1"),))
    prior = Prior((Around(0, 0.7, 0.05),), ())
    study = Study(Config(metrics=COST, per_cost=True, prior=prior), triangle).run(10)
    assert all(point.sum() <= 1.0 for point in study.points)
    assert study.points[0][0] == pytest.approx(0.7, abs=0.06)

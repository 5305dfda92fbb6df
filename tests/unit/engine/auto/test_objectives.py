"""Several objectives in the engine: the search finds the front, and states are restored exactly."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine import record
from adabkb_service.engine.auto import restore
from adabkb_service.engine.auto.acquisition import objectives, pareto
from adabkb_service.engine.auto.acquisition.issued import issued, search_view
from adabkb_service.engine.auto.acquisition.scalarised import Scalarised
from adabkb_service.engine.auto.policy import Config, State, auto
from adabkb_service.engine.auto.reports.front import front
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

NONE = np.zeros((0, 2))
NEAR, FAR = Metric("near", goal=-1.0, reference=1.0), Metric("far", goal=-1.0, reference=1.0)
LOW = Metric("low", upper=0.5)


def distances(u: Array) -> tuple[float, float]:
    """Squared distances from (0.1, 0.2) and (0.9, 0.2); the front is the line between these points."""
    return -float(((u - [0.1, 0.2]) ** 2).sum()), -float(((u - [0.9, 0.2]) ** 2).sum())


def run(
    steps: int, *others: Metric, cells: dict[str, str] | None = None, constraints: tuple[Constraint, ...] = ()
) -> tuple[State, Array]:
    space = Space(unit_space(2).axes, constraints)
    state, points = auto.start(space, Config(objective=NEAR, metrics=(FAR, *others)), 1), []
    for _ in range(steps):
        suggestion = auto.suggest(state, NONE)
        near, far = distances(suggestion.point)
        metrics = [Measured(far, 0.0), *(Measured(-suggestion.point[0], 0.0) for _ in others)]
        update = auto.observe(suggestion.state, suggestion.point, near, 0.0, metrics)
        state = update.state
        points.append(suggestion.point)
        if cells is not None:
            cells.update({**suggestion.cells, **update.cells})
    return state, np.array(points)


def test_search_finds_the_front() -> None:
    state, points = run(30)
    values = np.array([distances(point) for point in points])
    random = np.array([distances(point) for point in np.random.default_rng(0).random((30, 2))])
    ideal = pareto.hypervolume(
        np.array([distances(np.array([x, 0.2])) for x in np.linspace(0.1, 0.9, 200)]), -np.ones(2)
    )
    found = front(state)
    assert found.reference.tolist() == [-1.0, -1.0]
    assert found.growth[-1] == pytest.approx(pareto.hypervolume(values, -np.ones(2)))
    assert found.growth[-1] > 0.97 * ideal > pareto.hypervolume(random, -np.ones(2))
    assert sorted(found.rows) == np.flatnonzero(pareto.front(values)).tolist()
    assert len(found.points) >= 5
    assert (found.probabilities > 0.3).all()
    assert auto.report(state).gap is None


@pytest.mark.long
def test_restored_state_makes_the_same_decisions() -> None:
    cells = {"0": "leaf"}
    state, points = run(24, cells=cells)
    values = np.array([distances(point) for point in points])
    metrics = np.stack([values[:, 1:], np.zeros((len(values), 1))], axis=2)
    rows = record.of(points, values[:, 0], np.zeros(len(values)), metrics)
    again = restore.restore(unit_space(2), state.problem.config, 1, rows, cells, (), auto.learned(state))
    ahead = auto.prepare(state)
    first, *others = (
        [each.point.tobytes() for each in islice(auto.suggestions(of, NONE), 3)] for of in (state, again, ahead)
    )
    assert others == [first, first]


@pytest.mark.long
def test_outcome_constraints_hold_with_several_objectives() -> None:
    state, points = run(24, LOW)
    kept = points[:, 0] <= 0.5
    assert kept[8:].mean() > 0.5
    found = front(state)
    assert kept[found.rows].all()
    assert (found.points[:, 0] <= 0.5).all()


@pytest.mark.long
def test_front_under_constraints_is_found() -> None:
    """Feasible points are above the line from (0, 0.6) to (1, 0.4). The front is on it, between the points nearest to
    the two optima.
    """
    line = Constraint("x1 + 0.2 * x0 >= 0.6")
    state, points = run(30, LOW, constraints=(line,))
    assert all(state.problem.space.admits(state.problem.space.decode(point)) for point in points)
    values = np.array([distances(point) for point in points if point[0] <= 0.5])
    along = np.linspace(0.1, 0.5, 200)
    ideal = pareto.hypervolume(np.array([distances(np.array([x, 0.6 - 0.2 * x])) for x in along]), -np.ones(2))
    assert pareto.hypervolume(values, -np.ones(2)) > 0.95 * ideal


def test_parameters_can_be_fixed() -> None:
    state, _ = run(6)
    within = Slice(unit_space(2), {"x0": 0.25})
    found = next(auto.suggestions_within(state, within, NONE))
    assert found.point[0] == 0.25


def test_gradient_of_the_index_matches_finite_differences() -> None:
    state, _ = run(12)
    out = issued(state, NONE, None, None)
    view = search_view(state, state.surrogate, state.warp, state.record.values, out).view
    assert isinstance(view, Scalarised)
    view = view.towards(1, 12)
    for position in np.random.default_rng(1).random((6, 2)):
        value, gradient = view.ucb_and_gradient(position[None], 0.5)
        assert value[0] == pytest.approx(view.ucb(position[None], 0.5)[0])
        steps = 1e-6 * np.eye(2)
        numeric = (view.ucb(position + steps, 0.5) - view.ucb(position - steps, 0.5)) / 2e-6
        np.testing.assert_allclose(gradient[0], numeric, rtol=1e-3, atol=1e-5)


def test_default_reference_is_the_worst_result() -> None:
    free = Config(objective=Metric("a", goal=1.0), metrics=(Metric("b", goal=-1.0),))
    state = auto.start(unit_space(2), free, 1)
    for value, other in ((1.0, 5.0), (2.0, 4.0), (0.0, 9.0)):
        state = auto.observe(state, np.array([value / 4.0, 0.5]), value, 0.0, [Measured(-other, 0.0)]).state
    assert objectives.summary(state).reference.tolist() == [0.0, -9.0]
    assert front(state).growth[-1] == 10.0

"""A prior on the optimum: it determines where the search begins, fades with results, and affects nothing else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.prior_weighted import PriorWeighted, best_quarter, is_trusted
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.report import report
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.older import Older
from adabkb_service.engine.prior import Around, Prior, Weighted
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

CORNER = Prior((Around(0, 0.9, 0.05), Around(1, 0.9, 0.05)), ())
MIXED = Space((FloatAxis("x", 0.0, 1.0), IntAxis("n", 1, 9), ChoiceAxis("kind", ("a", "b", "c"))))
OF_MIXED = Prior((Around(0, 0.3, 0.1), Around(1, 0.5, 0.2)), (Weighted(2, 3, ((1, 4.0), (2, 2.0))),))


def near(at: float) -> Callable[[Array], float]:
    """A function with its maximum at the same position on each axis."""
    return lambda u: -float(((u - at) ** 2).sum())


def test_density_matches_the_formula_and_its_gradient() -> None:
    positions = np.random.default_rng(0).random((20, 3))
    found, gradient = OF_MIXED.log_density_and_gradient(MIXED, positions)
    assert OF_MIXED.log_density(MIXED, positions).tolist() == found.tolist()
    weights = np.array([1.0, 4.0, 2.0])[np.minimum((positions[:, 2] * 3).astype(int), 2)]
    squares = ((positions[:, 0] - 0.3) / 0.1) ** 2 + ((positions[:, 1] - 0.5) / 0.2) ** 2
    assert found == pytest.approx(-np.log(1.0 + squares + 4.0 / weights - 1.0))
    for axis in (0, 1):
        step = 1e-6 * np.eye(3)[axis]
        above, below = (OF_MIXED.log_density(MIXED, positions + sign * step) for sign in (1, -1))
        assert gradient[:, axis] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-6)
    assert not gradient[:, 2].any()


def test_gradient_of_the_weighted_index_matches_finite_differences() -> None:
    """The ascent relies on this."""
    view = PriorWeighted(run(unit_space(2), near(0.3), 8).state.surrogate, unit_space(2), CORNER, 0.5)
    positions = np.random.default_rng(1).random((5, 2))
    _, gradient = view.ucb_and_gradient(positions, 1.5)
    for axis in (0, 1):
        step = 1e-6 * np.eye(2)[axis]
        slope = (view.ucb(positions + step, 1.5) - view.ucb(positions - step, 1.5)) / 2e-6
        assert gradient[:, axis] == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_first_point_is_near_the_mode_and_the_second_ignores_the_prior() -> None:
    """Also in a batch, and with choices. Without the prior, the first point is the middle of the box."""
    points = run(unit_space(2), near(0.9), 2, config=Config(prior=CORNER)).points
    assert np.abs(points[0] - 0.9).max() < 0.05
    assert np.abs(points[1] - 0.9).max() > 0.2
    start = auto.start(unit_space(2), Config(prior=CORNER), 0)
    batch = [found.point for found in islice(auto.suggestions(start, np.zeros((0, 2))), 3)]
    assert [np.abs(point - 0.9).max() < 0.1 for point in batch] == [True, False, True]
    (first,) = run(MIXED, near(0.9), 1, config=Config(prior=OF_MIXED)).points
    assert MIXED.decode(first) == pytest.approx({"x": 0.3, "n": 5, "kind": "b"}, abs=0.1)


@pytest.mark.parametrize("at", [0.9, 0.1], ids=["good", "misleading"])
def test_the_optimum_is_found_under_any_prior(at: float) -> None:
    """A prior never excludes a point."""
    found = run(unit_space(2), near(at), 25, config=Config(prior=CORNER))
    assert max(found.values) > -1e-3


def test_results_decide_whether_the_prior_is_trusted() -> None:
    good, misled = (run(unit_space(2), near(at), 8, config=Config(prior=CORNER)).state for at in (0.9, 0.1))
    trusted, other = (
        is_trusted(unit_space(2), CORNER, each.record.positions, best_quarter(each.record)) for each in (good, misled)
    )
    assert trusted
    assert not other


def run_two_objectives(prior: Prior | None, steps: int) -> list[Array]:
    """The points of a study with two objectives, whose front is the line from (0.2, 0.2) to (0.6, 0.6)."""
    config = Config(objective=Metric("one", goal=1.0), metrics=(Metric("other", goal=1.0),), prior=prior)
    state, points = auto.start(unit_space(2), config, 1), []
    for _ in range(steps):
        found = auto.suggest(state, np.zeros((0, 2)))
        measured = [Measured(near(0.6)(found.point), 0.0)]
        state = auto.observe(found.state, found.point, near(0.2)(found.point), 0.0, measured).state
        points.append(found.point)
    return points


@pytest.mark.long
def test_prior_with_several_objectives_guides_the_search_to_the_front() -> None:
    """The search begins at the prior, ignores it in the second step, and finds the front whether or not it is there."""
    good, wrong = Prior((Around(0, 0.4, 0.05), Around(1, 0.4, 0.05)), ()), CORNER
    for prior, middle in ((good, 0.4), (wrong, 0.9)):
        points = run_two_objectives(prior, 24)
        assert np.abs(points[0] - middle).max() < 0.05
        assert np.abs(points[1] - middle).max() > 0.2
        on_front = [point for point in points if abs(point[0] - point[1]) < 0.1 and 0.2 <= point.mean() <= 0.6]
        assert len(on_front) >= 6
    assert (
        np.abs(np.array(run_two_objectives(good, 8)) - 0.4).mean()
        < np.abs(np.array(run_two_objectives(None, 8)) - 0.4).mean()
    )


def test_prior_and_older_study_get_one_first_step_each() -> None:
    """The first point has the largest prior density; the second one was best in the older study. Later both count, and
    the search finds the optimum between them.
    """
    positions = np.random.default_rng(5).random((25, 2))
    positions[0] = 0.1
    values = np.array([near(0.1)(position) for position in positions])
    outputs = warp.fit(values).forward(values)
    older = Older("older", (0, 1), tuple(map(tuple, positions.tolist())), tuple(outputs.tolist()))
    config = Config(prior=CORNER, older=(older,))
    found = run(unit_space(2), near(0.5), 20, config=config)
    assert np.abs(found.points[0] - 0.9).max() < 0.05
    assert np.abs(found.points[1] - 0.1).max() < 0.2
    assert max(found.values) > -1e-3
    start = auto.start(unit_space(2), config, 0)
    third = list(islice(auto.suggestions(start, np.zeros((0, 2))), 3))[2]
    assert third.trust == {"older": 1.0}
    restored = found.restored()  # before the next point, which may split cells
    assert np.array_equal(found.ask(), restored.ask())


def test_posterior_and_gap_ignore_the_prior() -> None:
    """With the same results and an equal tree, all numbers of the model are equal."""
    with_prior = run(unit_space(2), near(0.6), 12, config=Config(prior=CORNER))
    state = with_prior.of_results_alone()
    grid = np.random.default_rng(0).random((50, 2))
    assert np.array_equal(auto.predict(state, grid).mean, auto.predict(with_prior.state, grid).mean)
    assert report(state).gap == report(with_prior.state).gap is not None


def test_study_with_a_prior_is_restored_bit_for_bit() -> None:
    found = run(unit_space(3), near(0.4), 30, config=Config(prior=CORNER))
    assert np.array_equal(found.ask(), found.restored().ask())


def test_prior_works_with_constraints_conditions_and_metrics() -> None:
    """With each of these, the first point is the feasible point with the largest prior density."""
    triangle = Space(unit_space(2).axes, (Constraint("x0 + x1 <= 1"),))
    (first,) = run(triangle, near(0.9), 1, config=Config(prior=CORNER)).points
    assert first.sum() <= 1.0
    assert np.abs(first - 0.5).max() < 0.1
    tree = Space(
        (ChoiceAxis("kind", ("a", "b")), FloatAxis("x", 0.0, 1.0)), conditions=(Condition("x", "kind", ("b",)),)
    )
    believed = Prior((Around(1, 0.8, 0.05),), (Weighted(0, 2, ((1, 5.0),)),))
    (first,) = run(tree, near(0.9), 1, config=Config(prior=believed)).points
    assert tree.decode(first) == {"kind": "b", "x": pytest.approx(0.8, abs=0.06)}
    state = auto.start(unit_space(2), Config(prior=CORNER, metrics=(Metric("sum", upper=1.0),)), 0)
    for step in range(6):
        point = auto.suggest(state, np.zeros((0, 2))).point
        if step == 0:
            assert np.abs(point - 0.9).max() < 0.05
        state = auto.observe(state, point, near(0.9)(point), 0.0, [Measured(-float(point.sum()), 0.0)]).state
    assert auto.suggest(state, np.zeros((0, 2))).point.sum() < 1.3


@pytest.mark.parametrize("given", [(), ((1, 5.0),), ((0, 0.5), (2, 3.0)), ((0, 0.5), (1, 0.2), (2, 0.1))])
def test_costs_of_choices_match_their_weights(given: tuple[tuple[int, float], ...]) -> None:
    """An edit may have removed all choices with weights."""
    choices = Weighted(0, 3, given)
    weights = choices.weights()
    assert (
        choices.costs(np.array([0.1, 0.5, 0.9, 1.0])).tolist() == (weights.max() / weights - 1.0)[[0, 1, 2, 2]].tolist()
    )

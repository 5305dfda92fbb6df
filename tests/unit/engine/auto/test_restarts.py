"""Restarts of a stalled search under the ``auto`` profile."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine import record as records
from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model.likelihood import Hyperparameters, prior
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state import restarts
from adabkb_service.engine.auto.state.restarts import (
    APART,
    STALL,
    is_nearest_to_failed,
    is_outside_neighborhood,
    relevant_axes,
    restart,
    start_after,
)
from adabkb_service.engine.auto.state.turns import is_restarts
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

ALL = np.ones(2, dtype=bool)


def bowl(point: Array) -> float:
    return -float(((point - 0.4) ** 2).sum())


def two_peaks(point: Array) -> float:
    """A wide peak of 0.7, and a narrow one of 1 in a corner."""
    wide = 0.7 * np.exp(-((point - [0.3, 0.35]) ** 2).sum() / 0.08)
    narrow = np.exp(-((point - [0.85, 0.8]) ** 2).sum() / 0.012)
    return float(max(wide, narrow))


def of_two_axes(point: Array) -> float:
    """A function of two axes; the other axes have no effect."""
    return two_peaks(point[[3, 11]])


def learned(lengthscales: list[float] | Array) -> Hyperparameters:
    return Hyperparameters(np.array(lengthscales), 1e-4, 1.0)


def mixed(point: Array) -> float:
    """The value of the first axis depends on a category."""
    choice = int(3.0 * point[2])
    return -float((point[0] - (0.2, 0.8, 0.5)[choice]) ** 2 + 0.1 * point[1]) + (0.0, 0.05, 0.1)[choice]


def record_of(values: list[float], positions: Array | None = None) -> Record:
    if positions is None:
        positions = np.random.default_rng(0).uniform(size=(len(values), 2))
    return records.of(positions, np.array(values), np.zeros(len(values)))


def begun(start: int | None, found: Record) -> int | None:
    """The number of results before the restart that follows from a record in a cube of which all axes matter."""
    dimension = found.positions.shape[1]
    domain = Problem(unit_space(dimension), Config(), 0).domain
    return start_after(start, domain, found, np.ones(dimension, dtype=bool))


@pytest.mark.parametrize(("gain", "stalled"), [(0.0, True), (0.04, True), (0.06, False), (1.0, False)])
def test_search_stalls_when_recent_gains_are_too_small(gain: float, stalled: bool) -> None:
    """The best result is 1 above the median; the last results gain the given share of that."""
    found = record_of([0.0] * 30 + [1.0 - gain] + [0.0] * (STALL - 1) + [1.0])
    assert (begun(None, found) is not None) is stalled


@pytest.mark.parametrize(("axes", "last"), [(1, 20), (4, 20), (5, 25), (12, 60)])
def test_more_axes_require_more_results_before_a_stall(axes: int, last: int) -> None:
    positions = np.random.default_rng(0).uniform(size=(last + 1, axes))
    values = [1.0] + [0.0] * last
    assert begun(None, record_of(values[:-1], positions[:-1])) is None
    assert begun(None, record_of(values, positions)) == last + 1


def test_restart_begins_at_a_stall_and_ends_on_a_gain() -> None:
    values, start, starts = [0.0] * 15 + [1.0] + [0.0] * 55, None, []
    for count in range(1, len(values) + 1):
        start = begun(start, record_of(values[:count]))
        starts.append(start)
    assert starts == [None] * 35 + [36] * 24 + [60] * 12
    assert begun(start, record_of([*values, 1.1])) is None


@pytest.mark.parametrize(("near", "difference", "settled"), [(6, 1e-12, True), (5, 1e-12, False), (6, 1e-6, False)])
def test_restart_begins_once_the_last_digits_of_an_optimum_are_found(
    near: int, difference: float, settled: bool
) -> None:
    """Long before the search counts as stalled: most results are near the best point, so gains seem large beside their
    median."""
    positions = np.vstack([np.linspace(0.0, 0.3, 9)[:, None] * [1.0, 1.0], 0.9 + 1e-3 * np.eye(near, 2)])
    values = [*np.linspace(0.0, 0.5, 9), *(1.0 + difference * np.arange(near))]
    assert begun(None, record_of(values, positions)) == (len(values) if settled else None)


def test_flat_function_is_searched_in_the_interior() -> None:
    """Every result is the same, so the model's bounds would be largest in the corners."""
    points = np.array(run(unit_space(3), lambda _: 0.0, 40).points)
    on_faces = ((points < 0.03) | (points > 0.97)).any(axis=1).mean()
    assert on_faces < 0.3  # of uniform points, 0.17


def test_restart_uses_only_later_results_away_from_the_best_point() -> None:
    positions = np.array([[0.9, 0.9], [0.5, 0.5], [0.52, 0.52], [0.6, 0.5], [0.1, 0.1]])
    problem, known = Problem(unit_space(2), Config(), 0), prior(2)
    assert list(restart(problem, record_of([0.0] * 5, positions), 1, positions[1], known).rows) == [3, 4]


def test_points_of_another_category_are_outside_the_neighbourhood() -> None:
    positions = np.array([[0.5, 0.0], [0.5, 0.25]])
    mixed, ordered = Domain(Space((*unit_space(1).axes, ChoiceAxis("c", tuple("ab"))))), Domain(unit_space(2))
    assert list(is_outside_neighborhood(mixed, positions, positions[0], ALL)) == [False, True]
    assert list(is_outside_neighborhood(ordered, positions, positions[0] + 0.01, ALL)) == [False, True]


def test_stalled_search_keeps_one_of_three_suggestions() -> None:
    """On a bowl, suggestions of the search stay at the minimum, and those of restarts spread over the box."""
    result = run(unit_space(2), bowl, 90)
    assert result.state.restarted_at is not None
    far = np.linalg.norm(np.array(result.points[60:]) - 0.4, axis=1) > 0.1
    assert far.sum() >= 15
    assert (~far[[not is_restarts(60, step) for step in range(60, 90)]]).mean() > 0.7
    assert np.ptp(np.array(result.points[60:]), axis=0).min() > 0.7


@pytest.mark.long
@pytest.mark.parametrize("seeds", [(1,), range(4)], ids=["one", "four"])
def test_restarts_find_a_peak_that_the_search_missed(monkeypatch: pytest.MonkeyPatch, seeds: Sequence[int]) -> None:
    """In three of four studies within 160 evaluations. Without restarts, three of four stay at the lower peak."""
    found = [run(unit_space(2), two_peaks, 160, seed=seed) for seed in seeds]
    monkeypatch.setattr(restarts, "STALL", 1000)
    monkeypatch.setattr(restarts, "SETTLED", 1000)
    without = [run(unit_space(2), two_peaks, 160, seed=seed) for seed in seeds]
    assert sum(max(each.values) < 0.71 for each in without) >= 0.75 * len(seeds)
    assert sum(max(each.values) > 0.99 for each in found) >= 0.75 * len(seeds)


@pytest.mark.long
def test_irrelevant_axes_do_not_delay_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of sixteen axes matter. Three of four studies find the missed peak within 200 evaluations, and the other one
    within 260.

    If all axes counted, the first restart would need 80 results without a gain. It would not know the relevant axes
    yet, and no study would find the peak.
    """
    found = [run(unit_space(16), of_two_axes, 200, seed=seed) for seed in range(4)]
    for each in found:
        assert set(each.state.relevant_axes.nonzero()[0]) >= {3, 11}
        assert each.state.relevant_axes.sum() <= 8
    monkeypatch.setattr(restarts, "IRRELEVANT", math.inf)
    without = [run(unit_space(16), of_two_axes, 200, seed=seed) for seed in range(4)]
    assert all(max(each.values) < 0.71 for each in without)
    assert sum(max(each.values) > 0.99 for each in found) >= 3


@pytest.mark.parametrize(
    ("lengthscales", "relevant"),
    [
        pytest.param([0.1, 0.2, 3.1], [True, True, False], id="long beside the others, and longer than the cube"),
        pytest.param([0.02, 0.2, 0.9], [True, True, True], id="within the cube"),
        pytest.param([0.1, 2.9, 2.9], [True, True, True], id="not so long beside the shortest"),
        pytest.param([9.0, 9.0, 9.0], [True, True, True], id="all alike"),
    ],
)
def test_axes_with_long_lengthscales_are_irrelevant(lengthscales: list[float], relevant: list[bool]) -> None:
    assert list(relevant_axes(Problem(unit_space(3), Config(), 0), learned(lengthscales))) == relevant


def test_axes_without_evidence_are_relevant() -> None:
    """Such an axis keeps the lengthscale of the prior, which is long in many dimensions."""
    problem, lengthscales = Problem(unit_space(60), Config(), 0), prior(60).lengthscales.copy()
    lengthscales[0] = 0.05
    assert lengthscales[1] > 1.0
    assert relevant_axes(problem, learned(lengthscales)).all()


def test_all_axes_are_relevant_to_studies_with_metrics() -> None:
    config = Config(metrics=(Metric("length", upper=1.0),))
    assert relevant_axes(Problem(unit_space(3), config, 0), learned([0.1, 0.2, 5.0])).all()


@pytest.mark.long
def test_restarts_eventually_cover_the_whole_box() -> None:
    """The largest empty ball shrinks with more results, although the optimum was found early."""
    result = run(unit_space(2), bowl, 250)
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 41)] * 2), axis=-1).reshape(-1, 2)

    def largest_gap(count: int) -> float:
        points = np.array(result.points[:count])
        return float(np.linalg.norm(grid[:, None] - points[None], axis=2).min(axis=1).max())

    assert largest_gap(250) < 0.5 * largest_gap(40)
    assert largest_gap(250) < 0.2


SPACES = [
    pytest.param(unit_space(2), bowl, id="real"),
    pytest.param(
        Space((FloatAxis("a", 0.0, 1.0), FloatAxis("b", 0.0, 1.0), ChoiceAxis("c", ("x", "y", "z")))), mixed, id="mixed"
    ),
]


@pytest.mark.parametrize(("space", "objective"), SPACES)
@pytest.mark.parametrize("steps", [44, *(pytest.param(steps, marks=pytest.mark.long) for steps in (56, 73))])
def test_state_restored_during_restarts_continues_identically(space: Space, objective: object, steps: int) -> None:
    assert callable(objective)
    original = run(space, objective, steps)
    assert original.state.restarted_at is not None
    restored = original.restored()
    assert restored.state.restarted_at == original.state.restarted_at
    for _ in range(12):
        original.step(objective)
        restored.step(objective)
    assert np.array_equal(original.points, restored.points)
    assert restored.state.restarted_at == original.state.restarted_at


@pytest.mark.long
def test_state_restored_with_irrelevant_axes_continues_identically() -> None:
    original = run(unit_space(12), of_two_axes, 110)
    assert original.state.restarted_at is not None
    assert not original.state.relevant_axes.all()
    restored = original.restored()
    for _ in range(12):
        original.step(of_two_axes)
        restored.step(of_two_axes)
    assert np.array_equal(original.points, restored.points)
    assert restored.state.restarted_at == original.state.restarted_at


@pytest.mark.long
@pytest.mark.parametrize(("space", "objective"), SPACES)
def test_batches_equal_single_suggestions_during_restarts(space: Space, objective: object) -> None:
    assert callable(objective)
    state = run(space, objective, 61).state
    assert state.restarted_at is not None
    nothing = np.zeros((0, space.dimension))
    together = auto.suggestions(state, nothing)
    pending = nothing
    for _ in range(9):
        suggestion = auto.suggest(state, pending)
        assert np.array_equal(suggestion.point, next(together).point)
        state, pending = suggestion.state, np.vstack([pending, suggestion.point])
    assert len(np.unique(pending, axis=0)) == 9


def test_excluding_results_starts_another_restart() -> None:
    result = run(unit_space(2), bowl, 60)
    kept = result.state.record.first(55)
    assert result.state.restarted_at is not None
    assert auto.rebuild(result.state, kept, result.cells).state.restarted_at == 55


def test_random_points_of_a_restart_avoid_failed_regions() -> None:
    positions, failed = np.array([[0.2, 0.2], [0.9, 0.9]]), np.array([[0.2, 0.8]])
    assert is_nearest_to_failed(Domain(unit_space(2)), np.array([0.3, 0.7]), positions, failed)
    assert not is_nearest_to_failed(Domain(unit_space(2)), np.array([0.3, 0.3]), positions, failed)
    assert not is_nearest_to_failed(Domain(unit_space(2)), np.array([0.3, 0.7]), positions, failed[:0])


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_whether_a_search_has_settled_does_not_depend_on_the_level_of_the_results(offset: float) -> None:
    """A constant added to all results changes nothing."""
    positions = np.vstack([np.linspace(0.0, 0.3, 9)[:, None] * [1.0, 1.0], 0.9 + 1e-3 * np.eye(6, 2)])
    for difference, settled in ((0.0, True), (1e-4, False)):
        values = offset + np.array([*np.linspace(0.0, 0.5, 9), *(1.0 + difference * np.arange(6))])
        assert (begun(None, record_of(values.tolist(), positions)) is not None) == settled


def test_neighbourhood_of_a_mixture_is_as_narrow_as_its_shares_vary() -> None:
    """Shares of many components vary little, so a distance along one is large relative to their spread."""
    axes = tuple(FloatAxis(f"c{k}", 0.0, 1.0) for k in range(8))
    domain = Domain(Space(axes, mixtures=(Mixture(tuple(axis.name for axis in axes)),)))
    assert domain.spreads is not None
    best, relevant = np.full(8, 0.125), np.ones(8, dtype=bool)
    edge = APART * math.sqrt(8) * float(domain.spreads[0])
    away = np.eye(8)[0] - np.eye(8)[1]
    positions = best + np.outer([0.6 * edge, 0.8 * edge], away)
    assert domain.spreads[0] < 0.7
    assert is_outside_neighborhood(domain, positions, best, relevant).tolist() == [False, True]

"""Metrics with bounds in the engine: the search, the gap and the recommendation use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import restore
from adabkb_service.engine.auto.acquisition.outcomes import Bounded, Constrained, IndexBound
from adabkb_service.engine.auto.policy import Config, State, auto
from adabkb_service.engine.auto.reports.report import feasible_probability
from adabkb_service.engine.auto.search.refine import UpperBound
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.record import Record, of
from adabkb_service.engine.space import Space
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

SUM = Metric("sum", upper=1.0)
RATIO = Metric("ratio", lower=0.0)
FREE = Metric("free")


def hill(u: Array) -> float:
    """Largest at (0.8, 0.8); subject to x + y <= 1, largest at (0.5, 0.5), where it is -0.18."""
    return -float(((u - 0.8) ** 2).sum())


MEASURES: dict[str, Callable[[Array], float]] = {
    "sum": lambda u: float(u.sum()),
    "ratio": lambda u: float(u[0] - 2.0 * u[1]),
    "free": lambda u: float(np.sin(5.0 * u[0])),
}


@dataclass
class Study:
    """A study in the engine, and what a database would hold."""

    metrics: tuple[Metric, ...]
    space: Space = field(default_factory=lambda: unit_space(2))
    state: State = field(init=False)
    cells: dict[str, str] = field(default_factory=lambda: {"0": "leaf"})
    points: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = auto.start(self.space, Config(metrics=self.metrics), 1)

    def measured(self, point: Array) -> list[Measured]:
        return [Measured(metric.sign * MEASURES[metric.name](point), 0.0) for metric in self.metrics]

    def run(self, steps: int) -> Study:
        for _ in range(steps):
            suggestion = auto.suggest(self.state, np.zeros((0, 2)))
            self.cells.update(suggestion.cells)
            self.points.append(suggestion.point)
            self.tell(suggestion.state, suggestion.point)
        return self

    def tell(self, state: State, point: Array) -> None:
        update = auto.observe(state, point, hill(point), 0.0, self.measured(point))
        self.cells.update(update.cells)
        self.state = update.state

    @property
    def feasible(self) -> list[bool]:
        return [
            all(metric.violation(MEASURES[metric.name](point)) == 0.0 for metric in self.metrics)
            for point in self.points
        ]

    def record(self) -> Record:
        """The results as stored."""
        metrics = np.array([self.measured(point) for point in self.points])
        values = np.array([hill(point) for point in self.points])
        return of(np.array(self.points), values, np.zeros(len(values)), metrics)


@pytest.fixture(scope="module")
def study() -> Study:
    return Study((SUM, FREE)).run(30)


def test_constrained_optimum_is_found(study: Study) -> None:
    best = max(hill(point) for point, kept in zip(study.points, study.feasible, strict=True) if kept)
    assert -0.18 >= best > -0.19
    assert sum(study.feasible) >= 10


@pytest.mark.long
def test_optimum_under_a_constraint_and_a_bound_is_found() -> None:
    """At (0.3, 0.7), with -0.26. The bound alone would allow -0.18, and the constraint alone -0.25."""
    space = Space(unit_space(2).axes, (Constraint("x0 <= 0.3"),))
    found = Study((SUM,), space).run(30)
    assert all(point[0] <= 0.3 for point in found.points)
    assert -0.26 >= max(hill(point) for point, kept in zip(found.points, found.feasible, strict=True) if kept) > -0.27
    gap = auto.report(found.state).gap
    assert gap is not None
    assert gap < 0.1


@pytest.mark.long
def test_small_feasible_region_is_found() -> None:
    """x - 2 y >= 0 and x + y <= 1: a triangle of a third of the square; its best point is (2/3, 1/3)."""
    found = Study((SUM, RATIO)).run(30)
    best = max(hill(point) for point, kept in zip(found.points, found.feasible, strict=True) if kept)
    optimum = hill(np.array([2.0, 1.0]) / 3.0)
    assert optimum >= best > optimum - 0.02


def test_gap_is_valid_and_infeasible_cells_are_pruned(study: Study) -> None:
    report = auto.report(study.state)
    best = max(hill(point) for point, kept in zip(study.points, study.feasible, strict=True) if kept)
    assert report.gap is not None
    assert -0.18 - best <= report.gap < 0.09  # half of the points beyond the bound are better
    pruned = [key for key, status in study.cells.items() if status == "pruned"]
    lows = np.array([auto.cell_box(study.state, key).low for key in pruned])
    assert (lows.sum(axis=1) >= 1.0).any()  # only the bound excludes this region; the objective is best there


def test_there_is_no_gap_before_a_feasible_result() -> None:
    impossible = Study((Metric("sum", upper=-1.0),)).run(12)
    assert auto.report(impossible.state).gap is None
    found = auto.recommend(impossible.state)
    assert found is not None
    sums = [point.sum() for point in impossible.points]
    assert min(sums) <= 0.1  # the search looks for the smallest violation, and finds it


def test_restored_study_with_metrics_continues_identically() -> None:
    """Also if a checkpoint was learned before the result that activates it."""
    kept = Study((SUM, FREE)).run(23)
    learned, dictionary = auto.learned(kept.state), auto.dictionary(kept.state)
    config = Config(metrics=kept.metrics)
    restored = restore.restore(unit_space(2), config, 1, kept.record(), kept.cells, dictionary, learned)
    for prepares in (False, True):
        other = Study(kept.metrics, cells=dict(kept.cells), points=list(kept.points))
        other.state = auto.prepare(restored) if prepares else restored
        one = Study(kept.metrics, cells=dict(kept.cells), points=list(kept.points))
        one.state = kept.state
        assert [point.tolist() for point in other.run(4).points] == [point.tolist() for point in one.run(4).points]
        assert auto.learned(other.state) == auto.learned(one.state)


def test_batch_with_metrics_equals_suggestions_in_turn(study: Study) -> None:
    together = [found.point.tolist() for found in islice(auto.suggestions(study.state, np.zeros((0, 2))), 4)]
    state, pending = study.state, np.zeros((0, 2))
    for point in together:
        suggestion = auto.suggest(state, pending)
        assert suggestion.point.tolist() == point
        state, pending = suggestion.state, np.concatenate([pending, suggestion.point[None]])


def test_recommended_point_has_the_required_probability(study: Study) -> None:
    for required in (0.5, 0.95):
        found = auto.recommend(study.state, required)
        assert found is not None
        assert feasible_probability(study.state, found.point[None])[0] >= required
    # No point has this probability, so the point with the highest one is recommended.
    safest = auto.recommend(study.state, 1.0)
    assert safest is not None
    likeliest = feasible_probability(study.state, np.array(study.points)).max()
    assert feasible_probability(study.state, safest.point[None])[0] == likeliest


def test_metric_predictions_match_their_results(study: Study) -> None:
    where = np.array([[0.5, 0.4], [0.2, 0.3]])
    found = auto.predict(study.state, where)
    assert found.metrics[0].mean == pytest.approx([-0.9, -0.5], abs=0.05)  # larger is better
    assert found.metrics[1].mean == pytest.approx(np.sin(5.0 * where[:, 0]), abs=0.2)
    assert found.feasible is not None
    assert found.feasible == pytest.approx([1.0, 1.0], abs=0.05)
    assert auto.predict(study.state, np.array([[0.9, 0.9]])).feasible == pytest.approx([0.0], abs=0.05)


def test_index_without_a_binding_metric_refines_like_the_bound(study: Study) -> None:
    view = study.state.surrogate
    index = IndexBound(Constrained(view, (Bounded(view, -np.inf, 1e9, 1e-4),)), 1.5)
    bound = UpperBound(view, 1.5)
    rng = np.random.default_rng(0)
    for target, centroid in rng.random((20, 2, 2)):
        floor = bound.value(target) - 0.3
        assert index.value(target) == pytest.approx(bound.value(target))
        assert index.moved_towards_centroid(target, centroid, floor) == pytest.approx(
            bound.moved_towards_centroid(target, centroid, floor)
        )
        assert index.axis_to_cut(target, centroid, np.array([0, 1])) == bound.axis_to_cut(
            target, centroid, np.array([0, 1])
        )


def test_bounds_hold_beside_failed_and_pending_points_and_in_slices(study: Study) -> None:
    away = np.array([[0.45, 0.45], [0.4, 0.6]])
    found = auto.suggest(study.state, away[:1], away[1:])
    assert not (found.point == away).all(axis=1).any()
    within = study.state.problem.domain.whole.__class__(unit_space(2), {"x0": 0.75})
    inside = [each.point for each in islice(auto.suggestions_within(study.state, within, away[:1]), 3)]
    assert all(point[0] == 0.75 for point in inside)
    assert sum(point.sum() <= 1.05 for point in inside) >= 2


@pytest.mark.parametrize(
    ("metric", "value", "violation", "relative"),
    [
        (Metric("m", upper=20.0), 25.0, 5.0, 0.25),
        (Metric("m", lower=20.0), 25.0, 0.0, 0.0),
        (Metric("m", lower=-2.0, upper=0.0), 0.5, 0.5, 0.5),
        (Metric("m", lower=-2.0, upper=0.0), -3.0, 1.0, 0.5),
        (Metric("m"), 1e300, 0.0, 0.0),
    ],
)
def test_violations(metric: Metric, value: float, violation: float, relative: float) -> None:
    assert (metric.violation(value), metric.relative_violation(value)) == (violation, relative)

"""The gap: how often it is valid, and when it exists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.model.averaged import Averaged, learn
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports import gap
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import Run, run, sample_path
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def hill(u: Array) -> float:
    return -20.0 * float(((u - 0.53) ** 2).sum())


@pytest.mark.long
@pytest.mark.parametrize("functions", [12, 40])
def test_gap_is_valid_on_functions_drawn_from_the_prior(functions: int) -> None:
    """Half of the functions have one dimension and half two, with lengthscales 0.15, 0.4 and 1, after 16 and 28 results
    (the gap is as of 15 and 27). In at least 33 of 40, no point is better than the recommended one by more than the gap
    (36 are expected). The median gap is below a third of the range of the results, so the gap is informative.
    """
    held, widths = 0, []
    for seed in range(functions):
        d = 1 if seed < functions // 2 else 2
        space = Space(tuple(IntAxis(f"n{i}", 0, {1: 299, 2: 21}[d]) for i in range(d)))
        result = Run(auto.start(space, Config(), seed))
        grid, rng = result.state.problem.domain.whole.points, np.random.default_rng([seed, d])
        values = sample_path(rng, grid, np.full(d, (0.15, 0.4, 1.0)[seed % 3]))
        known = {position.tobytes(): float(value) for position, value in zip(grid, values, strict=True)}
        for row in rng.choice(len(grid), 8 if d == 1 else 20, replace=False):
            result.tell(grid[row], float(values[row]))
        for _ in range(8):
            result.step(lambda u, known=known: known[u.tobytes()])  # type: ignore[misc]
        gap, recommended = auto.report(result.state).gap, auto.recommend(result.state)
        assert gap is not None
        assert recommended is not None
        held += float(values.max()) - known[recommended.point.tobytes()] <= gap + 1e-9
        widths.append(gap / np.ptp(result.values))
    assert held >= 33 / 40 * functions
    assert np.median(widths) < 1.0 / 3.0


def test_gap_narrows_with_more_results() -> None:
    """A parabola in two dimensions: after 60 steps, the gap is below a fifth of that after 12."""
    result = run(unit_space(2), hill, 12)
    early = auto.report(result.state).gap
    for _ in range(48):
        result.step(hill)
    late = auto.report(result.state).gap
    assert early is not None
    assert late is not None
    assert late < early / 5.0


def test_gap_requires_enough_results() -> None:
    """Three per parameter and three more: 12 in three dimensions."""
    result = run(unit_space(3), hill, 11)
    assert auto.report(result.state).gap is None
    result.step(hill)
    assert auto.report(result.state).gap is not None


def test_gap_larger_than_the_result_range_is_not_reported() -> None:
    """A straight line rises beyond the results, all of which lie in its lowest tenth."""
    state, rng = auto.start(unit_space(1), Config(), 0), np.random.default_rng(0)
    for u in 0.1 * rng.random((12, 1)):
        state = auto.observe(state, u, float(u[0])).state
    assert auto.report(state).gap is None
    for u in (1.0, 0.9, 0.95):  # now a quarter of the results is new
        state = auto.observe(state, np.array([u]), u).state
    assert auto.report(state).gap is not None


@pytest.mark.parametrize("scale", [1000.0, 1e-7])
def test_gap_is_in_the_users_units(scale: float) -> None:
    """Costs of log-normal spread, so that the warp is not linear: results times 1000, gap times 1000."""

    def objective(u: Array) -> float:
        return -float(np.exp(4 * ((u - 0.3) ** 2).sum()))

    plain, scaled = (run(unit_space(2), lambda u, s=s: s * objective(u), 20, seed=1) for s in (1.0, scale))  # type: ignore[misc]
    one, other = auto.report(plain.state).gap, auto.report(scaled.state).gap
    assert one is not None
    assert one > 0
    assert other == pytest.approx(scale * one, rel=1e-3)


def test_gap_with_one_far_better_result_does_not_overflow() -> None:
    """Under the fitted warps, some draws exceed the largest float at both points."""
    X = np.array([0.5995, 0.5299, 0.4449, 0.5804, 0.8141, 0.2175])
    values = [-1.436e-3, -1.777e-3, -1.621e-3, -2.208e-3, 2.372, 1.742e-4]
    for seed in range(8):
        state = auto.start(unit_space(1), Config(), seed)
        for x, value in zip(X, values, strict=True):
            state = auto.observe(state, np.array([x]), value).state
        assert auto.report(state).gap is None, "larger than the range of the results"


@pytest.mark.parametrize(("missing", "known"), [(None, True), ("objective", False), ("metric", False)])
def test_gap_needs_the_posteriors_of_the_objective_and_the_bounded_metrics(
    monkeypatch: pytest.MonkeyPatch, missing: str | None, *, known: bool
) -> None:
    """A posterior is missing if its numbers overflow."""
    state = auto.start(unit_space(1), Config(metrics=(Metric("mass", upper=0.7),)), 0)
    for u in np.linspace(0.0, 1.0, 10):
        state = auto.observe(state, np.array([u]), hill(np.array([u])), 0.0, [Measured(float(u), 0.0)]).state
    overflows = {None: None, "objective": state.problem, "metric": state.metrics[0].problem}[missing]

    def learned(problem: Problem, *given: Any, **how: Any) -> Averaged | None:
        return None if problem is overflows else learn(problem, *given, **how)

    monkeypatch.setattr(gap, "learn", learned)
    assert (gap.gap(state) is not None) == known


def test_declared_noise_widens_the_gap() -> None:
    """The same 30 results, declared as exact, and with an error of a third of their range."""
    exact = auto.start(unit_space(2), Config(), 0)
    noisy, rng = exact, np.random.default_rng(0)
    for u in rng.random((30, 2)):
        exact = auto.observe(exact, u, hill(u)).state
        noisy = auto.observe(noisy, u, hill(u), 4.0).state
    narrow, wide = auto.report(exact).gap, auto.report(noisy).gap
    assert narrow is not None
    assert wide is None or wide > 2.0 * narrow


def test_untried_choice_keeps_the_gap_wide() -> None:
    """Two choices with the same parabola; one has all 20 results. The gap is far above that of the parabola without
    choices.
    """
    axes = (FloatAxis("x", 0.0, 1.0), ChoiceAxis("c", ("a", "b")))
    state, plain = auto.start(Space(axes), Config(), 0), auto.start(Space(axes[:1]), Config(), 0)
    first = state.problem.domain.position(1, 0)
    for x in np.linspace(0.0, 1.0, 20):
        state = auto.observe(state, np.array([x, first]), hill(np.array([x]))).state
        plain = auto.observe(plain, np.array([x]), hill(np.array([x]))).state
    open_gap, closed = auto.report(state).gap, auto.report(plain).gap
    assert closed is not None
    assert open_gap is None or open_gap > 10.0 * closed


@pytest.mark.long
def test_reading_the_gap_changes_nothing() -> None:
    """For 45 results, one study reads the gap after each of them, and the other never. It changes only at checkpoints,
    and a restored study has the same gap.
    """
    asked, plain = (Run(auto.start(unit_space(2), Config(), 3)) for _ in range(2))
    gaps = []
    for _ in range(45):
        asked.step(hill)
        plain.step(hill)
        gaps.append(auto.report(asked.state).gap)
    assert [point.tolist() for point in asked.points] == [point.tolist() for point in plain.points]
    assert auto.report(plain.state).gap == auto.report(asked.restored().state).gap == gaps[-1]
    assert len(set(gaps[20:])) < 20


def test_gap_of_a_listed_space_is_over_its_points() -> None:
    """A parabola on twelve points: the gap is small with all but one of them, and smaller with all."""
    state = auto.start(Space((IntAxis("n", 0, 11),)), Config(), 0)
    gaps = []
    for point in state.problem.domain.whole.points:
        state = auto.observe(state, point, -((float(point[0]) - 0.7) ** 2)).state
        gaps.append(auto.report(state).gap)
    assert gaps[-2] is not None
    assert gaps[-1] is not None
    assert 0.0 <= gaps[-1] < gaps[-2] < 0.1

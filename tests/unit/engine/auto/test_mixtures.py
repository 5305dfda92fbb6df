"""Mixtures: every suggestion is a mixture, also with other features, and the search finds the best formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.tree import INFEASIBLE, box_of
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state.restarts import restart
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import Run, run

Array = NDArray[np.float64]


def shares(count: int, high: float = 1.0, prefix: str = "c") -> tuple[FloatAxis, ...]:
    return tuple(FloatAxis(f"{prefix}{k}", 0.0, high) for k in range(count))


def names(axes: tuple[FloatAxis, ...]) -> tuple[str, ...]:
    return tuple(axis.name for axis in axes)


THREE, FIVE, OTHERS = shares(3), shares(5), shares(2, 100.0, "d")
PLAIN = Space(THREE, mixtures=(Mixture(names(THREE)),))
SPARSE = Space(FIVE, mixtures=(Mixture(names(FIVE), 1.0, 2, 0.1),))
BESIDE = Space(
    (*THREE, FloatAxis("heat", 20.0, 120.0), *OTHERS, ChoiceAxis("mill", ("ball", "jet")), IntAxis("passes", 1, 5)),
    mixtures=(Mixture(names(THREE), 1.0, 2, 0.1), Mixture(names(OTHERS), 100.0)),
)
CONSTRAINED = replace(
    BESIDE, constraints=(Constraint("c0 <= heat / 100"), Constraint("not (mill == 'jet' and d0 > 60)"))
)
CONDITIONAL = replace(BESIDE, conditions=(Condition("passes", "mill", ("ball",)), Condition("heat", "mill", ("jet",))))
KINDS = {"plain": PLAIN, "sparse": SPARSE, "beside": BESIDE, "constrained": CONSTRAINED, "conditional": CONDITIONAL}


def assert_is_mixture(space: Space, point: Array) -> None:
    """Assert that a point is a mixture of the space, exactly, and in the form in which parameters are written."""
    parameters = space.decode(point)
    assert space.problems(parameters) == {}
    assert space.admits(parameters)
    for mixture in space.mixtures:
        found = [float(parameters[name]) for name in mixture.names]  # type: ignore[arg-type]
        assert sum(Fraction(str(each)) for each in found) == Fraction(str(mixture.total))
        assert sum(each > 0.0 for each in found) <= (mixture.at_most or len(found))
        assert all(each == 0.0 or each >= mixture.least for each in found)
    assert np.array_equal(space.encode(parameters), point)


def slope(u: Array) -> float:
    return float(u @ np.arange(len(u)))


def flat(u: Array) -> float:
    """A constant, so that the search stalls and restarts."""
    return 0.0 * float(u.sum())


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "constrained" else pytest.mark.long) for kind in KINDS]
)
@pytest.mark.parametrize("objective", [slope, pytest.param(flat, marks=pytest.mark.long)])
def test_every_suggestion_is_a_mixture(kind: str, objective: Callable[[Array], float]) -> None:
    """Checks first points, search, final search and restarts, singly and in batches, next to a failed point. No point
    is repeated.
    """
    space = KINDS[kind]
    result, whole = Run(auto.start(space, Config(), 3)), Slice(space, {})
    if objective is flat:
        for step in range(61):
            result.tell(whole.drawn(1, step), 0.0)
        assert result.state.restarted_at is not None
    for points, failed in result.steps(9, 3, objective, failing=6):
        for each in points:
            assert_is_mixture(space, each)
        known = {each.tobytes() for each in [*failed, *result.points]}
        assert len({each.tobytes() for each in points} - known) == len(points)


@pytest.mark.parametrize(
    "fixed", some([{"c0": 0.3}, {"c1": 0.0, "d0": 12.5}, {"mill": "jet", "c2": 1.0}], [{"c1": 0.0, "d0": 12.5}])
)
def test_suggestions_with_fixed_shares_are_mixtures(fixed: dict[str, float | str]) -> None:
    state, within = run(BESIDE, slope, 6).state, Slice(BESIDE, fixed)
    for each in islice(auto.suggestions_within(state, within, np.zeros((0, BESIDE.dimension))), 3):
        assert within.holds(each.point[None]).all()
        assert BESIDE.admits({**BESIDE.decode(each.point), **fixed})
    found = auto.recommend_within(state, within)
    assert found is not None
    assert BESIDE.admits({**BESIDE.decode(found.point), **fixed})


@pytest.mark.parametrize(
    "config",
    [
        Config(metrics=(Metric("cost", upper=0.6),)),
        Config(objective=Metric("gain", goal=1.0), metrics=(Metric("cost", goal=-1.0),)),
        Config(noise_std=0.1),
    ],
    ids=["bounds", "objectives", "noise"],
)
@pytest.mark.parametrize("kind", some(["plain", "beside"], ["plain"]))
def test_suggestions_with_bounds_objectives_or_noise_are_mixtures(config: Config, kind: str) -> None:
    space = KINDS[kind]
    state, none = auto.start(space, config, 1), np.zeros((0, space.dimension))
    for _ in range(9):
        suggestion = auto.suggest(state, none)
        assert_is_mixture(space, suggestion.point)
        measured = [Measured(float(suggestion.point[0]), 0.0)] * len(config.metrics)
        state = auto.observe(suggestion.state, suggestion.point, slope(suggestion.point), 0.0, measured).state


def test_restarts_suggest_mixtures() -> None:
    state = auto.start(PLAIN, Config(), 3)
    for step in range(41):
        state = auto.observe(state, Slice(PLAIN, {}).drawn(1, step), 0.0).state
    assert state.restarted_at is not None
    for each in islice(auto.suggestions(state, np.zeros((0, 3))), 4):
        assert_is_mixture(PLAIN, each.point)


def formula(best: Array) -> Callable[[Array], float]:
    """A smooth function with its maximum of 0 at the given shares."""
    return lambda u: -float(((1.0 + np.arange(len(best))) * (u[: len(best)] - best) ** 2).sum())


def test_optimum_of_a_smooth_mixture_is_found_precisely() -> None:
    best = np.array([0.15, 0.55, 0.3])
    assert max(run(PLAIN, formula(best), 30).values) > -1e-12


@pytest.mark.long
def test_optimum_on_an_edge_is_found() -> None:
    for seed in range(2):
        assert max(run(PLAIN, formula(np.array([0.0, 0.4, 0.6])), 25, seed=seed).values) > -1e-6


@pytest.mark.long
def test_the_best_pair_of_components_is_found() -> None:
    best = np.array([0.0, 0.35, 0.0, 0.65, 0.0])
    assert max(run(SPARSE, formula(best), 40, seed=0).values) > -1e-3


def test_first_points_are_spread_over_the_mixtures() -> None:
    """Each share is large in some of the first points; the very first point is in the middle."""
    space = Space(FIVE, mixtures=(Mixture(names(FIVE)),))
    points = np.array(run(space, flat, 12).points)
    assert points[0] == pytest.approx(0.2)
    assert (points.max(axis=0) > 0.35).all()


def test_prior_lengthscale_of_shares_shrinks_with_the_number_of_components() -> None:
    """Shares of 15 components differ less than those of 3."""
    of_many = shares(15)
    learned = []
    for axes in (THREE, of_many):
        state = auto.start(Space((*axes, FloatAxis("heat", 0.0, 1.0)), mixtures=(Mixture(names(axes)),)), Config(), 0)
        lengthscales = state.checkpoint.hyperparameters.lengthscales
        learned.append(lengthscales[0] / lengthscales[-1])
    assert learned[0] == pytest.approx(1.63, abs=0.1)
    assert learned[1] == pytest.approx(0.44, abs=0.06)


def results(noise: float, noise_std: float | None = None) -> State:
    """A study with results at 30 random formulas."""
    state, measured = auto.start(PLAIN, Config(noise_std=noise_std), 0), formula(np.array([0.2, 0.5, 0.3]))
    added = noise * np.random.default_rng(0).normal(size=30)
    for step, error in enumerate(added.tolist()):
        point = Slice(PLAIN, {}).drawn(1, step)
        state = auto.observe(state, point, measured(point) + error).state
    return state


def test_kernel_of_mixtures_is_smooth_whether_results_are_noisy_or_not() -> None:
    """Without results, and in restarts, too. The quadratic model is used unless results are noisy."""
    for noise, noise_std, seems_noisy in ((0.0, None, False), (0.2, None, True), (0.2, 0.0, False)):
        state = results(noise, noise_std)
        assert state.surrogate.kernel.smooth
        assert state.seems_noisy is seems_noisy
        assert bool(len(state.model_axes)) is not seems_noisy
    problem, known = state.problem, state.checkpoint.hyperparameters
    assert auto.start(PLAIN, Config(), 0).surrogate.kernel.smooth
    assert restart(problem, state.record, 0, state.record.positions[0], known).posterior.kernel.smooth


@pytest.mark.long
def test_infeasible_cells_stay_pruned_in_a_restored_study() -> None:
    original = run(SPARSE, formula(np.array([0.0, 0.35, 0.0, 0.65, 0.0])), 30)
    tree, domain = original.state.tree, original.state.problem.domain
    for key, status in original.cells.items():
        low, high = box_of(domain, key).ends()
        if high.sum() < 1.0 - 1e-3 or low.sum() > 1.0 + 1e-3 or (low > 1e-3).sum() > 2:
            assert status in ("pruned", "expanded")
            assert status == "expanded" or tree.axis[tree.cell(key)] == INFEASIBLE
    restored = original.restored()
    for _ in range(4):
        one, other = original.ask(), restored.ask()
        assert one.tobytes() == other.tobytes()
        original.tell(one, slope(one))
        restored.tell(other, slope(other))
    assert auto.learned(original.state) == auto.learned(restored.state)

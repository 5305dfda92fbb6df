"""Properties of the Ada-BKB policy: pruning, the gap, pending points, and restored states."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.cells import box_of
from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.kernels import Gaussian
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.space import Space
from tests.unit.engine.drive import Run, record, run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def rkhs_function(seed: int, dimension: int, lengthscale: float) -> tuple[Array, Array, float]:
    """Centres, weights and norm of f = sum_j a_j k(., c_j), scaled to norm 2."""
    rng = np.random.default_rng(seed)
    centres, a = rng.random((12, dimension)), rng.normal(size=12)
    norm = float(np.sqrt(a @ Gaussian()(centres / lengthscale, centres / lengthscale) @ a))
    return centres, a * 2.0 / norm, 2.0


@pytest.mark.parametrize("functions", [12, pytest.param(40, marks=pytest.mark.long)])
def test_pruning_keeps_the_optimum_and_the_gap_covers_it(functions: int) -> None:
    """Functions drawn from the RKHS, with true F and noise, and beta from the theory. In at least 1 - delta of the runs
    (delta = 0.1), the cell of the optimum is never pruned, and the best point is within ``gap`` of it.
    """
    lengthscale, noise, delta = 0.2, 0.01, 0.1
    config = Config(
        kernel="gaussian",
        lengthscale=lengthscale,
        ridge=noise**2,
        noise_std=noise,
        norm_bound=2.0,
        delta=delta,
        epsilon=0.5,
        branching=3,
        max_depth=6,
        outputs="raw",
    )
    grid = np.linspace(0, 1, 2001)[:, None]
    survived = covered = pruned_something = 0
    for seed in range(functions):
        centres, a, _ = rkhs_function(seed, 1, lengthscale)
        values = Gaussian()(grid / lengthscale, centres / lengthscale) @ a
        optimum = grid[np.argmax(values)]

        def objective(u: Array, centres: Array = centres, a: Array = a) -> float:
            return float((Gaussian()(u[None] / lengthscale, centres / lengthscale) @ a)[0])

        result = run(unit_space(1), config, objective, 60, seed=seed, noise=noise)
        gone = [key for key, status in result.cells.items() if status == "pruned"]
        pruned_something += bool(gone)
        boxes = [box_of(key, config.branching, result.state.problem.side_scale) for key in gone]
        survived += not any((low <= optimum).all() and (optimum <= high).all() for low, high in boxes)
        gap = ada_bkb.report(result.state).gap
        best = max(objective(u) for u in result.points)
        assert gap is not None
        covered += values.max() - best <= gap + 1e-9
    assert pruned_something >= 0.25 * functions, "the test proves nothing if no cell is ever pruned"
    assert survived >= (1.0 - delta) * functions
    assert covered >= (1.0 - delta) * functions


def test_pruning_keeps_the_incumbents_cell() -> None:
    """Bounds are far too small (F = 0.05). The maximum is at the root's centroid, which no child shares if N is even.
    All children are worse by more than their bounds; only those whose box contains the incumbent stay.
    """
    config = Config(norm_bound=0.05, beta=0.01, branching=2, max_depth=8, outputs="raw", ridge=0.01, lengthscale=1.0)
    result = run(unit_space(2), config, lambda u: -20.0 * float(((u - 0.5) ** 2).sum()), 60)
    assert list(result.cells.values()).count("pruned") > 3
    state = result.state
    assert state.summary.incumbent is not None
    assert state.tree.holding(state.points.positions.array[state.summary.incumbent]).any()


def test_study_stops_when_one_leaf_is_left_at_full_depth() -> None:
    config = Config(norm_bound=0.05, beta=0.01, branching=3, max_depth=3, outputs="raw", lengthscale=0.5, ridge=0.01)
    result = run(unit_space(1), config, lambda u: -9 * float(((u - 0.2) ** 2).sum()), 200)
    assert ada_bkb.stopped(result.state)
    assert result.state.tree.count == 1
    assert len(result.values) < 200


@pytest.mark.parametrize("branching", [2, 3])
def test_units_change_nothing_in_unit_mode(branching: int) -> None:
    """Other units of inputs (also huge ones) and outputs: the same cells, and predictions in the new units."""
    config = Config(branching=branching, beta=0.3)
    plain = run(unit_space(2), config, lambda u: float(np.sin(7 * u[0]) + u[1]), 40)
    space = Space((FloatAxis("a", -3e5, 7e5), FloatAxis("b", 1e-9, 3e-9)))
    scaled = run(space, config, lambda u: 1e6 * float(np.sin(7 * u[0]) + u[1]) - 4e7, 40)
    assert scaled.suggested == plain.suggested
    at = np.random.default_rng(0).random((10, 2))
    one, other = ada_bkb.predict(plain.state, at), ada_bkb.predict(scaled.state, at)
    np.testing.assert_allclose(other.mean, 1e6 * one.mean - 4e7, rtol=1e-6)
    np.testing.assert_allclose(other.std, 1e6 * one.std, rtol=1e-6)


def restore(result: Run) -> ada_bkb_module.State:
    problem = result.state.problem
    return ada_bkb.restore(
        problem.space,
        problem.config,
        problem.seed,
        record(result.points, result.values),
        result.cells,
        ada_bkb.dictionary(result.state),
    )


@pytest.mark.parametrize("branching", [2, 3])
@pytest.mark.parametrize("steps", [1, 7, 40])
def test_restored_state_continues_identically(branching: int, steps: int) -> None:
    """From results, cells and dictionary: the next 15 suggestions, dictionaries and leaf sets are the same."""

    def objective(u: Array) -> float:
        return float(np.sin(9 * u[0]) * np.cos(5 * u[1]))

    config = Config(branching=branching, qbar=0.8, beta=0.2, norm_bound=1.5)
    result = run(unit_space(2), config, objective, steps, noise=0.1)
    other = Run(restore(result), dict(result.cells), list(result.points), list(result.values))
    for _ in range(15):
        result.step(objective)
        other.step(objective)
        assert other.suggested[-1] == result.suggested[-1]
        assert ada_bkb.dictionary(other.state) == ada_bkb.dictionary(result.state)
        assert other.cells == result.cells


def test_pending_points_give_distinct_suggestions_and_keep_the_mean() -> None:
    """Eight workers ask before any result, then again later: eight different points each time."""
    state = ada_bkb.start(unit_space(2), Config(), 0)
    rng = np.random.default_rng(0)
    at = rng.random((20, 2))
    for _ in range(4):
        mean = ada_bkb.predict(state, at).mean
        pending: list[Array] = []
        for _ in range(8):
            suggestion = ada_bkb.suggest(state, np.array(pending).reshape(-1, 2))
            state = suggestion.state
            pending.append(suggestion.point)
        assert len({p.tobytes() for p in pending}) == 8
        np.testing.assert_allclose(ada_bkb.predict(state, at).mean, mean, rtol=1e-9, atol=1e-12)
        for point in pending:
            state = ada_bkb.observe(state, point, float(np.sin(6 * point[0]) + point[1])).state


def test_batch_equals_single_suggestions() -> None:
    """``suggestions`` extends the fantasized posterior; single calls with all pending points give the same."""
    state = run(unit_space(2), Config(beta=0.3), lambda u: float(np.sin(7 * u[0]) + u[1]), 12).state
    pending = np.array([[0.1, 0.9]])
    together = list(islice(ada_bkb.suggestions(state, pending), 12))
    for suggestion in together:
        alone = ada_bkb.suggest(state, pending)
        assert (alone.cell, alone.cells) == (suggestion.cell, suggestion.cells)
        state, pending = alone.state, np.vstack([pending, alone.point])
    assert len({suggestion.point.tobytes() for suggestion in together}) == 12


def test_pending_points_are_spread_out() -> None:
    """Hallucination narrows the interval around a pending point: four pending points after a short run are apart."""
    result = run(unit_space(1), Config(beta=0.5, lengthscale=0.1), lambda u: float(np.sin(12 * u[0])), 10)
    state, pending = result.state, np.zeros((0, 1))
    for _ in range(4):
        suggestion = ada_bkb.suggest(state, pending)
        state, pending = suggestion.state, np.vstack([pending, suggestion.point])
    gaps = np.abs(pending - pending.T)[np.triu_indices(4, 1)]
    assert gaps.min() > 0.01


def test_corrected_record_equals_one_without_the_mistake() -> None:
    """After a wrong result is replaced, predictions equal those of a study without it, and cells that it pruned are
    restored.
    """

    def objective(u: Array) -> float:
        return -float(((u - 0.7) ** 2).sum())

    config = Config(norm_bound=0.3, beta=0.05, qbar=1e9, outputs="raw", max_depth=6)
    result = run(unit_space(2), config, objective, 20)
    values = np.array(result.values)
    wrong = values.copy()
    wrong[3] = 50.0
    misled = ada_bkb.rebuild(result.state, record(result.points, wrong), result.cells)
    cells = result.cells | misled.cells
    assert list(cells.values()).count("pruned") > list(result.cells.values()).count("pruned")
    mended = ada_bkb.rebuild(misled.state, record(result.points, values), cells)
    at = np.random.default_rng(0).random((20, 2))
    np.testing.assert_allclose(
        ada_bkb.predict(mended.state, at).mean, ada_bkb.predict(result.state, at).mean, rtol=1e-7, atol=1e-9
    )
    back = cells | mended.cells
    assert list(back.values()).count("pruned") <= list(result.cells.values()).count("pruned")


def test_recommendation_uses_the_posterior_mean() -> None:
    """A point with one result of 3 and nine of 0 loses against a steady 1."""
    state = ada_bkb.start(unit_space(1), Config(lengthscale=0.05, ridge=0.1, outputs="raw"), 0)
    lucky, steady = np.array([0.2]), np.array([0.8])
    for value in [3.0] + [0.0] * 9:
        state = ada_bkb.observe(state, lucky, value).state
    for _ in range(10):
        state = ada_bkb.observe(state, steady, 1.0).state
    recommendation = ada_bkb.recommend(state)
    assert recommendation is not None
    assert recommendation.point.tolist() == [0.8]
    assert recommendation.mean == pytest.approx(1.0, abs=0.05)
    assert recommendation.std == pytest.approx(np.sqrt(0.1 / 10.1), rel=0.05)


def test_discrete_axes_suggest_only_their_values() -> None:
    """Integers, ordinals and categoricals are cells of the cube: every suggestion survives decoding and encoding."""
    space = Space(
        (
            IntAxis("n", 1, 1000, "log"),
            ChoiceAxis("depth", (2, 4, 8), ordered=True),
            ChoiceAxis("loss", ("hinge", "log", "huber")),
            FloatAxis("lr", 1e-5, 1.0, "log"),
        )
    )
    seen = run(space, Config(beta=0.3, lengthscale=0.5), lambda u: -float(((u - 0.6) ** 2).sum()), 50)
    for point in seen.points:
        parameters = space.decode(point)
        assert space.problems(parameters) == {}
        assert space.encode(parameters).tolist() == point.tolist()
    assert len({p.tobytes() for p in seen.points}) > 10


def test_expansions_per_suggestion_are_capped_and_the_cap_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an F so large that refinement would never end, a suggestion is still returned, marked as capped."""
    monkeypatch.setattr(ada_bkb_module, "MAX_EXPANSIONS", 30)
    config = Config(norm_bound=1e9, beta=1.0, max_depth=60)
    state = ada_bkb.observe(ada_bkb.start(unit_space(2), config, 0), np.array([0.5, 0.5]), 1.0).state
    suggestion = ada_bkb.suggest(state, np.zeros((0, 2)))
    assert suggestion.capped
    assert list(suggestion.cells.values()).count("expanded") == 30

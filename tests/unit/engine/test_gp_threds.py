"""GP-ThreDS: which cells its tests accept, and that its state depends only on its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.cells import depth_of
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.record import of
from adabkb_service.engine.space import Space
from adabkb_service.engine.threds import config as gp_threds_module
from adabkb_service.engine.threds.policy import gp_threds
from adabkb_service.engine.threds.state import State
from tests.unit.engine.drive import hills
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

NOTHING = np.zeros((0, 2))
THREDS = gp_threds_module.Config(
    model=gp_threds_module.of_a_test(
        Config(kernel="gaussian", lengthscale=0.2, ridge=0.01, noise_std=0.1, norm_bound=2.0, delta=1e-3)
    ),
    lowest=0.2,
    highest=1.2,
    grid=11,
    patience=50,
    slack=0.2,
    max_depth=6,
)


def threds(objective: Callable[[Array], float], seed: int, steps: int) -> tuple[State, dict[str, str]]:
    """A run of GP-ThreDS with noise 0.1 on the unit square."""
    state, cells = gp_threds.start(unit_space(2), THREDS, seed), {"0": "leaf"}
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        suggestion = gp_threds.suggest(state, NOTHING)
        cells.update(suggestion.cells)
        value = objective(suggestion.point) + 0.1 * float(rng.standard_normal())
        state = gp_threds.observe(suggestion.state, suggestion.point, value).state
    return state, cells


@pytest.mark.long
def test_cells_accepted_by_gp_threds_contain_the_optimum() -> None:
    """Four functions with one maximum at a random position. The test allows one failure."""
    held, rejected, shallowest = 0, 0, 99
    for seed in range(4):
        optimum = np.random.default_rng(100 + seed).uniform(0.1, 0.9, 2)

        def hill(u: Array, optimum: Array = optimum) -> float:
            return float(np.exp(-8 * ((u - optimum) ** 2).sum()))

        state, cells = threds(hill, seed, 400)
        boxes = [gp_threds.cell_box(state, key) for key in state.cells]
        held += any((box.low <= optimum).all() and (optimum <= box.high).all() for box in boxes)
        shallowest = min(shallowest, depth_of(state.cells[0]))
        rejected += list(cells.values()).count("pruned")
    assert held >= 3
    assert rejected >= 4
    assert shallowest >= 2


def test_gp_threds_depends_only_on_its_results() -> None:
    """A restored state has the same tests, and a correction gives the state without the mistake."""
    state, cells = threds(hills, 0, 90)
    again = gp_threds.restore(unit_space(2), THREDS, 0, state.record, cells, ())
    assert (again.cells, again.chosen, again.tested, again.tau) == (state.cells, state.chosen, state.tested, state.tau)
    assert np.array_equal(gp_threds.suggest(again, NOTHING).point, gp_threds.suggest(state, NOTHING).point)
    corrected = of(state.record.positions, state.record.values + 5.0 * (np.arange(90) == 3), state.record.errors)
    rebuilt = gp_threds.rebuild(state, corrected, cells)
    fresh = gp_threds.restore(unit_space(2), THREDS, 0, corrected, cells, ())
    assert (rebuilt.state.cells, rebuilt.state.tau) == (fresh.cells, fresh.tau)
    after = cells | gp_threds.suggest(rebuilt.state, NOTHING).cells
    assert {key for key, status in after.items() if status == "leaf"} <= {*fresh.cells, *fresh.chosen}
    assert all(after[key.rpartition(".")[0]] == "expanded" for key in after if "." in key)


def test_gp_threds_accepts_results_in_any_order() -> None:
    state, _ = threds(hills, 0, 20)
    together = [suggestion.point for suggestion in islice(gp_threds.suggestions(state, NOTHING), 6)]
    assert len({point.tobytes() for point in together}) == 6
    for point in reversed(together):
        state = gp_threds.observe(state, point, hills(point)).state
    assert state.record.size == 26


def test_rounded_results_count_for_the_cell_that_contains_them() -> None:
    """Workers may round the values that they receive."""
    rounded, asked = gp_threds.start(unit_space(2), THREDS, 0), []
    for _ in range(40):
        point = gp_threds.suggest(rounded, NOTHING).point
        asked.append(point.tobytes())
        beside = np.round(point + 3e-3, 2)
        rounded = gp_threds.observe(rounded, np.clip(beside, 0.0, 1.0), hills(beside)).state
    assert len(set(asked)) > 20
    deep, _ = threds(hills, 0, 400)
    assert deep.test is not None
    box = gp_threds.cell_box(deep, deep.test.key)
    outside = np.where(box.low > 0.5, 0.01, 0.99)
    after = gp_threds.observe(deep, outside, 0.5).state
    assert after.record.size == deep.record.size + 1
    assert np.array_equal(gp_threds.suggest(after, NOTHING).point, gp_threds.suggest(deep, NOTHING).point)


def test_grid_finer_than_the_float_spacing_repeats_no_point() -> None:
    narrow = Space((FloatAxis("x", 1.0, 1.0 + 1e-11),))
    state = gp_threds.start(narrow, THREDS, 0)
    together = [found.point for found in islice(gp_threds.suggestions(state, np.zeros((0, 1))), 8)]
    assert len({point.tobytes() for point in together}) == 8


def test_results_too_large_to_square_are_rejected() -> None:
    state, _ = threds(hills, 0, 3)
    with pytest.raises(FloatingPointError):
        gp_threds.observe(state, np.array([0.5, 0.5]), 1e200)


def test_gp_threds_stops_at_full_depth_and_repeats_its_best_point() -> None:
    config = replace(THREDS, max_depth=2, patience=20)
    state = gp_threds.start(unit_space(2), config, 0)
    told: dict[str, str] = {}
    for _ in range(1000):
        if gp_threds.stopped(state):
            break
        asked = gp_threds.suggest(state, NOTHING)
        taken = gp_threds.observe(asked.state, asked.point, hills(asked.point))
        told |= asked.cells | taken.cells
        state = taken.state
    assert gp_threds.stopped(state)
    assert told == state.tree, "a complete study suggests nothing, so use the last result"
    suggestion, best = gp_threds.suggest(state, NOTHING), gp_threds.recommend(state)
    assert best is not None
    assert np.array_equal(suggestion.point, best.point)
    assert hills(best.point) > 0.95
    assert gp_threds.report(state).depth == 2


def test_gp_threds_is_exhausted_when_all_points_of_a_test_have_failed() -> None:
    """One child of the root is accepted; then every suggestion fails, until the test has no points left."""
    small = replace(THREDS, grid=3)
    state = gp_threds.start(unit_space(2), small, 0)
    while state.test is not None and not state.test.accepted:
        suggestion = gp_threds.suggest(state, NOTHING)
        state = gp_threds.observe(suggestion.state, suggestion.point, 2.0).state
    failed = NOTHING
    while not gp_threds.exhausted(state, failed, None, failed):
        failed = np.concatenate([failed, gp_threds.suggest(state, NOTHING, failed).point[None]])
        assert len(failed) <= 9
    assert 3 <= len(failed) == len(np.unique(failed, axis=0)) < 9
    assert not gp_threds.exhausted(state, failed, None, failed[1:])

"""Suggestions of ``auto`` in a slice of the space: the best points there, without repeats."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import Value
from adabkb_service.engine.slices import Slice
from tests.samples import some
from tests.unit.engine.auto.drive import run
from tests.unit.engine.auto.strategies import MIXED
from tests.unit.engine.auto.test_policy import FINITE, finite_score, wave
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

FIXED: list[dict[str, Value]] = [
    {"rate": 0.012345678901234567},
    {"units": 37},
    {"batch": 24},
    {"dropout": 0.15},
    {"loss": "log", "bias": True},
    {"depth": 8},
    {"rate": 1.0, "units": 1, "batch": 64, "dropout": 0.5, "loss": "huber", "depth": 4},
]


def mixed_score(u: Array) -> float:
    return float(-((u[0] - 0.6) ** 2) - (u[1] - 0.3) ** 2 + (u[4] < 0.4) + u[3] / 3)


@pytest.mark.parametrize("fixed", some(FIXED, FIXED[::3]), ids="+".join)
def test_fixed_coordinates_are_kept_and_no_point_is_repeated(fixed: dict[str, Value]) -> None:
    """On every kind of axis, next to known, pending and failed points. A slice of two points is exhausted after two."""
    state, within = run(MIXED, mixed_score, 12).state, Slice(MIXED, fixed)
    pending, failed = (within.put(each) for each in np.split(MIXED.snap(np.random.default_rng(0).random((4, 7))), 2))
    found = [each.point for each in islice(auto.suggestions_within(state, within, pending, failed), 4)]
    assert within.holds(np.array(found).reshape(-1, 7)).all()
    unavailable = np.concatenate([state.record.positions, pending, failed, *(point[None] for point in found)])
    taken = np.unique(unavailable[within.holds(unavailable)], axis=0)
    assert len(found) == 4 or len(taken) == within.size == 2
    assert len(np.unique(unavailable, axis=0)) >= 12 + len(found)
    assert len({point.tobytes() for point in found}) == len(found)


def test_finite_slice_ends_when_all_its_points_are_issued() -> None:
    result = run(FINITE, finite_score, 10)
    within, none = Slice(FINITE, {"c": "y"}), np.zeros((0, 3))
    known = within.holds(result.state.record.positions).sum()
    rest = [suggestion.point for suggestion in auto.suggestions_within(result.state, within, none)]
    assert known + len(rest) == 16
    assert auto.exhausted(result.state, np.array(rest), within)
    assert not auto.exhausted(result.state, np.array(rest[1:]), within)
    assert not auto.exhausted(result.state, np.array(rest))


def test_points_suggested_together_equal_those_suggested_in_turn() -> None:
    space = unit_space(3)
    state, within = run(space, wave, 9).state, Slice(space, {"x1": 0.25})
    together = [each.point for each in islice(auto.suggestions_within(state, within, np.zeros((0, 3))), 4)]
    pending = np.zeros((0, 3))
    for point in together:
        one = next(auto.suggestions_within(state, within, pending))
        assert one.point.tobytes() == point.tobytes()
        assert (one.state, one.cells) == (state, {})
        pending = np.concatenate([pending, point[None]])


def test_suggestion_in_a_slice_maximizes_the_bound() -> None:
    """Within 1% of beta s: none of 5,000 random points of the slice has a larger bound."""
    space, beta = unit_space(3), betas.beta(15, is_wide=True)
    state, within = run(space, wave, 15).state, Slice(space, {"x2": 0.4})
    suggestion = next(auto.suggestions_within(state, within, np.zeros((0, 3))))
    others = within.put(np.random.default_rng(1).random((5000, 3)))
    (bound,), (std,) = state.surrogate.ucb(suggestion.point[None], beta), state.surrogate.mean_and_std(others[:1])[1]
    assert bound >= state.surrogate.ucb(others, beta).max() - 0.01 * beta * std


def test_first_points_in_a_slice_need_no_result() -> None:
    within = Slice(MIXED, {"loss": "hinge"})
    state = auto.start(MIXED, Config(), 0)
    first = next(auto.suggestions_within(state, within, np.zeros((0, 7))))
    assert (first.phase, MIXED.decode(first.point)["loss"]) == ("start", "hinge")

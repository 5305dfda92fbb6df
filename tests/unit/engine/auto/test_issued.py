"""Pending points affect the posterior as if their means had been observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.issued import SearchView, issued, search_view
from adabkb_service.engine.auto.state.state import State
from tests.unit.engine.auto.drive import run
from tests.unit.engine.auto.test_policy import wave
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

SPACE = unit_space(3)
POINTS = np.random.default_rng(3).random((12, 3))


def with_pending(state: State, pending: Array) -> SearchView:
    out = issued(state, pending, np.full((1, 3), 0.5), None)
    return search_view(state, state.surrogate, state.warp, state.record.values, out)


def test_pending_points_added_in_turn_equal_a_batch_exactly() -> None:
    state = run(SPACE, wave, 15).state
    together, one_by_one = with_pending(state, POINTS), with_pending(state, POINTS[:1])
    for count in range(2, len(POINTS) + 1):
        one_by_one = one_by_one.with_pending(state, POINTS[:count])
    for one, other in zip(one_by_one.view.mean_and_std(POINTS), together.view.mean_and_std(POINTS), strict=True):
        assert one.tobytes() == other.tobytes()


def test_pending_batch_equals_single_updates_up_to_rounding() -> None:
    """The mean stays and the deviation falls."""
    state = run(SPACE, wave, 15).state
    found = with_pending(state, POINTS)
    view, noise = found.given, np.array([state.checkpoint.hyperparameters.noise_ratio])
    for point in POINTS:
        view = view.condition(point[None], None, noise)
    (mean, deviation), (of_each, deviation_of_each) = (each.mean_and_std(POINTS) for each in (found.view, view))
    np.testing.assert_allclose(deviation, deviation_of_each, rtol=1e-8)
    np.testing.assert_allclose(mean, of_each, rtol=1e-8)
    np.testing.assert_allclose(mean, found.given.mean(POINTS), rtol=1e-8)
    assert (deviation < found.given.mean_and_std(POINTS)[1]).all()

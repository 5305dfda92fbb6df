"""What points without a result mean for the posterior: pending ones as if observed at their means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.handed_out import SearchView, handed_out, search_view
from adabkb_service.engine.auto.state import State
from tests.engine.auto.drive import run
from tests.engine.auto.test_policy import wave
from tests.engine.strategies import unit_space

Array = NDArray[np.float64]

SPACE = unit_space(3)
POINTS = np.random.default_rng(3).random((12, 3))


def seen(state: State, pending: Array) -> SearchView:
    out = handed_out(state, pending, np.full((1, 3), 0.5), None)
    return search_view(state, state.surrogate, state.warp, state.record.values, out)


@pytest.mark.parametrize("revision", [4, 5])
def test_points_asked_for_in_turn_are_imagined_as_those_asked_for_together_bit_for_bit(revision: int) -> None:
    state = run(SPACE, wave, 15, config=Config(revision=revision)).state
    together, one_by_one = seen(state, POINTS), seen(state, POINTS[:1])
    for count in range(2, len(POINTS) + 1):
        one_by_one = one_by_one.pending_too(state, POINTS[:count])
    for one, other in zip(one_by_one.view.mean_and_std(POINTS), together.view.mean_and_std(POINTS), strict=True):
        assert one.tobytes() == other.tobytes()


def test_all_at_once_is_what_one_by_one_was_up_to_rounding() -> None:
    """The mean stays and the deviation falls; earlier revisions keep their last bits."""
    state = run(SPACE, wave, 15, config=Config(revision=5)).state
    earlier = replace(state, problem=replace(state.problem, config=Config(revision=4)))
    now, before = seen(state, POINTS), seen(earlier, POINTS)
    (mean, deviation), (former_mean, former_deviation) = (each.view.mean_and_std(POINTS) for each in (now, before))
    np.testing.assert_allclose(deviation, former_deviation, rtol=1e-8)
    np.testing.assert_allclose(mean, former_mean, rtol=1e-8)
    np.testing.assert_allclose(mean, now.given.mean(POINTS), rtol=1e-8)
    assert (deviation < now.given.mean_and_std(POINTS)[1]).all()
    view, noise = now.given, np.array([state.checkpoint.hyperparameters.noise_ratio])
    for point in POINTS:
        view = view.condition(point[None], None, noise)
    assert former_deviation.tobytes() == view.mean_and_std(POINTS)[1].tobytes() != deviation.tobytes()

"""Failed evaluations: the search avoids regions of failures, and ignores scattered ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import failures
from adabkb_service.engine.auto.acquisition import failing
from adabkb_service.engine.auto.acquisition.issued import issued, search_view
from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.policy import auto
from tests.unit.engine.auto.drive import Run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def objective(u: Array) -> float:
    """Larger towards the region in which evaluations fail."""
    return float(u[0] - (u[1] - 0.5) ** 2)


def fails(u: Array) -> bool:
    return float(u[0]) > 0.3


def share_of_failures(seed: int, steps: int = 80) -> float:
    run, failed = Run(auto.start(unit_space(2), Config(), seed)), np.zeros((0, 2))
    for _ in range(steps):
        point = run.ask(failed=failed)
        if fails(point):
            failed = np.concatenate([failed, point[None]])
        else:
            run.tell(point, objective(point))
    assert max(run.values) > 0.28
    return len(failed) / steps


@pytest.mark.long
def test_learning_where_evaluations_fail_reduces_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = [share_of_failures(seed) for seed in range(3)]
    monkeypatch.setattr(failures, "FEWEST", 10**9)
    assert np.mean(learned) < 0.8 * np.mean([share_of_failures(seed) for seed in range(3)])


def test_failing_region_is_predicted() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((60, 2))
    failed = np.array([fails(point) for point in points])
    known = failing.finishing(Problem(unit_space(2), Config(), 0), points[~failed], points[failed])
    new = rng.random((200, 2))
    new = new[np.abs(new[:, 0] - 0.3) > 0.1]
    found = known.violation(new, 0.0) > 0.0
    assert np.mean(found == [fails(point) for point in new]) > 0.97


@pytest.mark.parametrize(("finished", "failed", "many"), [(0, 2, False), (0, 3, True), (4, 3, True), (5, 3, False)])
def test_few_failures_do_not_make_a_region(finished: int, failed: int, *, many: bool) -> None:
    assert failures.are_many(finished, failed) == many


def test_failure_before_any_result_lowers_the_predictions_near_it() -> None:
    state, near, far = auto.start(unit_space(2), Config(), 0), np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]])
    out = issued(state, np.zeros((0, 2)), near, None)
    view = search_view(state, state.surrogate, state.warp, state.record.values, out).view
    assert view.mean(near)[0] < view.mean(far)[0] <= 0.0

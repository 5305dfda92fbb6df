"""Detection of noise on a smooth function, and its effect on suggestions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.issued import issued
from adabkb_service.engine.auto.policy import Config, State, auto
from adabkb_service.engine.auto.search import quadratic
from tests.unit.engine.auto.drive import Run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

SEEDS = 9


def bowl(u: Array) -> float:
    return -float(((u - 0.4) ** 2).sum())


def ridge(u: Array) -> float:
    return -float(np.abs(u - 0.4).sum())


def slope(u: Array) -> float:
    return float(u.sum())


def study_with_results(
    objective: Callable[[Array], float], noise: float, seed: int, noise_std: float | None = None
) -> State:
    """A study with results at 30 random points of the square."""
    run = Run(auto.start(unit_space(2), Config(noise_std=noise_std), seed))
    measured = with_noise(objective, noise, seed)
    for u in np.random.default_rng([seed, 1]).random((30, 2)):
        run.tell(u, measured(u))
    return run.state


def count_noisy(objective: Callable[[Array], float], noise: float) -> int:
    """The number of studies, of nine, in which noise is detected."""
    return sum(study_with_results(objective, noise, seed).seems_noisy for seed in range(SEEDS))


@pytest.mark.long
def test_noise_is_distinguished_from_roughness() -> None:
    """Noise of a tenth of the range is detected in at least two of three studies; without noise, in none."""
    assert count_noisy(bowl, 0.05) >= 2 * SEEDS // 3
    assert count_noisy(bowl, 0.0) == 0
    assert count_noisy(ridge, 0.0) == 0


def test_results_that_are_declared_exact_are_never_explained_by_noise() -> None:
    """Results that look noisy keep the kernel for rough functions, and the quadratic model, if they are declared
    exact."""
    assert study_with_results(bowl, 0.05, 0).seems_noisy
    exact = study_with_results(bowl, 0.05, 0, noise_std=0.0)
    assert not exact.seems_noisy
    assert not exact.declares_noise
    assert len(exact.model_axes) == 2


@pytest.mark.parametrize("objective", [bowl, slope])
def test_declared_noise_is_noise_also_where_it_cannot_be_seen(objective: Callable[[Array], float]) -> None:
    """With a few results, roughness and noise look alike. If the user declares noise, the kernel is smooth."""
    states = [study_with_results(objective, 0.05, seed, noise_std=0.05) for seed in range(3)]
    assert all(state.seems_noisy for state in states)


def test_declared_noise_that_is_negligible_changes_no_kernel() -> None:
    assert not study_with_results(ridge, 0.0, 0, noise_std=1e-6).seems_noisy


@pytest.mark.long
def test_quadratic_model_is_not_used_for_noisy_results() -> None:
    """The model suggests points in studies without noise, and none in studies with noise."""
    noisy = [state for state in states(0.05) if state.seems_noisy]
    assert noisy
    assert not any(map(has_model_point, noisy))
    assert any(map(has_model_point, states(0.0)))


def states(noise: float) -> Iterator[State]:
    """The states of three studies before each of their first 30 results."""
    for seed in range(3):
        run, measured = Run(auto.start(unit_space(2), Config(), seed)), with_noise(bowl, noise, seed)
        for _ in range(30):
            yield run.state
            run.step(measured)


def with_noise(objective: Callable[[Array], float], noise: float, seed: int) -> Callable[[Array], float]:
    """An objective with measurement noise."""
    rng = np.random.default_rng(seed)
    return lambda u: objective(u) + noise * float(rng.standard_normal())


def has_model_point(state: State) -> bool:
    nothing = np.zeros((0, 2))
    return quadratic.proposal(state, issued(state, nothing, nothing, nothing)) is not None


@pytest.mark.long
@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_corner_is_suggested_when_noisy_results_increase_towards_it(direction: float) -> None:
    """The corner, which is not a centroid, is among 40 points of each study."""
    for seed in range(4):
        run = Run(auto.start(unit_space(2), Config(), seed))
        measured = with_noise(lambda u: direction * slope(u), 0.1, seed)
        for _ in range(40):
            run.step(measured)
        assert (run.state.record.positions == max(direction, 0.0)).all(axis=1).any()

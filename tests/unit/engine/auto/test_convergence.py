"""Short runs on textbook functions, and recommendations under noise.

The boxes are shifted, and the noise is 0.01. Thresholds leave a margin to the results of seeds 0 to 9 in November 2026:
at the stated budgets, the regret was below the limit in 10, 6, 10, 8 and 10 of them. The other runs on Hartmann 3 ended
at a second minimum, 0.77 above the first one.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from benchmarks.quality.problems import FUNCTION_PROBLEMS, Instance
from tests.unit.engine.auto.drive import Run, sample_path
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

SEEDS = range(4)


def optimised(instance: Instance, seed: int, steps: int, noise: float) -> tuple[Run, Array]:
    """A run and the regret of each of its points."""
    rng = np.random.default_rng([seed, 1])
    result, scores = Run(auto.start(instance.space, Config(), seed)), []
    for _ in range(steps):
        point = result.ask()
        outcome = instance.evaluate(instance.space.decode(point))
        result.tell(point, -(outcome.value + noise * float(rng.standard_normal())))
        scores.append(outcome.score)
    return result, np.array(scores)


@pytest.mark.parametrize(
    ("name", "steps", "limit", "succeed"),
    [
        ("Branin", 40, 0.1, 3),
        pytest.param("Hartmann_3", 40, 0.02, 1, marks=pytest.mark.long),
        pytest.param("Hartmann_6", 50, 0.3, 3, marks=pytest.mark.long),
        pytest.param("Levy_6", 60, 0.2, 2, marks=pytest.mark.long),
        pytest.param("Rosenbrock_2", 50, 1.0, 3, marks=pytest.mark.long),
    ],
)
def test_regret_after_a_short_run(name: str, steps: int, limit: float, succeed: int) -> None:
    """At least ``succeed`` of 4 seeds end below the limit. The geometric mean of the best regrets (at least 1e-3 each)
    is at most a fifth of random search's, with as many evaluations on the same boxes.
    """
    found, at_random = [], []
    for seed in SEEDS:
        instance = FUNCTION_PROBLEMS[name].draw(seed)
        found.append(optimised(instance, seed, steps, 0.01)[1].min())
        uniform = np.random.default_rng([seed, 2]).random((steps, instance.space.dimension))
        at_random.append(min(instance.evaluate(instance.space.decode(u)).score for u in uniform))
    assert sum(regret < limit for regret in found) >= succeed, found
    ratio = np.exp(np.mean(np.log(np.maximum(found, 1e-3)) - np.log(np.maximum(at_random, 1e-3))))
    assert ratio < 1 / 5, (found, at_random)


@pytest.mark.long
def test_recommended_point_beats_the_best_observed_value() -> None:
    """60 random observations with noise of 0.3 of the function's standard deviation, on 30 functions of 1 to 3
    dimensions drawn from the prior. On average, the point with the best posterior mean has less regret than the one
    with the best value.
    """
    recommended, luckiest = [], []
    for seed in range(30):
        dimension, rng = 1 + seed % 3, np.random.default_rng([seed, 4])
        X = rng.random((60, dimension))
        f = sample_path(rng, X, np.full(dimension, 0.4 * np.sqrt(dimension)))
        y = f + 0.3 * f.std() * rng.standard_normal(60)
        state = auto.rebuild(auto.start(unit_space(dimension), Config(), seed), record(X, y), {}).state
        found = auto.recommend(state)
        assert found is not None
        row = int(np.flatnonzero((found.point == X).all(axis=1))[0])
        recommended.append((f.max() - f[row]) / f.std())
        luckiest.append((f.max() - f[np.argmax(y)]) / f.std())
    assert np.mean(recommended) < np.mean(luckiest)

"""The additive part of the kernel: used for sums, not for other functions, and only in revision 4."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import learning
from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import likelihood, surrogate
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.auto.model.kernel import Kernel
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.search import search
from adabkb_service.engine.auto.state.checkpoint import from_json
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]
Objective = Callable[[Array], float]

CENTRE = np.array([0.37, 0.62, 0.45, 0.71, 0.28, 0.55])
WITH_CHOICES = Space((*unit_space(4).axes, ChoiceAxis("c", ("x", "y", "z")), FloatAxis("b", 0.0, 1.0)))


def waves(u: Array) -> float:
    """A sum of six functions of one axis each, with 5 valleys per axis: 5^6 optima."""
    away = u - CENTRE
    return -float((np.arange(1.0, 7.0) * (away**2 + 0.1 * (1.0 - np.cos(10.0 * np.pi * away)))).sum())


def slanted(u: Array) -> float:
    """A wave at an angle to the axes."""
    return float(np.sin(4.0 * (u[0] + u[1] - u[2] - u[3])) + u[4])


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Disable the additive part, by requiring infinite evidence."""
    return lambda: monkeypatch.setattr(likelihood, "EVIDENCE", math.inf)


def learned(objective: Objective, count: int) -> State:
    """Hyperparameters learned from random points."""
    X = np.random.default_rng(0).random((count, 6))
    problem = Problem(unit_space(6), Config(), 0)
    blank = auto.start(problem.space, problem.config, problem.seed)
    return learning.relearned(blank, record(X, [objective(x) for x in X]))


def error(state: State, objective: Objective) -> float:
    """The error of predictions at 300 other random points, relative to the function's standard deviation."""
    X = np.random.default_rng(1).random((300, 6))
    y = np.array([objective(x) for x in X])
    return float(np.std(auto.predict(state, X).mean - y) / np.std(y))


def test_additive_part_finds_a_sum_that_the_plain_kernel_misses(plain: Callable[[], None]) -> None:
    """With 150 random points of a function with 5^6 optima."""
    found = learned(waves, 150)
    plain()
    without = learned(waves, 150)
    assert without.checkpoint.hyperparameters.additive is None
    part = found.checkpoint.hyperparameters.additive
    assert part is not None
    assert part.shares.sum() > 0.9
    assert (np.diff(part.shares) > -0.1).all()  # later axes have larger weights
    assert error(found, waves) < 0.1
    assert error(without, waves) > 0.5


def test_non_additive_functions_do_not_use_the_additive_part(plain: Callable[[], None]) -> None:
    """Hyperparameters and predictions are bit-identical to those of the kernel without it."""
    found = learned(slanted, 150)
    plain()
    without = learned(slanted, 150)
    assert found.checkpoint.hyperparameters.additive is None
    assert auto.learned(found) == auto.learned(without)
    assert np.array_equal(found.surrogate.weights, without.surrogate.weights)


def test_additive_part_requires_a_thousandfold_likelihood() -> None:
    """Few results of a sum do not reach it; more results do. Where the part is kept, its likelihood exceeds those of
    the kernel without it, with a warp and without one.
    """
    kept = []
    for count in (22, 40, 80, 150):
        found = learned(waves, count)
        rows, known = np.arange(count), found.checkpoint.hyperparameters
        kept.append(known.additive is not None)
        if known.additive:
            blank = auto.start(unit_space(6), Config(), 0)
            unwarped, warped = (
                learning.evidence_of(blank, found.record, rows, powers)
                for powers in (known.powers, replace(known, additive=None).powers)
            )
            plain = likelihood.learn(warped, [likelihood.prior(6)])
            alone = warped.negative_log_posterior(plain.parameters())[0] - warped.log_slopes
            value = unwarped.negative_log_posterior(known.parameters())[0] - unwarped.log_slopes
            rival = likelihood.learn(unwarped, [plain])
            without = unwarped.negative_log_posterior(rival.parameters())[0] - unwarped.log_slopes
            assert min(alone, without) - value >= np.log(likelihood.EVIDENCE)
    assert kept == sorted(kept)
    assert kept[0] is False
    assert kept[-1] is True


def test_additive_shares_are_independent_of_units() -> None:
    """A warp changes units: for results times 1000, only the sum of log slopes changes, by log 1000 per result."""
    once, thousandfold = (learned(lambda u, s=s: s * waves(u), 150) for s in (1.0, 1000.0))  # type: ignore[misc]
    one, other = (state.checkpoint.hyperparameters for state in (once, thousandfold))
    assert one.additive is not None
    assert other.additive is not None
    np.testing.assert_allclose(one.additive.shares, other.additive.shares, rtol=1e-3)


def sum_of(seed: int, d: int) -> surrogate.Surrogate:
    """A posterior given results of a sum of waves."""
    rng = np.random.default_rng(seed)
    X, middle = rng.random((40 * d, d)), rng.uniform(0.2, 0.8, d)
    y = -((X - middle) ** 2 + 0.1 * (1.0 - np.cos(10.0 * np.pi * (X - middle)))).sum(axis=1)
    kernel = Kernel(np.full(d, 2.0), np.zeros(d, dtype=np.bool_), Additive(np.full(d, 0.95 / d), 0.15))
    return surrogate.exact(kernel, 1.0, X, y - y.mean(), np.full(len(y), 1e-6))


@pytest.mark.parametrize("seed", range(3))
def test_axis_by_axis_search_finds_the_optimum_of_a_sum(seed: int) -> None:
    """Among 5^8 optima, ascents from 6 random starts find some; the search axis by axis finds the best valley."""
    view, space = sum_of(seed, 8), unit_space(8)
    everywhere = Slice(space, {})

    def sought(within: Slice) -> search.Search:
        return search.Search(Domain(space), within, view, 0.0, None, (0, 0), lambda _: False)

    starts = np.random.default_rng(seed).random((6, 8))
    found = search.axis_by_axis(sought(everywhere), view, starts[0])
    end = search.ascend(view, found, 0.0, everywhere.free)
    assert view.mean(found)[0] > view.mean(search.ascend(view, starts, 0.0, everywhere.free)).max()
    inside = Slice(space, {space.axes[0].name: 0.25})
    held = search.axis_by_axis(sought(inside), view, inside.put(starts[:1])[0])
    assert held[0, 0] == 0.25
    for axis in range(8):
        along = np.repeat(end, 200, axis=0)
        along[:, axis] = np.linspace(0.0, 1.0, 200)
        assert view.mean(along).max() <= view.mean(end)[0] + 1e-3


@pytest.mark.long
def test_only_the_additive_part_optimizes_a_sum(plain: Callable[[], None]) -> None:
    """After 150 evaluations of a function with 5^6 optima, the regret is at most a tenth of that without the part."""
    found = run(unit_space(6), waves, 150)
    plain()
    without = run(unit_space(6), waves, 150)
    assert without.state.checkpoint.hyperparameters.additive is None
    assert found.state.checkpoint.hyperparameters.additive is not None
    assert max(found.values) > 0.1 * max(without.values)


def run_with_random_results(space: Space, count: int) -> Run:
    """A run after random points of the sum and 3 suggestions."""
    result = Run(auto.start(space, Config(), 0))
    for point in np.random.default_rng(2).random((count, space.dimension)):
        exact = space.snap(point[None])[0]
        result.tell(exact, waves(exact))
    for _ in range(3):
        result.step(waves)
    return result


@pytest.mark.parametrize(
    ("space", "count"),
    [
        pytest.param(unit_space(6), 95, id="real"),
        pytest.param(WITH_CHOICES, 101, id="choices", marks=pytest.mark.long),
        pytest.param(unit_space(6), 101, id="real-later", marks=pytest.mark.long),
        pytest.param(WITH_CHOICES, 95, id="choices-earlier", marks=pytest.mark.long),
    ],
)
def test_restored_state_with_an_additive_part_continues_identically(space: Space, count: int) -> None:
    """Next points, single and in batches, and hyperparameters are bit-identical."""
    original, again = run_with_random_results(space, count), run_with_random_results(space, count)
    assert original.state.checkpoint.hyperparameters.additive is not None
    restored = original.restored()
    for _ in range(12):
        for each in (original, again, restored):
            each.step(waves)
    assert np.array_equal(original.points, restored.points)
    assert np.array_equal(original.points, again.points)
    assert auto.learned(original.state) == auto.learned(restored.state)
    none = np.zeros((0, space.dimension))
    together, restored = auto.suggestions(original.state, none), original.restored()
    pending = none
    for _ in range(3):
        suggestion = auto.suggest(restored.state, pending)
        assert np.array_equal(suggestion.point, next(together).point)
        restored.state, pending = suggestion.state, np.vstack([pending, suggestion.point])


def test_learned_additive_part_is_stored() -> None:
    kept = auto.learned(run_with_random_results(unit_space(6), 95).state)
    checkpoint = from_json(json.loads(json.dumps(kept)))
    assert checkpoint is not None
    part = checkpoint.hyperparameters.additive
    assert part is not None
    assert {"shares": part.shares.tolist(), "lengthscale": part.lengthscale} == kept["additive"]


def test_large_studies_with_an_additive_part_use_a_dictionary() -> None:
    """Of 900 results, 500 are inducing points; predictions remain as accurate as for a sum."""
    found = learned(waves, 900)
    assert found.checkpoint.dictionary is not None
    assert found.checkpoint.hyperparameters.additive is not None
    assert error(found, waves) < 0.05

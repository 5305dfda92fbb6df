"""When learned hyperparameters take effect. Learning them in advance changes no result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import FrameType

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import learning
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import likelihood
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.search import pruning
from adabkb_service.engine.auto.state.checkpoint import REVISION
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.space import Space
from tests.calls import watching
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.auto.strategies import MIXED
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def wave(u: Array) -> float:
    return float(np.sin(7 * u[0]) + u[-1] ** 2)


@pytest.fixture
def searches() -> Iterator[list[int]]:
    """The number of results in each search for hyperparameters."""
    seen: list[int] = []

    def note(call: FrameType, step: str) -> None:
        if step == "call":
            seen.append(len(call.f_locals["evidence"].outputs))

    with watching({likelihood.learn_smoothness: note}):
        yield seen


def assert_equal(one: State, other: State) -> None:
    """Assert that two states are bit-identical, except for prepared values."""
    assert auto.report(one) == auto.report(other)
    assert one.tree.axis.tolist() == other.tree.axis.tolist()
    for name in ("weights", "factor", "inducing"):
        np.testing.assert_array_equal(getattr(one.surrogate, name), getattr(other.surrogate, name))
    assert one.warp == other.warp


@pytest.mark.long
@pytest.mark.parametrize("space", [unit_space(2), pytest.param(MIXED, marks=pytest.mark.long)], ids=["2-d", "mixed"])
def test_preparing_changes_nothing(monkeypatch: pytest.MonkeyPatch, space: Space) -> None:
    """40 results, with a dictionary from the 21st on. One study prepares at random times, before or after 0 to 3
    suggestions; the other never does. Points, cells and all numbers are the same.
    """
    monkeypatch.setattr(learning, "EXACT", 20)
    monkeypatch.setattr(learning, "DICTIONARY", 10)
    monkeypatch.setattr(learning, "GROWTH", 6)
    rng, prepared = np.random.default_rng(0), 0
    plain, ahead = (Run(auto.start(space, Config(), 0)) for _ in range(2))
    pending: list[Array] = []
    for _ in range(40):
        for _ in range(rng.integers(0 if pending else 1, 4)):
            if rng.random() < 0.5:
                ahead.state = auto.prepare(ahead.state)
            awaited = np.array(pending).reshape(-1, space.dimension)
            point = plain.ask(awaited)
            assert ahead.ask(awaited).tolist() == point.tolist()
            pending.append(point)
        if rng.random() < 0.5:
            ahead.state = auto.prepare(ahead.state)
        prepared += ahead.state.prepared is not None
        point = pending.pop(int(rng.integers(len(pending))))
        value = wave(point) + (50.0 if rng.random() < 0.1 else 0.0)
        plain.tell(point, value)
        ahead.tell(point, value)
        assert_equal(plain.state, ahead.state)
        assert list(plain.cells.items()) == list(ahead.cells.items())
    assert prepared >= 3
    assert plain.state.checkpoint.dictionary is not None


def test_second_prepare_call_computes_the_gap() -> None:
    """30 results: the first call learns, the second one computes the gap if it is due, so that no report has to."""
    result, computed = run(unit_space(2), wave, learning.SMALL), 0
    for _ in range(30 - learning.SMALL):
        learned = auto.prepare(result.state)
        if learned.prepared is not None:
            gaps = learned.prepared.checkpoint.gaps
            before = dict(gaps)
            assert auto.prepare(learned) is learned
            after = dict(gaps)
            computed += after != before
            auto.report(replace(learned, checkpoint=learned.prepared.checkpoint))
            assert gaps == after
        result.step(wave)
    assert computed >= 2


@pytest.mark.long
def test_study_restored_after_suggestions_learns_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suggestions between results split the tree, but learning does not use these splits, although every cell is
    opened. Each of 30 results is observed by the study itself, by a prepared copy, and by a copy restored in between.
    """
    monkeypatch.setattr(pruning, "OPENED", 10_000)
    result = run(unit_space(3), wave, 3)
    for _ in range(27):
        ahead = Run(auto.prepare(result.state), dict(result.cells), list(result.points), list(result.values))
        point = result.ask()
        assert ahead.ask().tolist() == point.tolist()
        another = result.ask(point[None])
        ahead.ask(point[None])
        restored = result.restored()
        for study in (result, ahead, restored):
            study.tell(another, wave(another))
        assert_equal(ahead.state, result.state)
        assert_equal(restored.state, result.state)


@pytest.mark.long
def test_hyperparameters_apply_from_the_next_result(searches: list[int]) -> None:
    """Beyond the size of a small study, hyperparameters are never fitted to the latest result. If a tenth of the
    results is new, they are fitted to all results but the latest.
    """
    result = run(unit_space(2), wave, learning.SMALL + 1)
    for count in range(learning.SMALL + 2, 90):
        due = auto.prepare(result.state).prepared is not None
        before = result.state.checkpoint.hyperparameters
        result.step(wave)
        checkpoint = result.state.checkpoint
        assert checkpoint.learned_from <= count - 1
        assert (checkpoint.learned_from == count - 1) == due
        assert due or checkpoint.hyperparameters is before
        assert count - checkpoint.learned_from <= max(1, count // learning.REFIT) + 1
    assert len(searches) > 15


def test_observing_after_prepare_runs_no_search(searches: list[int]) -> None:
    """Nor do suggestions. ``learns_next`` is true exactly if preparing runs a search. 30 results, one of them an
    outlier.
    """
    result = run(unit_space(2), wave, learning.SMALL)
    for step in range(30):
        searches.clear()
        learns = auto.learns_next(result.state)
        result.state = auto.prepare(result.state)
        assert (learns, auto.learns_next(result.state)) == (bool(searches), False)
        searches.clear()
        result.step(wave, noise=1e4 if step == 20 else 0.0)
        assert searches == []
        assert result.state.prepared is None


@pytest.mark.parametrize("size", [20, 40])
def test_warp_includes_an_outlier_immediately(size: int) -> None:
    """After an outlier, the warp is fitted to all results under the known hyperparameters, before any search uses the
    outlier.
    """
    result = run(unit_space(2), wave, size)
    result.state = auto.prepare(result.state)
    known = result.state.prepared.checkpoint if result.state.prepared else result.state.checkpoint
    result.step(wave, noise=1e6)
    checkpoint = result.state.checkpoint
    assert checkpoint.count == size + 1
    assert checkpoint.hyperparameters is known.hyperparameters
    assert abs(float(result.state.warp.forward(np.array(result.values)).max())) < 10.0
    assert auto.prepare(result.state).prepared is not None, "the outlier requires a search"


def test_failed_search_keeps_the_hyperparameters() -> None:
    """Later results are accepted; the next search runs when it is due."""
    failed: list[str] = []

    def fail(_: FrameType, step: str) -> None:
        failed.append(step)
        raise FloatingPointError

    result = run(unit_space(2), wave, 30)
    known = result.state.checkpoint.hyperparameters
    for _ in range(10):
        with watching({likelihood.learn_smoothness: fail}):
            result.step(wave)
        assert result.state.checkpoint.hyperparameters is known
    assert "call" in failed


def test_small_studies_learn_immediately(searches: list[int]) -> None:
    """Each of the first results creates a checkpoint of all results, and nothing is prepared."""
    result = Run(auto.start(unit_space(2), Config(), 0))
    for count in range(1, learning.SMALL):
        assert auto.prepare(result.state) is result.state
        result.step(wave)
        checkpoint = result.state.checkpoint
        assert checkpoint.count == checkpoint.learned_from == count
    assert searches


def test_parameters_of_another_engine_revision_are_relearned() -> None:
    """From the results alone; splits and evaluated points stay."""
    result = run(unit_space(2), wave, 30)
    kept = {**auto.learned(result.state), "revision": REVISION - 1, "noise": "in other units"}
    problem, record = result.state.problem, result.state.record
    restored = auto.restore(problem.space, problem.config, 0, record, result.cells, (), kept)
    anew = auto.rebuild(result.state, record, result.cells).state
    assert auto.learned(restored) == auto.learned(anew)
    assert restored.tree.size == result.state.tree.size
    assert {**auto.learned(anew), "learned_from": 30, "count": 30} == auto.learned(anew)
    auto.suggest(restored, np.zeros((0, 2)))


def test_pruning_uses_the_tree_as_of_the_result() -> None:
    """Preparation prunes the cells that a study without later suggestions would prune, although later splits would
    allow more.
    """
    result = run(unit_space(1), wave, 38, seed=3)
    before = result.state
    pending: list[Array] = []
    for _ in range(8):
        pending.append(result.ask(np.array(pending).reshape(-1, 1)))
    assert result.state.tree.size > before.tree.size
    early, late = (auto.prepare(state).prepared for state in (before, result.state))
    assert early is not None
    assert late is not None
    assert early.pruning == late.pruning
    state = result.state
    assert pruning.prunable(state) != pruning.prunable(replace(state, tree=state.tree.as_of(state.cells_learned_from)))

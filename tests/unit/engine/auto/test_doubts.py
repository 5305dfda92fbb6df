"""Results that contradict the others are detected and measured again; a confirmed result is no longer doubted."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.model.doubts import awaiting_replicates, declared, doubts
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.auto.reports.left_out import left_out
from adabkb_service.engine.record import Record
from adabkb_service.engine.slices import Slice
from tests.unit.engine.auto.drive import Run
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]
ROBUST = Config(robust=True)


def bowl(u: Array) -> float:
    return -float(((u - 0.4) ** 2).sum())


def results_with_errors(seed: int, wrong: dict[int, float], noise: float = 0.01, count: int = 20) -> Record:
    """Results at random points, some with an error of the given size."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2))
    values = np.array([bowl(u) for u in points]) + noise * rng.standard_normal(count)
    for row, off in wrong.items():
        values[row] += off
    return record(points, values.tolist())


def doubted(known: Record, config: Config = ROBUST) -> list[int]:
    return list(doubts(Problem(unit_space(2), config, 0), known))


def study(known: Record, config: Config = ROBUST) -> State:
    run = Run(auto.start(unit_space(2), config, 0))
    for point, value in zip(known.positions, known.values.tolist(), strict=True):
        run.tell(point, value)
    return run.state


@pytest.mark.parametrize("off", [0.8, 3.0])
def test_wrong_result_is_detected_with_few_false_positives(off: float) -> None:
    found = [doubted(results_with_errors(seed, {7: off})) for seed in range(5)]
    assert sum(7 in rows for rows in found) >= 4
    assert sum(len(set(rows) - {7}) for rows in found) <= 1


def test_two_wrong_results_are_detected() -> None:
    assert sum(doubted(results_with_errors(seed, {3: 0.6, 11: -0.8})) == [3, 11] for seed in range(5)) >= 4


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_correct_results_are_rarely_doubted(noise: float) -> None:
    assert sum(len(doubted(results_with_errors(seed, {}, noise))) for seed in range(12)) <= 1


def test_results_are_doubted_only_in_robust_studies() -> None:
    assert doubted(results_with_errors(0, {7: 0.6}), Config()) == []


def test_replicates_confirm_or_refute_a_result() -> None:
    known = results_with_errors(0, {7: 0.6})
    point, value = known.positions[7], float(known.values[7])
    assert doubted(known.add(point, value + 0.01, 0.0)) == []
    refuted, problem = known.add(point, bowl(point), 0.0), Problem(unit_space(2), ROBUST, 0)
    assert doubted(refuted) == [7]
    assert list(awaiting_replicates(problem, known)) == [7]
    assert list(awaiting_replicates(problem, refuted)) == []


def test_doubted_result_has_less_weight() -> None:
    known = results_with_errors(0, {7: 0.6})
    point = known.positions[7]
    robust, plain = (auto.predict(study(known, config), point[None]).mean[0] for config in (ROBUST, Config()))
    assert abs(robust - bowl(point)) < 0.1 < abs(plain - bowl(point))
    found = left_out(study(known))
    assert found is not None
    assert found.rows[found.doubted].tolist() == [7]
    assert found.tails[7] < 1e-3


def test_doubted_point_is_suggested_again_once() -> None:
    state = study(results_with_errors(0, {7: 0.6}))
    none = np.zeros((0, 2))
    first, second = islice(auto.suggestions(state, none), 2)
    assert (first.point.tobytes(), first.phase) == (state.record.positions[7].tobytes(), "repeat")
    assert second.phase != "repeat"
    failed = next(auto.suggestions(state, none, first.point[None]))
    assert failed.phase != "repeat"
    elsewhere = Slice(unit_space(2), {"x0": 0.123})
    assert next(auto.suggestions_within(state, elsewhere, none)).phase != "repeat"


def test_robust_studies_without_doubts_suggest_the_same_bits() -> None:
    runs = [Run(auto.start(unit_space(2), config, 3)) for config in (ROBUST, Config())]
    for _ in range(25):
        for run in runs:
            run.step(bowl)
    assert [point.tobytes() for point in runs[0].points] == [point.tobytes() for point in runs[1].points]


def test_restored_robust_study_continues_identically() -> None:
    known = results_with_errors(1, {7: 0.6}, count=28)
    run = Run(auto.start(unit_space(2), ROBUST, 0))
    for point, value in zip(known.positions, known.values.tolist(), strict=True):
        run.tell(point, value)
    again = run.restored()
    for _ in range(3):
        assert run.ask().tobytes() == again.ask().tobytes()
        for each in (run, again):
            each.tell(each.ask(), 0.1)


def test_result_moved_to_another_plate_is_judged_anew() -> None:
    """The offset of a plate of its own explains a wrong result."""
    known, config = results_with_errors(0, {7: 0.6}), replace(ROBUST, has_plates=True)
    problem, together, apart = Problem(unit_space(2), config, 0), np.zeros(20, np.int64), np.eye(20, dtype=np.int64)[7]
    assert list(doubts(problem, replace(known, plates=together))) == [7]
    assert list(doubts(problem, replace(known, plates=apart))) == []


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1000.0])
def test_additional_noise_is_about_as_large_as_the_error(scale: float) -> None:
    """In the user's units, in which the noise is declared, too."""
    known = results_with_errors(1, {7: 0.8}, count=40)
    problem = Problem(unit_space(2), replace(ROBUST, noise_std=0.01 * scale), 0)
    found = doubts(problem, replace(known, values=scale * known.values))
    assert list(found) == [7]
    assert 0.5 < found[7] / (0.8 * scale) < 2.0


def test_small_errors_are_not_doubted_however_smooth_the_results_are() -> None:
    small, large = (results_with_errors(1, {7: off}, 0.0, 40) for off in (0.02, 0.2))
    assert (doubted(small), doubted(large)) == ([], [7])


def test_many_results_are_doubted_again_after_a_tenth_more_or_a_replicate() -> None:
    """After 33 results and a replicate, a wrong result is ignored until the 36th result."""
    known = results_with_errors(0, {}, count=33)
    known = known.add(known.positions[3], float(known.values[3]), 0.0)
    wrong, next_one = np.random.default_rng(9).random((2, 2))
    known = known.add(wrong, bowl(wrong) + 1.5, 0.0)
    assert doubted(known) == []
    assert doubted(known.add(next_one, bowl(next_one), 0.0)) == [34]
    assert doubted(known.add(wrong, bowl(wrong), 0.0)) == [34], "a replicate"


def test_doubted_point_is_repeated_in_its_slice_without_a_cell() -> None:
    state = study(results_with_errors(0, {7: 0.6}))
    within = Slice(state.problem.space, {"x0": float(state.record.positions[7, 0])})
    first, second = islice(auto.suggestions_within(state, within, np.zeros((0, 2))), 2)
    assert (first.phase, first.cell, first.depth, first.cells, first.capped) == ("repeat", None, 0, {}, False)
    assert first.point.tobytes() == state.record.positions[7].tobytes()
    assert second.phase != "repeat"
    assert (second.cell, second.depth, second.cells, second.capped) == (None, 0, {}, False)


def test_standard_error_of_a_result_replaces_that_of_the_study() -> None:
    known = replace(results_with_errors(0, {}, count=3), errors=np.array([0.0, 0.1, 0.5]))
    for noise_std, expected in ((0.3, [0.3, 0.1, 0.5]), (None, [0.0, 0.1, 0.5])):
        problem = Problem(unit_space(2), replace(ROBUST, noise_std=noise_std), 0)
        assert declared(problem, known).tolist() == expected

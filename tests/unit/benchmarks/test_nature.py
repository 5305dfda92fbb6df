"""Problems from real measurements: runs get the measured values, and the textbook Gaussian process works."""

from __future__ import annotations

import numpy as np
import pytest

from adabkb_service.engine.axes import ChoiceAxis
from benchmarks.quality.methods.textbook_gp import TextbookGP
from benchmarks.quality.nature import NATURE_CHOOSING, NATURE_FINAL, NATURE_FURTHER
from benchmarks.quality.nature.descriptors import DESCRIBED, Described, descriptors
from benchmarks.quality.nature.emulators import Emulator
from benchmarks.quality.nature.laboratory import Laboratory
from benchmarks.quality.nature.measured import FLOOR, Measured

SETS = NATURE_CHOOSING, NATURE_FURTHER, NATURE_FINAL
PROBLEMS = {name: problem for each in SETS for name, problem in each.items()}


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name.startswith("measured")])
def test_the_best_row_of_a_table_has_its_measured_value(name: str) -> None:
    problem = PROBLEMS[name]
    assert isinstance(problem, Measured)
    rows, sign = problem.table, -1.0 if problem.maximized else 1.0
    best = int(np.argmin(sign * rows.means))
    for seed in range(3):
        instance = problem.draw(seed)
        asked = {axis.name: column[best] for axis, column in zip(instance.space.axes, rows.columns, strict=True)}
        asked |= {
            axis.name: min(max(axis.low + axis.high - asked[axis.name], axis.low), axis.high)
            for axis in instance.space.axes
            if axis.name in instance.mirrored and not isinstance(axis, ChoiceAxis)
        }
        assert instance.space.problems(asked) == {}
        outcome = instance.evaluate(asked)
        assert sign * outcome.value in rows.measurements[best]
        assert outcome.score == FLOOR


def test_repeated_evaluations_of_a_row_return_all_its_measurements() -> None:
    problem = Measured("alkox", maximized=True)
    row = int(np.argmax([len(each) for each in problem.table.measurements]))
    measured = problem.table.measurements[row]
    instance = problem.draw(0)
    numbers = {axis.name: axis for axis in instance.space.axes}
    asked = {name: column[row] for name, column in zip(problem.table.names, problem.table.columns, strict=True)}
    for name in instance.mirrored:
        low, high = numbers[name].raw_bounds  # type: ignore[misc]
        asked[name] = low + high - asked[name]
    assert sorted(-instance.evaluate(asked).value for _ in measured) == sorted(measured)


def test_seeds_of_a_table_differ_in_the_order_of_choices() -> None:
    """Otherwise, a method without random numbers would do the same in every run."""
    problem = NATURE_CHOOSING["measured_direct_arylation"]
    assert len({problem.draw(seed).space for seed in range(4)}) == 4


def test_no_problem_is_in_two_sets() -> None:
    assert len(PROBLEMS) == sum(map(len, SETS))


def test_no_table_of_the_final_set_is_in_a_set_for_choosing() -> None:
    """An emulator of a table would reveal it as well."""
    chosen, final = (
        {problem.file for problem in each.values() if isinstance(problem, Measured | Emulator)}
        for each in (NATURE_CHOOSING | NATURE_FURTHER, NATURE_FINAL)
    )
    assert chosen.isdisjoint(final)


def test_best_choices_of_a_laboratory_have_the_highest_yield() -> None:
    instance = Laboratory(2, (3, 4)).draw(0)
    best = np.unravel_index(int(np.argmax(instance.factors)), instance.levels)
    asked: dict[str, object] = {
        f"x{i}": float(x) for i, x in enumerate(instance.optima[int(np.argmax(instance.factors))])
    }
    asked |= {f"c{i}": f"{i}{level}" for i, level in enumerate(best)}
    assert instance.evaluate(asked).value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.long
def test_textbook_process_finds_one_of_the_best_two_of_216_mixtures() -> None:
    """Within 40 experiments. Random search finds one of them in 34% of runs."""
    problem = NATURE_CHOOSING["measured_fullerenes"]
    instance, method = problem.draw(0), TextbookGP(problem.draw(0).space, 0)
    scores = []
    for _ in range(40):
        asked = method.ask()
        outcome = instance.evaluate(asked)
        method.tell(asked, outcome.value)
        scores.append(outcome.score)
    assert min(scores) < 0.01


def test_descriptors_stay_with_their_choices_in_each_run() -> None:
    """Computed descriptors belong to their choice. Useless ones change nothing else in a run."""
    for seed in range(3):
        plain, useful, useless = (
            DESCRIBED[name].draw(seed).space.axes for name in ("without", "from the structures", "3 random")
        )
        for bare, axis, other in zip(plain, useful, useless, strict=True):
            if not isinstance(axis, ChoiceAxis) or axis.ordered:
                assert bare == axis == other
                continue
            assert isinstance(bare, ChoiceAxis)
            assert isinstance(other, ChoiceAxis)
            assert bare.choices == axis.choices == other.choices
            known = descriptors("direct_arylation", axis.name)
            assert list(zip(*axis.descriptors, strict=True)) == [known[str(choice)] for choice in axis.choices]
            assert len(other.descriptors) == 3


def test_each_choice_of_a_described_table_has_finite_descriptors() -> None:
    problem = DESCRIBED["from the structures"]
    assert isinstance(problem, Described)
    for name in ("base", "ligand", "solvent"):
        column = problem.table.columns[problem.table.names.index(name)]
        known = descriptors(problem.file, name)
        assert set(known) == set(column)
        assert np.isfinite(np.array(list(known.values()))).all()

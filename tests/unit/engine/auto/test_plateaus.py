"""Objectives with steps: what equal results imply for the points around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.plateaus import REACHES, Plateaus, plateaus
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.search.search import Search, maximize_ucb
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

ROWS = 60
MIXED = Space((ChoiceAxis("solvent", ("water", "DMF")), FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0)))


class Table:
    """A table of experiments. A point gets the result of the nearest experiment."""

    def __init__(self, dimension: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._rows = rng.random((ROWS, dimension))
        self._results = -((self._rows - 0.6) ** 2).sum(axis=1) + rng.normal(0.0, 0.05, ROWS)

    def look_up(self, point: Array) -> float:
        return float(self._results[((self._rows - point) ** 2).sum(axis=1).argmin()])


def found(result: Run) -> Plateaus:
    return plateaus(result.state)


def study_with_results(space: Space, *results: tuple[list[float], float], config: Config | None = None) -> Run:
    """A study with these results."""
    result = Run(auto.start(space, config or Config(), 0))
    for point, value in results:
        result.tell(np.array(point), value)
    return result


@pytest.mark.parametrize("dimension", some([3, 4], [3]))
def test_points_on_known_plateaus_are_not_suggested(dimension: int) -> None:
    """Neither by the search, nor by a restart, nor by the quadratic model."""
    table = Table(dimension, 1)
    result, plateaus_met, restarted = Run(auto.start(unit_space(dimension), Config(), 0)), 0, False
    for step in range(50):
        known, point = found(result), result.ask()
        plateaus_met += known.are_found
        assert not known.hold(point[None], step)[0]
        result.tell(point, table.look_up(point))
        restarted |= result.state.restarted_at is not None
    assert plateaus_met >= 30
    assert restarted


def test_plateaus_extend_between_and_around_equal_results() -> None:
    result = study_with_results(unit_space(2), ([0.2, 0.2], 1.0), ([0.4, 0.2], 1.0), ([0.9, 0.9], 0.0))
    asked = np.array([[0.3, 0.2], [0.05, 0.2], [0.4, 0.35], [0.65, 0.2], [0.9, 0.8]])
    for step, known in ((0, [True, True, True, False, False]), (1, [True, False, False, False, False])):
        assert found(result).hold(asked, step).tolist() == known
    assert REACHES == (1.0, 0.5)


def test_the_nearest_result_decides() -> None:
    """A result with another value ends a plateau."""
    result = study_with_results(unit_space(2), ([0.2, 0.2], 1.0), ([0.8, 0.2], 1.0), ([0.5, 0.2], 0.0))
    asked = np.array([[0.3, 0.2], [0.45, 0.2], [0.7, 0.2]])
    assert found(result).hold(asked, 0).tolist() == [True, False, True]


@pytest.mark.long
def test_better_step_inside_another_one_is_found() -> None:
    """The equal results around the best step are farther from each other than from it."""

    def terraces(point: Array) -> float:
        return -float(np.floor(6.0 * np.hypot(*(point - 0.55))))

    for seed in range(3):
        assert max(run(unit_space(2), terraces, 40, seed=seed).values) == 0.0


def test_results_of_different_choices_form_no_plateau() -> None:
    result = study_with_results(MIXED, ([0.25, 0.2, 0.2], 1.0), ([0.75, 0.4, 0.2], 1.0), ([0.25, 0.9, 0.9], 0.0))
    assert not found(result).are_found
    result.tell(np.array([0.25, 0.4, 0.2]), 1.0)
    asked = np.array([[0.25, 0.3, 0.2], [0.75, 0.35, 0.2]])
    assert found(result).hold(asked, 0).tolist() == [True, False]


def test_irrelevant_axis_makes_no_plateau() -> None:
    """All results along it are equal, and the search continues along the others."""

    def bowl(point: Array) -> float:
        return -float(((point[:2] - 0.37) ** 2).sum())

    result = run(unit_space(5), bowl, 60)
    assert max(result.values) > -1e-6


@pytest.mark.parametrize(
    ("space", "config"),
    [
        (unit_space(2), Config(noise_std=0.1)),  # with noise, equal results imply nothing
        (Space((IntAxis("n", 1, 9), IntAxis("m", 1, 9))), None),  # all points are evaluated
    ],
    ids=["noise", "finite"],
)
def test_no_plateaus_where_equal_results_prove_nothing(space: Space, config: Config | None) -> None:
    half = float(space.encode(space.decode(np.array([0.5, 0.5])))[0])
    near = float(space.encode(space.decode(np.array([0.7, 0.5])))[0])
    results = [([half, half], 1.0), ([near, half], 1.0), ([near, near], 0.0)]
    assert not found(study_with_results(space, *results, config=config)).are_found
    assert found(study_with_results(unit_space(2), *results)).are_found


def test_distinct_results_have_no_plateaus() -> None:
    assert not found(run(unit_space(2), lambda point: -float(((point - 0.4) ** 2).sum()), 30)).are_found


def test_known_plateaus_are_excluded_in_one_call() -> None:
    """If known plateaus cover the whole space, a search checks thousands of positions without finding one."""
    result = study_with_results(unit_space(2), *(([x, 0.5], -abs(x - 0.5)) for x in (0.1, 0.5, 0.8)))
    domain, asked = result.state.problem.domain, []

    def taken(point: Array) -> bool:
        asked.append(point)
        return True

    search = Search(domain, domain.whole, result.state.surrogate, 1.5, None, (0, 3), taken)
    found_anyway = maximize_ucb(replace(search, surely_taken=lambda positions: np.ones(len(positions), dtype=bool)))
    assert asked == []
    assert np.array_equal(found_anyway, maximize_ucb(search))
    assert len(asked) > 1000

"""Rows of a catalogue: which ones are suggested first and later, and how few are examined to find the best."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.components import places_of
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.auto.search import Search, maximize_ucb
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.catalogue import CatalogueAxis, Table, table
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
NOTHING = np.zeros((0, 1))


def rows(count: int, columns: int = 3, seed: int = 0, withdrawn: tuple[int, ...] = (), scale: float = 1.0) -> Table:
    numbers = np.random.default_rng(seed).normal(size=(count, columns)) * [scale, *[1.0] * (columns - 1)]
    names = [f"r{row}" for row in range(count)]
    heads = [f"n{column}" for column in range(columns)]
    digest = f"{count} {columns} {seed} {withdrawn} {scale}"
    return table(names, heads, numbers, [names[row] for row in withdrawn], digest)


def value(numbers: Array) -> float:
    return float(-((numbers[:2] - 0.4) ** 2).sum())


def searched(given: Table, count: int, seed: int = 0) -> tuple[State, list[int]]:
    """The state after a number of evaluated suggestions, and their rows."""
    axis = CatalogueAxis("row", given)
    state, found = auto.start(Space((axis,)), Config(), seed), list[int]()
    for _ in range(count):
        suggestion = auto.suggest(state, NOTHING)
        found.append(int(axis.rows(suggestion.point)[0]))
        state = auto.observe(suggestion.state, suggestion.point, value(given.numbers[found[-1]])).state
    return state, found


def test_a_search_finds_about_the_largest_bound_among_all_rows() -> None:
    given = rows(30_000)
    state, found = searched(given, 25)
    domain, axis = state.problem.domain, CatalogueAxis("row", given)
    everywhere = axis.positions(np.setdiff1d(np.arange(30_000), found))[:, None]
    known = set(state.record.positions[:, 0].tolist())
    best = state.record.positions[state.record.values.argmax()]

    def is_taken(point: Array) -> bool:
        return float(point[0]) in known

    for step, beta in enumerate((0.5, 1.5, 3.0)):
        found_there = maximize_ucb(Search(domain, domain.whole, state.surrogate, beta, best, (0, step), is_taken))
        bound = state.surrogate.ucb(found_there[None], beta)
        assert (state.surrogate.ucb(everywhere, beta) > bound).sum() <= 15


@pytest.mark.parametrize("count", [60, 6000])
def test_the_best_rows_are_found_among_many(count: int) -> None:
    given = rows(count)
    values = np.array([value(numbers) for numbers in given.numbers])
    ranks = []
    for seed in range(4):
        _, found = searched(given, 30, seed)
        assert len(set(found)) == 30
        ranks.append((values > values[found].max()).sum())
    assert sorted(ranks)[2] <= count // 1000


def test_no_row_is_repeated_and_no_withdrawn_one_is_suggested() -> None:
    gone = (0, 3, 17)
    state, found = searched(rows(20, withdrawn=gone), 17)
    assert sorted([*found, *gone]) == list(range(20))
    with pytest.raises(StopIteration):
        auto.suggest(state, NOTHING)


def test_the_last_rows_of_a_long_catalogue_are_found_though_all_near_the_best_are_taken() -> None:
    given = rows(1500)
    axis = CatalogueAxis("row", given)
    state = auto.start(Space((axis,)), Config(), 0)
    left = {1234, 432}
    taken = axis.positions(np.array([row for row in range(1500) if row not in left]))[:, None]
    for row in range(8):
        state = auto.observe(state, axis.positions(np.array([row])), value(given.numbers[row])).state
    found = {int(axis.rows(each.point)[0]) for each in auto.suggestions(state, taken[8:])}
    assert found == left


def test_the_first_rows_are_farther_apart_than_random_ones() -> None:
    given = rows(400)
    places, axis = places_of(given), CatalogueAxis("row", given)

    def apart(chosen: NDArray[np.int64]) -> float:
        here = places[chosen]
        away = np.sqrt(((here[:, None] - here[None]) ** 2).sum(axis=2))
        return float(away[away > 0.0].min())

    spread, drawn = [], []
    for seed in range(20):
        first = auto.suggestions(auto.start(Space((axis,)), Config(), seed), NOTHING)
        spread.append(apart(np.array([axis.rows(next(first).point)[0] for _ in range(8)])))
        drawn.append(apart(np.random.default_rng(seed).choice(400, 8, replace=False)))
    assert np.median(spread) > 1.1 * np.median(drawn)


def test_units_of_columns_make_no_difference() -> None:
    assert (places_of(rows(300)) == places_of(rows(300, scale=1024.0))).all()


def test_a_suggestion_is_that_of_its_results_whether_they_came_together_or_not() -> None:
    given = rows(5000)
    state, _ = searched(given, 12)
    restored = auto.restore(
        state.problem.space, Config(), 0, state.record, {}, auto.dictionary(state), auto.learned(state)
    )
    assert (auto.suggest(state, NOTHING).point == auto.suggest(restored, NOTHING).point).all()


def test_further_parameters_of_a_suggestion_move_uphill() -> None:
    given = rows(5000)
    axis = CatalogueAxis("row", given)
    space = Space((axis, FloatAxis("x", 0.0, 1.0)))
    state, best = auto.start(space, Config(), 0), []
    for _ in range(40):
        suggestion = auto.suggest(state, np.zeros((0, 2)))
        (row,) = axis.rows(suggestion.point[:1])
        best.append(value(given.numbers[row]) - (suggestion.point[1] - 0.3) ** 2)
        state = auto.observe(suggestion.state, suggestion.point, best[-1]).state
    assert max(best) > -0.05
    within = Slice(space, {"row": "r7"})
    assert next(auto.suggestions_within(state, within, np.zeros((0, 2)))).point[0] == axis.encode("r7")

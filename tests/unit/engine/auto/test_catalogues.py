"""Which rows of a catalogue are suggested first and later, and how few rows must be examined to find the best."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.components import places_of
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model.transferred import learned
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.auto.search.catalogues import Lookup
from adabkb_service.engine.auto.search.search import Search, maximize_ucb
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.catalogue import CatalogueAxis, Table, table
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.older import Older
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.samples import some

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


def test_search_finds_nearly_the_largest_bound_of_all_rows() -> None:
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


@pytest.mark.parametrize("count", some([60, 6000], [60]))
def test_the_best_rows_are_found_among_many(count: int) -> None:
    given = rows(count)
    values = np.array([value(numbers) for numbers in given.numbers])
    ranks = []
    for seed in range(4):
        _, found = searched(given, 30, seed)
        assert len(set(found)) == 30
        ranks.append((values > values[found].max()).sum())
    assert sorted(ranks)[2] <= count // 1000


def test_rows_are_not_repeated_and_withdrawn_rows_not_suggested() -> None:
    gone = (0, 3, 17)
    state, found = searched(rows(20, withdrawn=gone), 17)
    assert sorted([*found, *gone]) == list(range(20))
    with pytest.raises(StopIteration):
        auto.suggest(state, NOTHING)


@pytest.mark.long
def test_last_free_rows_of_a_long_catalogue_are_found() -> None:
    given = rows(1500)
    axis = CatalogueAxis("row", given)
    state = auto.start(Space((axis,)), Config(), 0)
    left = {1234, 432}
    taken = axis.positions(np.array([row for row in range(1500) if row not in left]))[:, None]
    for row in range(8):
        state = auto.observe(state, axis.positions(np.array([row])), value(given.numbers[row])).state
    found = {int(axis.rows(each.point)[0]) for each in auto.suggestions(state, taken[8:])}
    assert found == left


def test_first_rows_are_farther_apart_than_random_ones() -> None:
    given = rows(400)
    places, axis = places_of(given), CatalogueAxis("row", given)

    def distance(chosen: NDArray[np.int64]) -> float:
        here = places[chosen]
        away = np.sqrt(((here[:, None] - here[None]) ** 2).sum(axis=2))
        return float(away[away > 0.0].min())

    spread, drawn = [], []
    for seed in range(20):
        first = auto.suggestions(auto.start(Space((axis,)), Config(), seed), NOTHING)
        spread.append(distance(np.array([axis.rows(next(first).point)[0] for _ in range(8)])))
        drawn.append(distance(np.random.default_rng(seed).choice(400, 8, replace=False)))
    assert np.median(spread) > 1.1 * np.median(drawn)


def test_column_units_make_no_difference() -> None:
    assert (places_of(rows(300)) == places_of(rows(300, scale=1024.0))).all()


def test_suggestion_is_the_same_after_a_restore() -> None:
    given = rows(5000)
    state, _ = searched(given, 12)
    restored = auto.restore(
        state.problem.space, Config(), 0, state.record, {}, auto.dictionary(state), auto.learned(state)
    )
    assert (auto.suggest(state, NOTHING).point == auto.suggest(restored, NOTHING).point).all()


def test_other_parameters_of_a_suggestion_are_optimized() -> None:
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


def constrained(
    given: Table, *texts: str, mixtures: tuple[Mixture, ...] = (), conditions: tuple[Condition, ...] = ()
) -> Space:
    """A space of a row and two numbers."""
    axes = (CatalogueAxis("row", given), FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0))
    return Space(axes, tuple(map(Constraint, texts)), conditions, mixtures=mixtures)


FEW = 'row in ["r3", "r5001", "r5999"]'
APART = 'not (row == "r5001" and x > 0.1)'


@pytest.mark.parametrize(
    ("texts", "mixtures"),
    some(
        [
            ((FEW, APART), ()),
            (("x + y <= 0.3",), ()),
            ((FEW, APART), (Mixture(("x", "y")),)),
            ((), (Mixture(("x", "y")),)),
        ],
        [((FEW, APART), (Mixture(("x", "y")),))],
    ),
)
def test_every_suggested_row_satisfies_the_constraints(texts: tuple[str, ...], mixtures: tuple[Mixture, ...]) -> None:
    space = constrained(rows(6000, withdrawn=(3,)), *texts, mixtures=mixtures)
    state, found = auto.start(space, Config(), 0), set[str]()
    for step in range(9):
        suggestion = auto.suggest(state, np.zeros((0, 3)))
        point = space.decode(suggestion.point)
        assert space.admits(point)
        assert not space.withdrawn(point)
        found.add(str(point["row"]))
        value = (int(str(point["row"])[1:]) % 2) - (float(str(point["x"])) - 0.5) ** 2
        state = auto.observe(suggestion.state, suggestion.point, value + step / 1000.0).state
    assert found == {"r5001", "r5999"} if FEW in texts else len(found) >= 4


def test_search_ends_when_all_allowed_rows_are_tried() -> None:
    space = Space((CatalogueAxis("row", rows(6000)),), (Constraint(FEW),))
    assert Slice(space, {}).size == 3
    assert len(list(auto.suggestions(auto.start(space, Config(), 0), NOTHING))) == 3


def test_first_rows_under_constraints_are_farther_apart_than_random_ones() -> None:
    given = rows(400)
    space, axis = constrained(given, 'row != "r0"', "x + y <= 1"), CatalogueAxis("row", given)
    distances = []
    for seed in range(20):
        suggestions = auto.suggestions(auto.start(space, Config(), seed), np.zeros((0, 3)))
        first = np.array([axis.rows(next(suggestions).point[:1])[0] for _ in range(2)])
        drawn = np.random.default_rng(seed).choice(400, 2, replace=False)
        distances.append([np.linalg.norm(np.subtract(*places_of(given)[pair])) for pair in (first, drawn)])
    assert np.median(np.array(distances), axis=0)[0] > 1.1 * np.median(np.array(distances), axis=0)[1]


def test_parameters_can_depend_on_the_row() -> None:
    given = rows(60)
    space = constrained(given, conditions=(Condition("x", "row", ("r1", "r2")),))
    state, seen = auto.start(space, Config(), 0), set[bool]()
    for step in range(20):
        suggestion = auto.suggest(state, np.zeros((0, 3)))
        point = space.decode(suggestion.point)
        assert ("x" in point) == (point["row"] in ("r1", "r2"))
        seen.add("x" in point)
        state = auto.observe(suggestion.state, suggestion.point, step / 100.0 + 2.0 * ("x" in point)).state
    assert seen == {True, False}


def test_an_older_study_determines_the_second_row() -> None:
    given = rows(6000)
    axis = CatalogueAxis("row", given)
    best = int(np.argmax([value(numbers) for numbers in given.numbers[:50]]))
    positions = axis.positions(np.arange(50)).round(6)
    outputs = tuple(value(numbers) for numbers in given.numbers[:50])
    older = Older("old", (0,), tuple((float(u),) for u in positions), outputs)
    suggestions = auto.suggestions(auto.start(Space((axis,)), Config(older=(older,)), 0), NOTHING)
    _, second = next(suggestions), next(suggestions)
    assert value(given.numbers[axis.rows(second.point)[0]]) >= value(given.numbers[best]) - 0.05


def test_mean_of_an_older_study_identifies_its_rows() -> None:
    """The snapshot rounds positions, and the rows have no numbers to distinguish them."""
    axis = CatalogueAxis("row", table([f"r{row}" for row in range(7)], ["n"], np.zeros((7, 1)), digest="equal"))
    exact = axis.positions(np.arange(7))
    older = Older("old", (0,), tuple((float(u),) for u in exact.round(6)), (0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 0.0))
    assert learned(older, Domain(Space((axis,)))).mean(exact[:, None]).argmax() == 2


def test_best_rows_of_older_studies_are_candidates() -> None:
    axis = CatalogueAxis("row", rows(30_000))
    domain, needle = Domain(Space((axis,))), axis.positions(np.array([12_345]))[None]

    def found(favored: Array | None) -> float:
        def bound(positions: Array) -> Array:
            values: Array = (positions[:, 0] == needle[0, 0]).astype(np.float64)
            return values

        lookup = Lookup(domain, domain.whole, bound, lambda points: points, None, (0, 1), favored)
        return float(lookup.candidates()[0, 0])

    assert found(needle) == needle[0, 0]
    assert found(None) != needle[0, 0]


def test_withdrawn_row_is_not_suggested_in_another_mixture() -> None:
    space = constrained(rows(6000, withdrawn=(5,)), mixtures=(Mixture(("x", "y")),))
    state = auto.start(space, Config(), 0)
    for row in (1, 2, 5, 9, 11, 12, 14, 17):
        point = space.encode({"row": f"r{row}", "x": 0.4, "y": 0.6})
        state = auto.observe(state, point, 9.0 if row == 5 else row / 10.0).state
    for suggestion in islice(auto.suggestions(state, np.zeros((0, 3))), 4):
        assert space.decode(suggestion.point)["row"] != "r5"


@pytest.mark.parametrize("unknown", ["R", "something else"])
def test_the_error_about_an_unknown_row_proposes_no_withdrawn_row(unknown: str) -> None:
    problem = CatalogueAxis("row", rows(3, withdrawn=(0,))).problem(unknown)
    assert problem is not None
    assert "'r1'" in problem
    assert "'r0'" not in problem

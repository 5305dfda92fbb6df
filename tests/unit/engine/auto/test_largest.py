"""Among which points the search for the largest bound chooses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import Issued, issued
from adabkb_service.engine.auto.acquisition.plateaus import Plateaus
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.auto.search.largest import largest
from adabkb_service.engine.axes import ChoiceAxis, IntAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
C, N = ChoiceAxis("c", tuple("abc")), IntAxis("n", 0, 9)
FLAT = Space((C, N))
"""30 points, all of which are searched."""
BRANCHED = Space((ChoiceAxis("m", ("few", "many")), N), conditions=(Condition("n", "m", ("many",)),))
"""One point with few, and ten with many."""


def study(space: Space, values: dict[tuple[int, int], float], config: Config | None = None) -> State:
    """A study with a result for each pair of indices."""
    state = auto.start(space, config or Config(), 0)
    for indices, value in values.items():
        state = auto.observe(state, at(state, *indices), value).state
    return state


def at(state: State, first: int, second: int) -> Array:
    domain = state.problem.domain
    return domain.exact(np.array([domain.position(0, first), domain.position(1, second)]))


def asked(state: State, step: int, *pending: Array) -> Issued:
    """Issued points such that the next step has this number: the given ones, and the first evaluated one again."""
    evaluated = state.record.positions[:1]
    points = [*pending, *evaluated.repeat(step - state.record.size - len(pending), axis=0)]
    return issued(state, np.array(points).reshape(-1, state.problem.space.dimension), None, None)


@pytest.fixture(scope="module")
def two_tried() -> State:
    """The results of a rise with n, those of b lower. The choice c is untried."""
    return study(FLAT, {(c, n): n / 10.0 - 2.0 * c for n in (1, 4, 7) for c in (0, 1)})


def chosen(state: State, beta: float, step: int, only: int | None, *pending: Array) -> tuple[int, int]:
    """The indices of the point with the largest bound, where the choice ``only`` counts as untried."""
    domain, best = state.problem.domain, state.record.positions[np.argmax(state.record.values)]

    def untried(positions: Array) -> Bools:
        found: Bools = positions[:, 0] == domain.position(0, only or 0)
        return found

    out = asked(state, step, *pending)
    found = largest(state, state.surrogate, beta, best, out, untried=None if only is None else untried)
    return domain.index(0, found[0]), domain.index(1, found[1])


def test_point_with_the_largest_bound_is_found_unless_it_is_taken(two_tried: State) -> None:
    points, view = two_tried.problem.domain.whole.points, two_tried.surrogate
    order = np.argsort(-view.ucb(points, 0.5), kind="stable")
    free = [point for point in points[order] if not (two_tried.record.positions == point).all(axis=1).any()]
    first, second = (tuple(two_tried.problem.domain.index(k, u[k]) for k in (0, 1)) for u in free[:2])
    assert chosen(two_tried, 0.5, 7, None) == first
    assert chosen(two_tried, 0.5, 7, None, free[0]) == second


def test_every_second_step_considers_only_untried_choices(two_tried: State) -> None:
    assert betas.UNTRIED_CHOICES_EVERY == 2
    best = chosen(two_tried, 9.0, 8, None)
    other = next(each for each in (2, 0) if each != best[0])
    assert [chosen(two_tried, 9.0, step, other)[0] == other for step in (8, 9, 10)] == [True, False, True]
    assert chosen(two_tried, 9.0, 9, other) == chosen(two_tried, 9.0, 9, None) == best


def test_untried_choices_below_the_best_mean_are_passed_over(two_tried: State) -> None:
    """The bounds of b are below the best result of a if the width is small, and above it if the width is large."""
    assert chosen(two_tried, 0.5, 8, 1) == chosen(two_tried, 0.5, 8, None)
    assert chosen(two_tried, 0.5, 8, 1)[0] == 0
    assert chosen(two_tried, 50.0, 8, 1)[0] == 1


def test_untried_choice_as_good_as_the_best_mean_is_not_passed_over() -> None:
    """Without results, all means are equal."""
    state = study(FLAT, {})
    domain, best = state.problem.domain, state.problem.domain.whole.points[0]
    is_last = domain.untried_choices(domain.whole.points[:20])
    assert is_last is not None
    for around in (best, None):
        out = issued(state, best[None].repeat(2, axis=0), None, None)
        found = largest(state, state.surrogate, 0.0, around, out, untried=is_last)
        assert domain.index(0, found[0]) == 2


def test_evaluated_points_are_found_again_only_if_noise_is_declared() -> None:
    values = {(0, n): -abs(n - 5.0) for n in (2, 5, 8)}
    exact, noisy = (study(FLAT, values, Config(noise_std=noise)) for noise in (None, 0.01))
    assert chosen(noisy, 0.0, 3, None) == (0, 5)
    assert chosen(exact, 0.0, 3, None) != (0, 5)
    assert chosen(noisy, 0.0, 5, None, at(noisy, 0, 5)) != (0, 5), "it is pending"


@pytest.fixture(scope="module")
def one_branch() -> State:
    """Only points with many are evaluated; the best is found."""
    return study(BRANCHED, {(1, n): -abs(n - 5.0) for n in (1, 4, 7)})


def branch(state: State, step: int, within: Slice | None = None) -> int:
    best = at(state, 1, 4)
    found = largest(state, state.surrogate, 0.0, best, asked(state, step), within)
    assert not (state.record.positions == found).all(axis=1).any()
    return state.problem.domain.index(0, found[0])


def test_early_steps_search_branches_without_points(one_branch: State) -> None:
    steps = (3, betas.EARLY_STEPS - 1, betas.EARLY_STEPS)
    assert [branch(one_branch, step) for step in steps] == [0, 0, 1]


def test_slice_is_searched_without_regard_to_branches(one_branch: State) -> None:
    assert branch(one_branch, 3, Slice(BRANCHED, {"m": "many"})) == 1
    assert branch(one_branch, 3, one_branch.problem.domain.whole) == 1


@pytest.mark.parametrize(("width", "is_everywhere"), [(0.0, False), (0.3, False), (9.0, True)])
def test_plateaus_are_avoided_unless_they_cover_everything(width: float, *, is_everywhere: bool) -> None:
    state = study(FLAT, {(0, n): -abs(n - 5.0) for n in (2, 5, 8)})
    domain, best = state.problem.domain, at(state, 0, 5)
    out = asked(state, 3)
    plain = largest(state, state.surrogate, 0.0, best, out)
    known = Plateaus(domain, np.array([1e-3, 1.0]), best[None] * [1e-3, 1.0], np.array([width]))
    found = largest(state, state.surrogate, 0.0, best, replace(out, plateaus=known))
    assert known.hold(plain[None], 3)[0] == (width > 0.0)
    assert known.hold(found[None], 3)[0] == is_everywhere
    assert (found == plain).all() == (width in (0.0, 9.0))


def test_plateaus_are_avoided_among_untried_choices(two_tried: State) -> None:
    domain = two_tried.problem.domain
    out, best = asked(two_tried, 8), at(two_tried, 0, 7)

    def untried(positions: Array) -> Bools:
        found: Bools = positions[:, 0] == domain.position(0, 1)
        return found

    plain = largest(two_tried, two_tried.surrogate, 1e3, best, out, untried=untried)
    known = Plateaus(domain, np.array([1e3, 1.0]), plain[None] * [1e3, 1.0], np.array([0.3]))
    out = replace(out, plateaus=known)
    found = largest(two_tried, two_tried.surrogate, 1e3, best, out, untried=untried)
    assert known.hold(plain[None], 8)[0]
    assert not known.hold(found[None], 8)[0]
    assert (domain.index(0, plain[0]), domain.index(0, found[0])) == (1, 1)
    assert domain.index(0, largest(two_tried, two_tried.surrogate, 1e3, best, out)[0]) == 2

"""Which choices and branches count as untried, and in which steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import issued
from adabkb_service.engine.auto.acquisition.untried import has_untried_described, untried_branches, untried_choices
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.catalogue import CatalogueAxis, table
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import at_step

Array = NDArray[np.float64]
X = FloatAxis("x", 0.0, 1.0)
PLAIN = ChoiceAxis("c", tuple("abc"))
DESCRIBED = ChoiceAxis("c", tuple("abc"), descriptors=((1.0, 2.0, 4.0),))
ROW = CatalogueAxis("row", table(["r", "s"], ["n"], np.array([[0.0], [1.0]]), [], "two rows"))
TWO = Config(objective=Metric("one", goal=1.0), metrics=(Metric("two", goal=1.0),))


def positions(state: State) -> Array:
    """Positions that differ in the choice of the first axis: a, b, c."""
    found = np.zeros((3, state.problem.space.dimension))
    found[:, 0] = [state.problem.domain.position(0, index) for index in range(3)]
    return found


def test_positions_with_a_choice_of_no_point_are_untried() -> None:
    state, out = at_step(1, PLAIN, X)
    untried = untried_choices(state, out)
    assert untried is not None
    assert untried(positions(state)).tolist() == [False, True, True]
    assert untried_choices(state, out.with_pending(positions(state)[1]).with_pending(positions(state)[2])) is None


@pytest.mark.parametrize(
    ("choices", "last"), [(3, betas.EARLY_STEPS), (9, 9 * betas.STEPS_PER_CHOICE)], ids=["few", "many"]
)
def test_untried_choices_affect_only_early_steps_after_the_first(choices: int, last: int) -> None:
    axis = ChoiceAxis("c", tuple(range(choices)))
    affected = [untried_choices(*at_step(step, axis, X)) is not None for step in (0, 1, last - 1, last)]
    assert affected == [False, True, True, False]


def test_stalled_search_does_not_look_for_choices_but_a_slice_does() -> None:
    state, out = at_step(2, PLAIN, X)
    stalled = replace(state, restarted_at=0)
    assert untried_choices(stalled, out) is None
    assert untried_choices(stalled, out, Slice(state.problem.space, {"x": 0.0})) is not None


def test_slice_counts_its_free_axes_only() -> None:
    state, out = at_step(2, PLAIN, X)
    assert untried_choices(state, out, Slice(state.problem.space, {"c": "a"})) is None


def test_catalogue_is_searched_without_regard_to_choices() -> None:
    state, out = at_step(2, PLAIN, ROW)
    assert untried_choices(state, out, state.problem.domain.whole) is None
    assert untried_choices(state, out, Slice(state.problem.space, {"row": "r"})) is not None


def test_several_objectives_do_not_look_for_choices() -> None:
    state, out = at_step(2, DESCRIBED, X, config=TWO)
    assert untried_choices(state, out) is None
    assert not has_untried_described(state, out)


def test_space_without_choices_has_no_untried_ones() -> None:
    state, out = at_step(2, X)
    assert untried_choices(state, out) is None
    assert not has_untried_described(state, out)


@pytest.mark.parametrize(
    ("others", "first"), [((X,), betas.UNRESTRICTED_STEPS), ((), betas.EARLY_STEPS)], ids=["continuous", "listed"]
)
def test_first_steps_ignore_untried_choices_with_descriptors(others: tuple[FloatAxis, ...], first: int) -> None:
    """A category of six choices has 24 early steps."""
    axis = ChoiceAxis("c", tuple("abcdef"), descriptors=((1.0, 2.0, 4.0, 5.0, 7.0, 9.0),))
    ignored = [untried_choices(*at_step(step, axis, *others)) is None for step in (1, first - 1, first)]
    assert ignored == [True, True, False]


def test_first_steps_consider_untried_choices_without_descriptors() -> None:
    assert untried_choices(*at_step(1, ChoiceAxis("d", tuple("xyz")), DESCRIBED)) is not None


def test_choice_with_descriptors_is_untried_until_it_has_a_point() -> None:
    state, out = at_step(1, DESCRIBED, X)
    assert has_untried_described(state, out)
    assert not has_untried_described(state, issued(state, positions(state), None, None))
    assert not has_untried_described(*at_step(0, DESCRIBED, X))
    assert not has_untried_described(*at_step(betas.EARLY_STEPS, DESCRIBED, X))
    assert not has_untried_described(*at_step(1, PLAIN, X))


def test_only_feasible_choice_is_untried_while_only_others_have_points() -> None:
    """Evaluated points need not be feasible."""
    state = auto.start(Space((PLAIN, X), (Constraint("c == 'b'"),)), Config(), 0)
    untried = untried_choices(state, issued(state, positions(state)[:1], None, None))
    assert untried is not None
    assert untried(positions(state)).tolist()[:2] == [False, True]


def test_branch_without_points_is_untried() -> None:
    n = IntAxis("n", 1, 2)
    space = Space((n, X), conditions=(Condition("x", "n", (2,)),))
    state = auto.start(space, Config(), 0)
    one, two = (np.array([n.encode(value), 0.5]) for value in (1, 2))
    untried = untried_branches(state, issued(state, one[None], None, None))
    assert untried is not None
    assert [untried(one), untried(two)] == [False, True]
    assert untried_branches(state, issued(state, one[None], two[None], None)) is None


def test_branch_without_known_feasible_points_is_not_sought() -> None:
    """No feasible point has n = 2."""
    n = IntAxis("n", 1, 2)
    conditions = (Condition("x", "n", (2,)),)
    one = np.array([[n.encode(1), 0.0]])
    for text, is_sought in (("n <= 1", False), ("n >= 1", True)):
        state = auto.start(Space((n, X), (Constraint(text),), conditions=conditions), Config(), 0)
        assert (untried_branches(state, issued(state, one, None, None)) is not None) == is_sought

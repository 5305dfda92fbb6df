"""Which confidence width a step of the search or of a restart has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.untried import untried_choices
from adabkb_service.engine.auto.acquisition.widths import width, width_of_restart
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.state.turns import RESTARTS_PERIOD
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis
from adabkb_service.engine.catalogue import CatalogueAxis, table
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.older import Older
from adabkb_service.engine.prior import Around, Prior
from adabkb_service.engine.slices import Slice
from tests.unit.engine.auto.drive import at_step
from tests.unit.engine.strategies import unit_space

X = FloatAxis("x", 0.0, 1.0)
PLAIN = ChoiceAxis("c", tuple("abc"))
DESCRIBED = ChoiceAxis("c", tuple("abc"), descriptors=((1.0, 2.0, 4.0),))
ROW = CatalogueAxis("row", table(["r", "s"], ["n"], np.array([[0.0], [1.0]]), [], "two rows"))
TWO = Config(objective=Metric("one", goal=1.0), metrics=(Metric("two", goal=1.0),))
LATE = 400
"""A step after all early ones, and the first one of a cycle of widths."""


def widths(step: int, *axes: Axis, config: Config | None = None) -> list[float]:
    """The widths of four steps while no choice is untried."""
    return [width(*at_step(step + each, *axes, config=config), None) for each in range(4)]


@pytest.mark.parametrize(
    ("described", "others", "expected"),
    [
        (True, (), betas.DESCRIBED),
        (True, (X,), betas.UNTRIED),
        (False, (), betas.UNTRIED),
        (False, (X,), betas.UNTRIED),
    ],
)
def test_untried_choice_widens_a_step(described: bool, others: tuple[Axis, ...], expected: float) -> None:
    """Most in a listed space whose choices have descriptors, although these do not count as untried yet."""
    state, out = at_step(1, DESCRIBED if described else PLAIN, *others)
    untried = untried_choices(state, out)
    assert (untried is None) == described
    assert width(state, out, untried) == expected


def test_untried_choice_widens_a_step_whose_width_would_be_small() -> None:
    many = ChoiceAxis("c", tuple(range(9)))
    state, out = at_step(betas.EARLY_STEPS, many, X)
    assert width(state, out, None) == betas.BETAS_OF_CHOICES[0]
    assert width(state, out, untried_choices(state, out)) == betas.UNTRIED


def test_width_in_a_slice_ignores_descriptors() -> None:
    state, out = at_step(2, DESCRIBED, X)
    assert width(state, out, None, Slice(state.problem.space, {"c": "a"})) == betas.EARLY_BETAS_OF_CHOICES[0]
    state, out = at_step(2, DESCRIBED)
    assert width(state, out, None) == betas.DESCRIBED
    assert width(state, out, None, state.problem.domain.whole) == betas.EARLY_BETAS_OF_CHOICES[0]


@pytest.mark.parametrize(("axis", "later"), [(X, betas.BETAS), (PLAIN, betas.BETAS_OF_CHOICES)], ids=["x", "choices"])
def test_stalled_search_has_later_widths_one_after_the_other(axis: Axis, later: tuple[float, ...]) -> None:
    """It makes one step in three; restarts make the others. A slice has no restarts."""
    found, in_slice = [], []
    for turn in range(4):
        state, out = at_step(RESTARTS_PERIOD * turn, axis, FloatAxis("y", 0.0, 1.0))
        stalled, fixed = replace(state, restarted_at=0), Slice(state.problem.space, {"y": 0.0})
        found.append(width(stalled, out, None))
        in_slice.append(width(stalled, out, None, fixed))
    assert tuple(found) == later
    early = betas.EARLY_BETAS if axis is X else betas.EARLY_BETAS_OF_CHOICES
    assert in_slice == [early[3 * turn % len(early)] for turn in range(4)]


def test_stalled_search_is_not_widened_by_untried_choices() -> None:
    state, out = at_step(RESTARTS_PERIOD * 4, DESCRIBED)
    assert width(replace(state, restarted_at=0), out, None) == betas.BETAS_OF_CHOICES[0]


def test_widths_with_choices_are_larger_unless_a_prior_favors_some() -> None:
    favored = Config(prior=Prior((Around(1, 0.5, 0.1),), ()))
    assert tuple(widths(LATE, PLAIN, X)) == betas.BETAS_OF_CHOICES
    assert tuple(widths(LATE, PLAIN, X, config=favored)) == betas.BETAS
    assert tuple(widths(LATE, X)) == betas.BETAS
    assert tuple(widths(LATE, ChoiceAxis("c", ("only",)), X)) == betas.BETAS_OF_CHOICES


@pytest.mark.parametrize(
    ("dimension", "config", "is_wide"),
    [
        (betas.FEW, Config(), False),
        (betas.FEW + 1, Config(), True),
        (betas.FEW + 1, Config(prior=Prior((Around(1, 0.5, 0.1),), ())), False),
        (betas.FEW + 1, Config(older=(Older("older", (0, 1, 2), ((0.5,) * 3, (0.1,) * 3), (1.0, 0.0)),)), False),
    ],
    ids=["few", "more", "prior", "older"],
)
def test_early_steps_are_wide_with_more_parameters_and_nothing_known(
    dimension: int,
    config: Config,
    is_wide: bool,
) -> None:
    """Those of a restart, too, whose step is its number of points."""
    axes = unit_space(dimension).axes
    early = [betas.WIDE_BETAS[0]] * 4 if is_wide else [*betas.EARLY_BETAS] * 2
    assert widths(0, *axes, config=config) == early
    state, _ = at_step(LATE, *axes, config=config)
    assert width_of_restart(state, 0) == early[0]
    assert width_of_restart(state, betas.WIDE_STEPS) == (betas.BETAS[0] if is_wide else betas.EARLY_BETAS[0])


def test_several_objectives_have_one_width() -> None:
    assert widths(0, PLAIN, X, config=TWO) + widths(LATE, PLAIN, X, config=TWO) == [betas.BETA_OF_OBJECTIVES] * 8


def test_first_rows_of_a_catalogue_have_their_own_width() -> None:
    state, out = at_step(2, ROW, X)
    assert width(state, out, None, state.problem.domain.whole) == betas.BETA_OF_ROWS
    assert width(state, out, None, Slice(state.problem.space, {"row": "r"})) == betas.EARLY_BETAS[0]

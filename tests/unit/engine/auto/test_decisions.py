"""The rules that decide which method makes the next step, how wide the bounds are, and when parameters are learned."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import issued, step_of
from adabkb_service.engine.auto.acquisition.plateaus import REACHES, Plateaus
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.averaging import averaged, averaged_at, fewest_results, learned_with
from adabkb_service.engine.auto.search.quadratic import proposal
from adabkb_service.engine.auto.state.restarts import Restart, is_nearest_to_failed, is_outside_neighborhood
from adabkb_service.engine.auto.state.turns import (
    MAX_AXES,
    MEMORY,
    NEW,
    Turns,
    coefficients,
    fewest_for_model,
    is_restarts,
)
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.older import Older
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

AXES = 2
NONE = np.zeros((0, 2))


def test_quadratic_model_gets_three_steps_in_a_row_while_it_gains() -> None:
    """The radius of the ball doubles up to its maximum."""
    turns, found = NEW, []
    for _ in range(3):
        assert turns.is_models(AXES)
        turns = turns.after(is_models=turns.is_models(AXES), gained=True)
        found.append((turns.in_a_row, turns.others, turns.radius))
    assert found == [(1, 0, 2.0), (2, 0, 4.0), (3, 0, 4.0)]
    assert not turns.is_models(AXES)
    turns = turns.after(is_models=turns.is_models(AXES), gained=True)
    assert turns == Turns((True,) * 3, 0, 1, 4.0)
    assert turns.is_models(AXES)


def test_model_without_gains_gets_every_second_step_and_a_smaller_ball() -> None:
    turns, radii = NEW, []
    for step in range(6):
        assert turns.is_models(AXES) == (step % 2 == 0)
        turns = turns.after(is_models=turns.is_models(AXES), gained=False)
        radii.append(turns.radius)
    assert (radii, turns.gains) == ([0.5, 0.5, 0.25, 0.25, 0.125, 0.125], (False,) * 3)
    assert Turns(radius=0.06).after(is_models=True, gained=False).radius == 0.05


def test_each_step_of_the_model_without_a_gain_changes_its_form() -> None:
    turns, forms = NEW, []
    for gained in (True, False, False, None, False, True, True):
        while not turns.is_models(AXES):
            turns = turns.after(is_models=turns.is_models(AXES), gained=False)
        turns = turns.after(is_models=turns.is_models(AXES), gained=gained)
        forms.append(turns.is_alternative)
    assert forms == [False, True, False, False, True, True, True]


@pytest.mark.parametrize(("gains", "others_before"), [(2, 1), (1, 11)])
def test_model_with_few_gains_gets_few_steps(gains: int, others_before: int) -> None:
    """A third of its last d + 4 steps (here six) must gain."""
    last = (True,) * gains + (False,) * (AXES + MEMORY - gains)
    for before in ((), (True, True, True)):
        turns = Turns((*before, *last), others=0)
        while not turns.is_models(AXES):
            turns = turns.after(is_models=turns.is_models(AXES), gained=True)
        assert turns.others == others_before
    assert Turns(last[1:] if gains == 2 else (False,) * 5, others=1).is_models(AXES), "fewer than six do not count"


def test_steps_of_restarts_or_without_a_result_count_no_gain() -> None:
    turns = Turns((True,), in_a_row=1, others=0, radius=2.0)
    assert turns.after(is_models=False, gained=True) == Turns((True,), 0, 1, 2.0)
    assert turns.after(is_models=turns.is_models(AXES), gained=None) == Turns((True,), 0, 0, 2.0)
    many = Turns((False,) * (MAX_AXES + MEMORY), others=11).after(is_models=True, gained=True)
    assert many.gains == (False,) * (MAX_AXES + MEMORY - 1) + (True,), "the oldest is dropped"


def test_every_third_step_is_not_a_restart() -> None:
    assert [is_restarts(50, step) for step in range(60, 66)] == [False, True, True] * 2
    assert not any(is_restarts(None, step) for step in range(6))


def test_quadratic_model_of_two_axes_needs_seven_results() -> None:
    assert (coefficients(2), fewest_for_model(2), coefficients(1)) == (6, 7, 3)


def test_neighbourhood_extends_along_relevant_axes_only() -> None:
    """Its edge is outside. Points inside do not count towards a restart."""
    domain, best = Domain(unit_space(2)), np.zeros(2)
    positions = np.array([[0.0, 0.0], [0.04, 1.0], [0.05, 0.0], [0.05, 0.05], [0.0, 0.08]])
    first, both = np.array([True, False]), np.array([True, True])
    assert is_outside_neighborhood(domain, positions, best, first).tolist() == [False, False, True, True, False]
    assert is_outside_neighborhood(domain, positions, best, both).tolist() == [False, True, False, True, True]
    state = auto.start(unit_space(2), Config(), 0)
    restart = Restart(np.arange(3), best, both, None, state.surrogate, state.warp)
    assert restart.size(positions, domain) == 3 + 3


def test_plateau_extends_by_its_width() -> None:
    """A point without an equal result has no plateau."""
    points, reach = np.array([[0.0], [1.0]]), 0.25 * REACHES[0]
    known = Plateaus(Domain(unit_space(1)), np.ones(1), points, np.array([0.25, 0.0]))
    assert known.hold(np.array([[reach], [np.nextafter(reach, 1.0)], [1.0]]), 0).tolist() == [True, False, False]


def test_step_number_counts_results_and_pending_and_failed_points() -> None:
    state = run(unit_space(2), lambda u: float(u[0]), 3).state
    out = issued(state, np.ones((2, 2)), np.zeros((4, 2)), np.ones((8, 2)))
    assert step_of(state, out) == 3 + 2 + 4
    assert len(out.positions) == 2 + 4 + 8


def test_is_nearest_to_failed_compares_distances() -> None:
    domain, failed, results = Domain(unit_space(1)), np.array([[0.25]]), np.array([[0.75]])
    near = [is_nearest_to_failed(domain, np.array([x]), results, failed) for x in (0.25, 0.49, 0.5, 0.51)]
    assert near == [True, True, False, False]
    assert not is_nearest_to_failed(domain, np.array([0.25]), results, failed[:0])


@pytest.mark.parametrize(
    ("options", "steps", "early", "late"),
    [
        ({}, 20, [1.5, 3.0, 1.5, 3.0], [0.5, 1.5, 1.5, 3.0]),
        ({"is_wide": True}, 12, [3.0] * 4, [0.5, 1.5, 1.5, 3.0]),
        ({"is_wide": True, "has_choices": True}, 20, [3.0] * 4, [0.5, 1.5, 3.0, 3.0]),
        ({"is_wide": True, "several": True}, 12, [0.5] * 4, [0.5] * 4),
        ({"is_wide": True, "of_rows": True}, 20, [3.0] * 4, [0.5, 1.5, 1.5, 3.0]),
    ],
)
def test_confidence_widths_alternate(
    options: dict[str, bool], steps: int, early: list[float], late: list[float]
) -> None:
    assert [betas.beta(step, **options) for step in range(4)] == early
    assert [betas.beta(step, **options) for step in range(steps - 4, steps + 4)] == early + late


def test_early_steps_have_larger_widths_only_where_nothing_is_known_beforehand() -> None:
    """And with more than two parameters. The first suggestion then has the width of an exploration."""
    known = Older("older", (0, 1, 2), ((0.5, 0.5, 0.5), (0.1, 0.2, 0.3)), (1.0, 0.0))
    for dimension, config, is_wide in ((2, Config(), False), (3, Config(), True), (3, Config(older=(known,)), False)):
        result = Run(auto.start(unit_space(dimension), config, 0))
        for _ in range(4):
            result.step(lambda u: -float(((u - 0.3) ** 2).sum()))
        assert auto.suggest(result.state, np.zeros((0, dimension))).phase == ("explore" if is_wide else "search")


def test_phase_describes_the_purpose_of_a_suggestion() -> None:
    """Points near the best one polish, and others explore if the width is large. The quadratic model also polishes, and
    the first points start the study.
    """
    result, seen = Run(auto.start(unit_space(2), Config(), 0)), set[str]()
    for step in range(36):
        state = result.state
        suggestion = auto.suggest(state, NONE)
        if step < MIN_RESULTS:
            expected = "start"
        elif proposal(state, issued(state, NONE, None, None)) is not None:
            expected = "polish"
        else:
            away = suggestion.point - state.record.positions[np.argmax(state.record.values)]
            is_wide = betas.beta(step) >= 2.0
            expected = "polish" if (away**2).sum() < 2 * 0.05**2 else "explore" if is_wide else "search"
        assert suggestion.phase == expected
        seen.add(expected)
        result.step(lambda u: float(np.sin(9.0 * u[0]) - abs(u[1] - 0.3) ** 1.5))
    assert seen == {"start", "polish", "explore", "search"}


def test_averaged_parameters_are_relearned_after_a_quarter_of_new_results() -> None:
    """They are also learned when there are enough results for a gap: three for each of two parameters, and three for
    the mean.
    """
    problem = auto.start(unit_space(2), Config(), 0).problem
    assert fewest_results(problem) == 9
    assert [learned_with(problem, count) for count in range(20)] == [
        *range(9), 9, 10, 10, 12, 12, 12, 15, 15, 15, 18, 18,
    ]  # fmt: skip


def test_averaged_posterior_adds_results_between_checkpoints() -> None:
    """Learned from 10 results, then with one more: an extended posterior uses all results."""
    result = run(unit_space(2), lambda u: -float(((u - 0.4) ** 2).sum()), 10)
    learned = averaged(result.state)
    assert learned is averaged_at(result.state, 10)
    assert len(learned.members) > 1
    result.step(lambda u: -float(((u - 0.4) ** 2).sum()))
    added = averaged(result.state)
    at = result.state.record.positions
    assert added.members[0].hyperparameters == learned.members[0].hyperparameters
    assert added.mean(at[-1:])[0] == pytest.approx(result.values[-1], abs=5e-3)
    assert averaged(result.state) is added


def test_exclusive_branches_need_fewer_results_for_a_gap() -> None:
    """At most two of three parameters are active: three results for each of them, and three more."""
    kind = ChoiceAxis("kind", ("a", "b"))
    axes = (kind, FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0))
    space = Space(axes, conditions=(Condition("x", "kind", ("a",)), Condition("y", "kind", ("b",))))
    assert fewest_results(auto.start(space, Config(), 0).problem) == 9
    assert fewest_results(auto.start(Space(axes), Config(), 0).problem) == 12


def bowl(u: Array) -> float:
    return -float((((u - 0.37) ** 2) * [1.0, 3.0]).sum())


def test_quadratic_model_decides_where_it_has_a_proposal_and_the_search_elsewhere() -> None:
    """The search suggests the centroid of a cell that is almost as good as its target, so no limit ends its cuts. The
    model suggests the very point of its minimum."""
    result, methods = Run(auto.start(unit_space(2), Config(), 0)), []
    for _ in range(12):
        proposed = proposal(result.state, issued(result.state, NONE, None, None))
        suggestion = auto.suggest(result.state, NONE)
        assert suggestion.cell is not None
        if proposed is None:
            assert not suggestion.capped
            assert suggestion.point.tolist() == auto.cell_box(suggestion.state, suggestion.cell).centroid.tolist()
        else:
            assert (suggestion.point.tolist(), suggestion.phase) == (proposed.tolist(), "polish")
        methods.append(proposed is not None)
        result.step(bowl)
    assert methods[:7] == [False] * 7
    assert any(methods[7:])
    assert not all(methods[7:])


def test_points_after_equal_results_are_random() -> None:
    """The bounds of the third point would be largest opposite to the second one, seen from the first one in the
    middle."""
    is_opposite = []
    for seed in range(6):
        first, second, third = run(unit_space(2), lambda _: 1.0, 3, seed=seed).points
        is_opposite.append((third - first).tolist() == (first - second).tolist())
    assert sum(is_opposite) <= 1

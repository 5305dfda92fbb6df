"""A study stops once its results bring no gain, as its definition says, and goes on when that is no longer so."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from adabkb_service.contract.gain import probability_of_gain
from adabkb_service.errors import Invalid
from adabkb_service.operations.manage import create
from adabkb_service.operations.service import Service
from tests.operations.conftest import definition
from tests.operations.verbs import Ask, Failure, Value, change, correct, get, observe, suggest


def tell(running: Service, *values: float) -> None:
    """Results of trials, one after the other."""
    for value in values:
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(value, trial.number))


def standing(running: Service) -> tuple[str, str | None]:
    study = get(running, "s")
    return study.state, study.reason


def test_a_study_stops_after_so_many_results_without_a_gain(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3}))
    tell(running, 5.0, 4.0, 6.0, 4.0)
    assert standing(running) == ("running", None)
    tell(running, 3.0, 7.0, 3.0, 8.0)
    assert standing(running) == ("complete", "no_gain")
    assert suggest(running, "s", Ask()).view.reason == "no_gain"


def test_failures_are_no_results(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 2}))
    tell(running, 5.0)
    for _ in range(3):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Failure(trial.number))
    assert standing(running) == ("running", None)


def test_trials_that_are_out_are_awaited_and_one_that_gains_makes_the_study_go_on(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 2}))
    tell(running, 5.0)
    first, second, last = suggest(running, "s", Ask(3)).view.trials
    observe(running, "s", Value(6.0, first.number))
    observe(running, "s", Value(7.0, second.number))
    assert standing(running) == ("running", "no_gain")
    assert suggest(running, "s", Ask()).view.trials == []
    observe(running, "s", Value(4.0, last.number))
    assert standing(running) == ("running", None)


def test_a_correction_counts_from_the_best_result_that_is_left(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3}))
    tell(running, 5.0, 6.0, 1.0, 7.0, 8.0)
    correct(running, "s", 3, {"excluded": True}, "misread")
    assert standing(running) == ("complete", "no_gain")
    correct(running, "s", 3, {"excluded": False}, "it was right")
    assert standing(running) == ("running", None)


def test_excluded_results_do_not_count(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3}))
    tell(running, 5.0, 6.0, 7.0)
    for seq in (2, 3):
        correct(running, "s", seq, {"excluded": True}, "wrong plate")
    tell(running, 6.5, 6.5)
    assert standing(running) == ("running", None)
    tell(running, 6.5)
    assert standing(running) == ("complete", "no_gain")
    for seq in (1, 4, 5, 6):
        correct(running, "s", seq, {"excluded": True}, "all of them")
    assert standing(running) == ("running", None)


def test_the_rule_can_be_changed_and_removed(running: Service) -> None:
    create(running, definition())
    tell(running, 5.0, 6.0, 7.0)
    change(running, "s", {"stop": {"no_gain_for": 2}})
    assert standing(running) == ("complete", "no_gain")
    change(running, "s", {"stop": {"no_gain_for": 3}})
    assert standing(running) == ("running", None)
    change(running, "s", {"stop": {"no_gain_for": 1}})
    change(running, "s", {"stop": None})
    assert standing(running) == ("running", None)
    assert get(running, "s").stop is None


def test_a_study_stops_once_a_gain_has_become_unlikely(running: Service) -> None:
    create(running, definition(stop={"probability_of_gain_below": probability_of_gain(2, 2)}))
    tell(running, 5.0, 1.0, 0.99, 0.98)  # small steps are no gain, until they add up to one
    assert standing(running) == ("running", None)
    tell(running, 0.95, 0.95, 0.95)
    assert standing(running) == ("running", None)
    tell(running, 0.95)
    assert standing(running) == ("complete", "gain_unlikely")
    assert suggest(running, "s", Ask()).view.reason == "gain_unlikely"


def test_the_probability_counts_from_the_last_gain_and_excluded_results_do_not_count(running: Service) -> None:
    create(running, definition())
    assert get(running, "s").probability_of_gain is None
    tell(running, 5.0, 1.0, 6.0, 7.0)
    assert get(running, "s").probability_of_gain == probability_of_gain(2, 2)
    correct(running, "s", 4, {"excluded": True}, "wrong plate")
    assert get(running, "s").probability_of_gain == probability_of_gain(1, 2)
    correct(running, "s", 2, {"excluded": True}, "wrong plate")
    assert get(running, "s").probability_of_gain == probability_of_gain(1, 2)
    correct(running, "s", 1, {"value": 8.0}, "misread")
    assert get(running, "s").probability_of_gain == probability_of_gain(0, 2)


def test_a_trial_that_is_out_may_still_bring_the_unlikely_gain(running: Service) -> None:
    create(running, definition(stop={"probability_of_gain_below": probability_of_gain(0, 2)}))
    tell(running, 5.0)
    first, last = suggest(running, "s", Ask(2)).view.trials
    observe(running, "s", Value(6.0, first.number))
    assert standing(running) == ("running", "gain_unlikely")
    observe(running, "s", Value(4.0, last.number))
    assert standing(running) == ("running", None)


def test_of_two_rules_the_first_one_ends_the_study(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3, "probability_of_gain_below": probability_of_gain(1, 2)}))
    tell(running, 5.0, 6.0, 6.0)
    assert standing(running) == ("complete", "gain_unlikely")
    change(running, "s", {"stop": {"no_gain_for": 2, "probability_of_gain_below": 0.01}})
    assert standing(running) == ("complete", "no_gain")
    change(running, "s", {"stop": {"probability_of_gain_below": 0.01}})
    assert standing(running) == ("running", None)


def test_the_probability_is_known_for_auto_only(running: Service) -> None:
    create(running, definition(algorithm={"profile": "paper", "outputs": "raw"}))
    tell(running, 5.0, 6.0)
    assert get(running, "s").probability_of_gain is None
    before = get(running, "s")
    with pytest.raises(Invalid, match="/stop: cannot have probability_of_gain_below") as refused:
        change(running, "s", {"budget": 7, "stop": {"probability_of_gain_below": 0.1}})
    assert [fault.pointer for fault in refused.value.errors] == ["/stop"]
    assert get(running, "s") == before
    with pytest.raises(ValidationError, match="profile auto only; use no_gain_for"):
        definition(algorithm={"profile": "paper"}, stop={"probability_of_gain_below": 0.1})


@pytest.mark.parametrize(
    "rules", [{}, {"probability_of_gain_below": 0.0}, {"probability_of_gain_below": 1.0}, {"no_gain_for": None}]
)
def test_a_rule_that_says_nothing_is_refused(rules: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="stop"):
        definition(stop=rules)

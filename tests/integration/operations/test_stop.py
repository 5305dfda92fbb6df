"""Stop rules end a study without gains, and the study continues when its rule no longer applies."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from adabkb_service.errors import Invalid
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Ask, Failure, Value, change, correct, get, observe, suggest


def tell(running: Service, *values: float) -> None:
    """Suggest trials and report results, one after the other."""
    for value in values:
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(value, trial.number))


def status(running: Service) -> tuple[str, str | None]:
    study = get(running, "s")
    return study.state, study.reason


def test_study_stops_after_a_number_of_results_without_a_gain(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3}))
    tell(running, 5.0, 4.0, 6.0, 4.0)
    assert status(running) == ("running", None)
    tell(running, 3.0, 7.0, 3.0, 8.0)
    assert status(running) == ("complete", "no_gain")
    assert suggest(running, "s", Ask()).view.reason == "no_gain"


def test_failures_do_not_count_as_results(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 2}))
    tell(running, 5.0)
    for _ in range(3):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Failure(trial.number))
    assert status(running) == ("running", None)


def test_study_waits_for_pending_trials_and_continues_after_a_gain(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 2}))
    tell(running, 5.0)
    first, second, last = suggest(running, "s", Ask(3)).view.trials
    observe(running, "s", Value(6.0, first.number))
    observe(running, "s", Value(7.0, second.number))
    assert status(running) == ("running", "no_gain")
    assert suggest(running, "s", Ask()).view.trials == []
    observe(running, "s", Value(4.0, last.number))
    assert status(running) == ("running", None)


def test_correction_recounts_from_the_new_best_result(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3}))
    tell(running, 5.0, 6.0, 1.0, 7.0, 8.0)
    correct(running, "s", 3, {"excluded": True}, "misread")
    assert status(running) == ("complete", "no_gain")
    correct(running, "s", 3, {"excluded": False}, "it was right")
    assert status(running) == ("running", None)


def test_excluded_results_do_not_count(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3}))
    tell(running, 5.0, 6.0, 7.0)
    for seq in (2, 3):
        correct(running, "s", seq, {"excluded": True}, "wrong plate")
    tell(running, 6.5, 6.5)
    assert status(running) == ("running", None)
    tell(running, 6.5)
    assert status(running) == ("complete", "no_gain")
    for seq in (1, 4, 5, 6):
        correct(running, "s", seq, {"excluded": True}, "all of them")
    assert status(running) == ("running", None)


def test_rule_can_be_changed_and_removed(running: Service) -> None:
    create(running, definition())
    tell(running, 5.0, 6.0, 7.0)
    change(running, "s", {"stop": {"no_gain_for": 2}})
    assert status(running) == ("complete", "no_gain")
    change(running, "s", {"stop": {"no_gain_for": 3}})
    assert status(running) == ("running", None)
    change(running, "s", {"stop": {"no_gain_for": 1}})
    change(running, "s", {"stop": None})
    assert status(running) == ("running", None)
    assert get(running, "s").stop is None


def bowl(running: Service, count: int) -> None:
    """Suggest trials and report values of a parabola, one after the other."""
    for _ in range(count):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value((trial.parameters["x"] - 0.7) ** 2, trial.number))


def test_study_stops_once_the_gap_is_below_its_share(running: Service) -> None:
    """A parabola: the gap is known after nine results, and falls below a share of their range."""
    create(running, definition(stop={"gap_share_below": 0.9}))
    bowl(running, 8)
    assert (status(running), get(running, "s").gap) == (("running", None), None)
    for _ in range(40):
        if status(running) != ("running", None):
            break
        bowl(running, 1)
    assert status(running) == ("complete", "gain_unlikely")
    assert suggest(running, "s", Ask()).view.reason == "gain_unlikely"
    found, results = get(running, "s"), read.list_observations(running, "s", 0, 100).items
    values = [each.value for each in results if each.value is not None]
    assert found.gap is not None
    assert found.gap < 0.9 * (max(values) - min(values))
    change(running, "s", {"stop": {"gap_share_below": 1e-12}})
    assert status(running) == ("running", None)


def test_first_of_two_rules_ends_the_study(running: Service) -> None:
    create(running, definition(stop={"no_gain_for": 3, "gap_share_below": 0.9}))
    tell(running, 5.0, 6.0, 6.0, 6.0)
    assert status(running) == ("complete", "no_gain")
    change(running, "s", {"stop": {"gap_share_below": 0.9}})
    assert status(running) == ("running", None)


def test_gap_rule_requires_the_auto_profile(running: Service) -> None:
    create(running, definition(algorithm={"profile": "paper", "outputs": "raw"}))
    tell(running, 5.0, 6.0)
    before = get(running, "s")
    with pytest.raises(Invalid, match="/stop: cannot have gap_share_below") as refused:
        change(running, "s", {"budget": 7, "stop": {"gap_share_below": 0.1}})
    assert [fault.pointer for fault in refused.value.errors] == ["/stop"]
    assert get(running, "s") == before
    with pytest.raises(ValidationError, match="profile auto; use no_gain_for or tolerance"):
        definition(algorithm={"profile": "paper"}, stop={"gap_share_below": 0.1})


@pytest.mark.parametrize("rules", [{}, {"gap_share_below": 0.0}, {"gap_share_below": 1.0}, {"no_gain_for": None}])
def test_empty_rule_is_rejected(rules: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="stop"):
        definition(stop=rules)

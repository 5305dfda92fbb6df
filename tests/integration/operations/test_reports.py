"""Intermediate values: what reports store and reject, which trials they stop, and how the model uses them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.errors import Invalid, LeaseLost, ReportConflict, TrialFinished
from adabkb_service.inference.inprocess import InProcess
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import csv_curves, json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.study.request import Key
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, get, observe, release, report, retry, suggest

ASHA = {"rule": "asha", "max_steps": 9, "eta": 3}
PATIENCE = {"rule": "patience", "max_steps": 10, "no_gain_for": 2}


def ask(running: Service, count: int = 1) -> list[int]:
    return [trial.number for trial in suggest(running, "s", Ask(count)).view.trials]


def curve(running: Service, number: int, attempt: int | None = None) -> list[tuple[int, float]]:
    found = read.list_reports(running, "s", number, attempt=attempt, first=0, limit=1000)
    return [(each.step, each.value) for each in found]


def train(running: Service, quality: float, steps: tuple[int, ...] = (1, 3, 9)) -> int:
    """Run a trial whose value is its quality plus its remaining steps. Return the number of steps that it took."""
    (number,) = ask(running)
    for step in steps:
        if report(running, "s", number, (step, quality + (9 - step) / 4)).view.stop:
            return step
    observe(running, "s", Value(quality, number))
    return steps[-1]


@pytest.mark.usefixtures("study")
def test_report_is_stored_once_and_renews_the_lease(running: Service, clock: ManualClock) -> None:
    (number,) = ask(running)
    for step in range(5):
        clock.advance(50)
        answer = report(running, "s", number, (step, 1.0 / (step + 1))).view
        assert (answer.stop, answer.reason, answer.rule) == (False, None, None)
    head = get(running, "s").revision
    assert report(running, "s", number, (3, 0.25), (4, 0.2)).view.trial.curve == answer.trial.curve
    assert get(running, "s").revision == head
    assert curve(running, number) == [(0, 1.0), (1, 0.5), (2, 1.0 / 3), (3, 0.25), (4, 0.2)]
    assert answer.trial.curve is not None
    assert dict(answer.trial.curve) == {
        "reports": 5, "step": 4, "value": 0.2, "best": 0.2, "gain_step": 4, "gain_value": 0.2
    }  # fmt: skip


@pytest.mark.usefixtures("study")
def test_repeated_key_gives_the_same_response(running: Service) -> None:
    (number,) = ask(running)
    first = report(running, "s", number, (1, 2.0), key=Key("s", "k", "f"))
    again = report(running, "s", number, (1, 2.0), key=Key("s", "k", "f"))
    assert again.replayed
    assert again.view == first.view


@pytest.mark.parametrize(
    ("reports", "pointer", "words"),
    [
        ([(5, 1.0), (4, 1.0)], "/reports/1/step", "must be more than 5, the step reported before"),
        ([(4, 1.0), (2, 1.0)], "/reports/1/step", "must be more than 4"),
        ([(2, 1.0)], "/reports/0/step", "must be more than 3"),
        ([(4, 1.0), (10, 1.0)], "/reports/1/step", "must be at most max_steps of the study's early_stopping (9)"),
    ],
)
def test_invalid_steps_are_rejected_and_nothing_is_written(
    running: Service, reports: list[tuple[int, float]], pointer: str, words: str
) -> None:
    create(running, definition(early_stopping=ASHA))
    (number,) = ask(running)
    report(running, "s", number, (1, 5.0), (3, 4.0))
    before = get(running, "s")
    with pytest.raises(Invalid) as refused:
        report(running, "s", number, *reports)
    assert refused.value.errors[0].pointer == pointer
    assert words in refused.value.errors[0].detail
    assert get(running, "s") == before
    assert curve(running, number) == [(1, 5.0), (3, 4.0)]


@pytest.mark.usefixtures("study")
def test_another_value_at_the_same_step_is_a_conflict(running: Service) -> None:
    (number,) = ask(running)
    report(running, "s", number, (1, 5.0))
    with pytest.raises(ReportConflict, match=r"has reported 5\.0 at step 1; it cannot report 6\.0 there too"):
        report(running, "s", number, (1, 6.0), (2, 3.0))
    assert curve(running, number) == [(1, 5.0)]


@pytest.mark.long
@pytest.mark.usefixtures("study")
def test_number_of_reports_per_attempt_is_limited(running: Service) -> None:
    (number,) = ask(running)
    for first in range(0, 10_000, 1000):
        report(running, "s", number, *((step, 0.5) for step in range(first, first + 1000)))
    with pytest.raises(Invalid, match="an attempt may report at most 10,000 values"):
        report(running, "s", number, (10_000, 0.5))
    assert report(running, "s", number, (9_999, 0.5)).view.trial.curve is not None


@pytest.mark.usefixtures("study")
def test_only_the_lease_holder_reports_and_each_attempt_has_its_own_curve(running: Service, clock: ManualClock) -> None:
    (number,) = ask(running)
    report(running, "s", number, (1, 5.0), (2, 4.0))
    release(running, "s", number)
    with pytest.raises(LeaseLost):
        report(running, "s", number, (3, 3.0))
    assert ask(running) == [number]
    with pytest.raises(LeaseLost):
        report(running, "s", number, (3, 3.0), attempt=1)
    report(running, "s", number, (1, 6.0), attempt=2)
    assert (curve(running, number), curve(running, number, 1)) == ([(1, 6.0)], [(1, 5.0), (2, 4.0)])
    clock.advance(61)
    # Like a heartbeat, a report renews an expired lease that no other worker holds.
    report(running, "s", number, (2, 5.5))
    observe(running, "s", Value(5.0, number))
    assert report(running, "s", number, (2, 5.5)).view.stop is False
    with pytest.raises(TrialFinished):
        report(running, "s", number, (3, 5.0))
    assert list(examine(running.database)) == []


def test_asha_stops_worse_trials_and_the_budget_counts_their_steps(running: Service) -> None:
    create(running, definition(early_stopping=ASHA, budget=4))
    assert train(running, 1.0) == 9
    taken = [train(running, quality) for quality in (3.0, 2.0, 4.0, 0.5, 3.0, 5.0)]
    assert taken == [1, 1, 1, 9, 1, 1]
    study = get(running, "s")
    assert (study.counts.stopped, study.counts.completed) == (5, 2)
    assert study.reason is None  # 2 + 5 / 9 of 4 evaluations: one more is possible
    assert train(running, 0.25) == 9
    assert get(running, "s").reason == "budget"
    assert get(running, "s").state == "complete"
    assert suggest(running, "s", Ask()).view.reason == "budget"


def test_stopped_trial_accepts_no_further_calls(running: Service) -> None:
    create(running, definition(early_stopping=ASHA))
    train(running, 1.0)
    (number,) = ask(running)
    answer = report(running, "s", number, (1, 9.0)).view
    assert (answer.stop, answer.rule, answer.trial.state) == (True, "asha", "stopped")
    assert answer.reason == "At step 1 it has place 2 of 2 trials, of which the best 1 continue."
    for again in ((1, 9.0), (1, 8.0), (2, 3.0)):
        late = report(running, "s", number, again).view
        assert (late.stop, late.reason, late.trial.curve) == (True, answer.reason, answer.trial.curve)
    for result in (Value(9.0, number), Failure(number)):
        with pytest.raises(TrialFinished, match="was stopped at step 1, and its reports determine its result"):
            observe(running, "s", result)
    for verb in (release, retry):
        with pytest.raises(TrialFinished):
            verb(running, "s", number)
    assert list(examine(running.database)) == []


def test_batch_of_reports_is_stored_completely_and_stops_at_the_first_match(running: Service) -> None:
    create(running, definition(early_stopping=ASHA))
    train(running, 1.0)
    (number,) = ask(running)
    answer = report(running, "s", number, (1, 2.0), (2, 1.0), (3, 5.0), (5, 0.1)).view
    assert answer.reason == "At step 3 it has place 2 of 2 trials, of which the best 1 continue."
    assert curve(running, number) == [(1, 2.0), (2, 1.0), (3, 5.0), (5, 0.1)]


def test_patience_uses_the_last_value_as_the_result(running: Service) -> None:
    create(running, definition(early_stopping=PATIENCE, budget=2))
    for last in (1.0, 2.0, 3.0):
        (number,) = ask(running)
        for step, value in enumerate((last + 1, last, last + 0.5), 1):
            assert not report(running, "s", number, (step, value)).view.stop
        answer = report(running, "s", number, (4, last)).view
        assert (answer.stop, answer.trial.state, answer.trial.value) == (True, "stopped", last)
        assert answer.reason == "Its value has not improved for 2 steps, since step 2."
    study = get(running, "s")
    assert study.best is not None
    assert (study.best.value, study.counts.observations, study.counts.stopped) == (1.0, 3, 3)
    assert (study.state, study.reason) == ("complete", "budget")  # 1.2 of 2 evaluations: no further one is possible
    assert list(examine(running.database)) == []


def test_median_rule_stops_trials_worse_than_the_median(running: Service) -> None:
    create(running, definition(early_stopping={"rule": "median", "max_steps": 9, "after_trials": 3, "min_steps": 3}))
    assert [train(running, quality) for quality in (1.0, 2.0, 3.0)] == [9, 9, 9]
    assert [train(running, quality) for quality in (1.5, 2.5, 9.0)] == [9, 3, 3]


@pytest.mark.usefixtures("study")
def test_trial_without_a_rule_is_never_stopped(running: Service) -> None:
    (number,) = ask(running)
    assert not any(report(running, "s", number, (step, 1e6)).view.stop for step in (1, 10, 10**9))


def studied(running: Service) -> None:
    """A study with the rule asha in which half of the trials are stopped."""
    create(running, definition(early_stopping=ASHA))
    for index in range(16):
        (trial,) = suggest(running, "s", Ask()).view.trials
        x = trial.parameters["x"]
        for step in (1, 3, 9):
            if report(running, "s", trial.number, (step, x * x + (9 - step) * (1 + 0.1 * (index % 3)))).view.stop:
                break
        else:
            observe(running, "s", Value(x * x, trial.number))


def test_model_learns_from_stopped_trials_and_is_replayed(
    running: Service, database: Database, clock: ManualClock
) -> None:
    studied(running)
    before = get(running, "s")
    assert before.counts.stopped >= 3
    assert before.model.dictionary > before.counts.completed
    replayed = replay(running, "s")
    assert (replayed.diverged, replayed.changed) == ([], False)
    assert replayed.suggestions >= 12
    restarted = Service(database, clock=clock, inference=InProcess(database))
    assert suggest(restarted, "s", Ask()).view.trials[0].origin == "policy"
    assert replay(restarted, "s").diverged == []
    assert list(examine(database)) == []
    decision = why(restarted, "s", 17).decision
    assert decision is not None
    assert decision.results == 16


def test_estimate_follows_from_the_changes_of_completed_trials(running: Service) -> None:
    create(running, definition(early_stopping=ASHA))
    for quality in (3.0, 2.0, 1.0):
        assert train(running, quality) == 9
    (number,) = ask(running)
    estimate = report(running, "s", number, (1, 9.0)).view.trial.estimate
    assert estimate is not None
    assert (estimate.value, estimate.std_error) == (7.0, 0.0)


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, migrated_url: str) -> Any:
    other = "other_postgresql" if migrated_url.startswith("sqlite") else "other_sqlite"
    opened = Database(request.getfixturevalue(other))
    yield opened
    opened.close()


def test_curves_are_exported_and_imported(running: Service, elsewhere: Database) -> None:
    studied(running)
    (number,) = ask(running)
    report(running, "s", number, (1, 0.5))
    release(running, "s", number)
    lines = list(json_lines(running, "s"))
    reports = [json.loads(line) for line in lines if json.loads(line)["type"] == "report"]
    places = [(each["trial"], each["attempt"], each["step"]) for each in reports]
    assert all(one < other for one, other in pairwise(places))
    table = "".join(csv_curves(running, "s")).splitlines()
    assert table[0] == "trial,attempt,step,value,reported_at"
    assert len(table) == len(reports) + 1
    import_study(elsewhere, lines)
    imported = Service(elsewhere, clock=running.clock)
    assert list(json_lines(imported, "s")) == lines
    altered = [line.replace('"type": "report", "trial": 1,', '"type": "report", "trial": 2,') for line in lines]
    with pytest.raises(Invalid, match=r"line \d+ .*the report of trial 2, attempt 1, step 1 differs from the log"):
        import_study(elsewhere, altered)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"rule": "asha", "max_steps": 1}, "must be less than max_steps"),
        ({"rule": "asha", "max_steps": 9, "eta": 1}, "greater than or equal to 2"),
        ({"rule": "patience", "max_steps": 9}, "Field required"),
        ({"rule": "hyperband", "max_steps": 9}, "'median', 'asha', 'patience'"),
        ({"rule": "asha", "max_steps": 9, "metric": "error"}, "only for studies with several objectives"),
    ],
)
def test_invalid_rule_is_rejected(rule: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        definition(early_stopping=rule)


def test_rules_that_compare_trials_need_a_model_with_standard_errors() -> None:
    with pytest.raises(ValidationError, match="use the profile auto or the rule patience"):
        definition(early_stopping=ASHA, algorithm={"profile": "paper"})
    assert definition(early_stopping=PATIENCE, algorithm={"profile": "paper"}).early_stopping is not None

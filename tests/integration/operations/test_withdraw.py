"""A trial can be withdrawn: a suggestion that somebody declines, or a queued point. It is no failure."""

from __future__ import annotations

import pytest

from adabkb_service.errors import LeaseLost, StudyComplete, TrialFinished
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    get,
    heartbeat,
    observe,
    queue,
    release,
    retry,
    suggest,
    withdraw,
)

CHOICES = [{"name": "catalyst", "kind": "categorical", "choices": ["A", "B", "C"]}]


def issue(running: Service, count: int = 1) -> list[int]:
    return [trial.number for trial in suggest(running, "s", Ask(count)).view.trials]


def test_a_declined_suggestion_keeps_its_reason_and_is_not_issued_again(running: Service) -> None:
    create(running, definition(budget=2))
    (number,) = issue(running)
    answer = withdraw(running, "s", number, "no XPhos left", attempt=1).view
    assert (answer.trial.state, answer.trial.reason) == ("withdrawn", "no XPhos left")
    assert answer.trial.finished_at is not None
    assert (answer.study.counts.withdrawn, answer.study.counts.failed) == (1, 0)
    assert issue(running, 3) == [2, 3]  # all of the budget is left
    assert replay(running, "s").diverged == []


def test_a_withdrawn_trial_is_no_failure(running: Service) -> None:
    create(running, definition(failure_limit=2))
    (failed, declined) = issue(running, 2)
    observe(running, "s", Failure(failed))
    assert withdraw(running, "s", declined).view.study.state == "running"


@pytest.mark.parametrize("profile", ["auto", "paper"])
def test_another_point_is_suggested_instead(running: Service, profile: str) -> None:
    create(running, definition(algorithm={"profile": profile}))
    for value, x in enumerate((-0.75, 0.25, 1.25, 1.75)):
        observe(running, "s", Value(float(value), parameters={"x": x, "y": 1.0}))
    (declined,) = suggest(running, "s", Ask()).view.trials
    withdraw(running, "s", declined.number)
    (other,) = suggest(running, "s", Ask()).view.trials
    assert other.parameters != declined.parameters
    assert replay(running, "s").diverged == []


def test_the_others_are_suggested_as_if_the_point_were_still_under_way(running: Service) -> None:
    """So a decline changes no later decision, and prefetched points stay valid."""
    found = []
    for name, declines in (("kept", False), ("declined", True)):
        create(running, definition(id=name))
        for value, x in enumerate((-0.75, 0.25, 1.25, 1.75)):
            observe(running, name, Value(float(value), parameters={"x": x, "y": 1.0}))
        (first,) = suggest(running, name, Ask()).view.trials
        if declines:
            withdraw(running, name, first.number)
        found.append([each.parameters for each in suggest(running, name, Ask(4)).view.trials])
    assert found[0] == found[1]


def test_a_finite_space_ends_without_the_declined_points(running: Service) -> None:
    create(running, definition(parameters=CHOICES))
    for _ in range(3):
        (number,) = issue(running)
        withdraw(running, "s", number)
    assert suggest(running, "s", Ask()).view.reason == "exhausted"


def test_a_queued_point_is_removed_once(running: Service, database: Database) -> None:
    create(running, definition())
    queued = queue(running, "s", {"x": 0.5, "y": 1.0}).view.number
    first = withdraw(running, "s", queued, "typed wrongly").view.trial
    assert withdraw(running, "s", queued, "another reason").view.trial == first
    with database.reading() as connection:
        log = [each for each in events.page(connection, "s", 0) if each.kind == "withdrawn"]
    assert [(each.trial, each.payload) for each in log] == [(queued, {"attempt": 0, "reason": "typed wrongly"})]
    assert issue(running) == [queued + 1]


def test_it_is_taken_back_by_a_retry(running: Service) -> None:
    create(running, definition())
    (number,) = issue(running)
    withdraw(running, "s", number, "no XPhos left")
    back = retry(running, "s", number).view.trial
    assert (back.state, back.reason, back.finished_at) == ("released", None, None)
    assert issue(running) == [number]
    assert replay(running, "s").diverged == []


def test_it_cannot_be_taken_back_once_others_have_the_budget(running: Service) -> None:
    create(running, definition(budget=1))
    (number,) = issue(running)
    withdraw(running, "s", number)
    (other,) = issue(running)
    with pytest.raises(StudyComplete, match="increase it to retry trial 1"):
        retry(running, "s", number)
    withdraw(running, "s", other)
    assert retry(running, "s", number).view.trial.state == "released"


def test_a_complete_study_runs_again_after_its_last_trial_was_declined(running: Service) -> None:
    create(running, definition(budget=1))
    (declined,) = issue(running)
    assert withdraw(running, "s", declined).view.study.state == "running"
    (other,) = issue(running)
    assert observe(running, "s", Value(1.0, other)).view.study.state == "complete"


def test_its_worker_has_lost_the_lease_but_its_result_is_stored(running: Service) -> None:
    create(running, definition())
    (number,) = issue(running)
    withdraw(running, "s", number)
    with pytest.raises(LeaseLost, match="Trial 1 is withdrawn"):
        heartbeat(running, "s", number, attempt=1)
    with pytest.raises(TrialFinished, match="Trial 1 is withdrawn"):
        release(running, "s", number, attempt=1)
    assert observe(running, "s", Value(1.0, number, attempt=1)).dispositions == ["late"]
    assert read.trial(running, "s", number).state == "completed"
    assert (get(running, "s").counts.withdrawn, get(running, "s").counts.completed) == (0, 1)


def test_a_trial_with_an_outcome_cannot_be_withdrawn(running: Service) -> None:
    create(running, definition())
    done, failed, held = issue(running, 3)
    observe(running, "s", Value(1.0, done))
    observe(running, "s", Failure(failed))
    for number, state in ((done, "completed"), (failed, "failed")):
        with pytest.raises(TrialFinished, match=f"Trial {number} is {state}"):
            withdraw(running, "s", number)
    release(running, "s", held)
    assert issue(running) == [held]
    with pytest.raises(LeaseLost, match="has been issued again"):
        withdraw(running, "s", held, attempt=1)

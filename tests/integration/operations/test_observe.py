"""Results are never lost, duplicated or silently replaced."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from adabkb_service.errors import Invalid, LeaseLost, ResultConflict, TrialFinished, TrialNotFound
from adabkb_service.operations import observe as observation
from adabkb_service.operations.monitoring.sweep import sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage, read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.study import owner
from adabkb_service.study.request import Key
from tests.integration.inference.held_replies import HeldReplies
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    correct,
    get,
    heartbeat,
    observe,
    queue,
    release,
    suggest,
)
from tests.waiting import TIMEOUT_SECONDS


@pytest.fixture
def trial(running: Service, study: str) -> int:
    """Issue a trial, and return its number."""
    return suggest(running, study, Ask()).view.trials[0].number


def expire_and_lease_again(running: Service, clock: ManualClock) -> None:
    clock.advance(61)
    suggest(running, "s", Ask())


def test_repeated_result_changes_nothing(running: Service, trial: int) -> None:
    first = observe(running, "s", Value(1.5, trial, std_error=0.1)).view
    assert observe(running, "s", Value(1.5, trial, std_error=0.1)).view == first


def test_conflicting_result_of_an_attempt_is_rejected_with_both_values(running: Service, trial: int) -> None:
    before = observe(running, "s", Value(1.5, trial)).view.study
    with pytest.raises(ResultConflict, match=r"1\.5.*2\.5"):
        observe(running, "s", Value(2.5, trial))
    assert get(running, "s").revision == before.revision


def test_late_first_result_completes_an_expired_trial(running: Service, trial: int, clock: ManualClock) -> None:
    clock.advance(1000)
    sweep(running)
    assert read.trial(running, "s", trial).state == "expired"
    late = observe(running, "s", Value(1.0, trial)).view.trial
    assert late is not None
    assert (late.state, late.value) == ("completed", 1.0)


def test_result_of_another_attempt_is_kept_as_a_replicate(running: Service, trial: int, clock: ManualClock) -> None:
    expire_and_lease_again(running, clock)
    observe(running, "s", Value(1.0, trial, attempt=1))
    second = observe(running, "s", Value(2.0, trial, attempt=2)).view
    assert second.trial is not None
    assert second.observation is not None
    assert (second.trial.value, second.observation.seq, second.study.counts.completed) == (1.0, 2, 1)


def test_results_do_not_wait_for_suggestions(database: Database, clock: ManualClock) -> None:
    """While a suggestion waits for the model, a result is stored and acknowledged; the suggestion still succeeds."""
    models = HeldReplies(database)
    models.is_holding = True
    running = Service(database, clock=clock, inference=models, threads=2)
    running.open()
    create(running, definition())
    trial = queue(running, "s", {"x": 0.5, "y": 1.0}).view.number
    suggest(running, "s", Ask())
    with ThreadPoolExecutor(1) as elsewhere:
        waiting = elsewhere.submit(suggest, running, "s", Ask())
        answer = observe(running, "s", Value(1.5, trial)).view
        assert (answer.study.counts.completed, answer.study.best and answer.study.best.value) == (1, 1.5)
        assert not waiting.done()
        models.is_holding = False
        for reply in models.replies:
            reply()
        (decided,) = waiting.result(TIMEOUT_SECONDS).view.trials
    assert decided.origin == "policy"
    running.close()


def test_results_do_not_wait_for_reads_of_the_study(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read waits until the model has processed the latest result. It needs no decision that results invalidate."""
    monkeypatch.setattr(owner, "HOLD_SECONDS", math.inf)
    models = HeldReplies(database)
    running = Service(database, clock=clock, inference=models, threads=2)
    running.open()
    create(running, definition())
    models.is_holding = True
    point = {"x": 0.5, "y": 1.0}
    observe(running, "s", Value(1.0, parameters=point))
    reading = running.submit(manage.get("s"))
    observe(running, "s", Value(2.0, parameters=point))  # the read is parked, if not before, then with this result
    third = running.submit(observation.observe("s", Value(3.0, parameters=point)))
    assert third.result(TIMEOUT_SECONDS).view.study.counts.observations == 3
    assert not reading.done()
    models.is_holding = False
    while models.replies:
        models.replies.pop(0)()
    assert reading.result(TIMEOUT_SECONDS).view.counts.observations == 3
    running.close()


@pytest.mark.parametrize("attempt", [0, 2])
def test_result_of_a_nonexistent_attempt_is_rejected(running: Service, trial: int, attempt: int) -> None:
    """Attempt 0 is also invalid: with it, one lease could report two different values."""
    with pytest.raises(Invalid) as refused:
        observe(running, "s", Value(1.0, trial, attempt=attempt))
    assert [error.pointer for error in refused.value.errors] == ["/attempt"]


def test_repeated_failure_changes_nothing(running: Service, trial: int) -> None:
    first = observe(running, "s", Failure(trial, reason="diverged")).view
    assert observe(running, "s", Failure(trial, reason="diverged")).view == first
    assert first.observation is None


def test_completed_trial_cannot_fail_and_failed_attempt_has_no_value(running: Service, trial: int) -> None:
    observe(running, "s", Value(1.0, trial))
    with pytest.raises(TrialFinished):
        observe(running, "s", Failure(trial))
    [other] = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Failure(other.number))
    with pytest.raises(ResultConflict):
        observe(running, "s", Value(1.0, other.number))


def test_another_attempt_of_a_failed_trial_can_still_complete_it(
    running: Service, trial: int, clock: ManualClock
) -> None:
    expire_and_lease_again(running, clock)
    observe(running, "s", Failure(trial, attempt=2))
    found = observe(running, "s", Value(3.0, trial, attempt=1)).view.trial
    assert found is not None
    assert (found.state, found.value, found.reason) == ("completed", 3.0, None)


def test_losing_a_lease_cannot_fail_a_later_attempt(running: Service, trial: int, clock: ManualClock) -> None:
    expire_and_lease_again(running, clock)
    with pytest.raises(LeaseLost):
        observe(running, "s", Failure(trial, attempt=1))
    assert read.trial(running, "s", trial).state == "active"


def test_result_is_accepted_after_all_leases_expired(running: Service, trial: int, clock: ManualClock) -> None:
    for _ in range(3):
        expire_and_lease_again(running, clock)
    assert read.trial(running, "s", trial).state == "failed"
    assert observe(running, "s", Value(1.0, trial, attempt=3)).view.study.counts.completed == 1


def test_user_supplied_result_is_an_observation_without_a_trial(running: Service, study: str) -> None:
    answer = observe(running, study, Value(1.0, parameters={"y": 1, "x": 0})).view
    assert answer.trial is None
    assert answer.observation is not None
    assert answer.observation.trial is None
    assert list(answer.observation.parameters.items()) == [("x", 0.0), ("y", 1.0)]
    assert answer.study.counts.trials == 0
    assert answer.study.best is not None


def test_reported_parameters_replace_the_suggested_ones(running: Service, trial: int) -> None:
    answer = observe(running, "s", Value(1.0, trial, parameters={"x": 1.25, "y": 2.0})).view
    assert answer.observation is not None
    assert answer.trial is not None
    assert answer.observation.parameters == {"x": 1.25, "y": 2.0}
    assert answer.trial.parameters != answer.observation.parameters


def test_correction_is_logged_and_changes_the_best(running: Service, trial: int) -> None:
    observe(running, "s", Value(-100.0, trial))
    observe(running, "s", Value(5.0, parameters={"x": 1, "y": 1}))
    corrected = correct(running, "s", 1, {"value": 7.0}, "a typo").view
    assert corrected.observation.value == 7.0
    assert corrected.study.best is not None
    assert corrected.study.best.value == 5.0
    assert read.trial(running, "s", trial).value == 7.0
    excluded = correct(running, "s", 2, {"excluded": True}).view
    assert excluded.study.best is not None
    assert excluded.study.best.value == 7.0
    [first, _] = [event for event in read.list_events(running, "s", 0, 100).items if event.kind == "corrected"]
    assert (first.payload["was"], first.payload["reason"]) == ({"value": -100.0}, "a typo")


def test_correction_without_changes_creates_no_event(running: Service, trial: int) -> None:
    before = observe(running, "s", Value(1.0, trial)).view.study.revision
    assert correct(running, "s", 1, {"value": 1.0}).view.study.revision == before


def test_heartbeats_renew_a_lease_and_revive_an_expired_one(running: Service, trial: int, clock: ManualClock) -> None:
    clock.advance(50)
    heartbeat(running, "s", trial)
    clock.advance(50)
    sweep(running)
    assert read.trial(running, "s", trial).state == "active"
    clock.advance(61)
    sweep(running)
    assert read.trial(running, "s", trial).state == "expired"
    revived = heartbeat(running, "s", trial, attempt=1).view.trial
    assert (revived.state, revived.attempt) == ("active", 1)


def test_heartbeat_of_a_lost_lease_is_rejected(running: Service, trial: int, clock: ManualClock) -> None:
    expire_and_lease_again(running, clock)
    with pytest.raises(LeaseLost):
        heartbeat(running, "s", trial, attempt=1)
    observe(running, "s", Value(1.0, trial))
    with pytest.raises(LeaseLost):
        heartbeat(running, "s", trial)


def test_repeated_release_changes_nothing(running: Service, trial: int) -> None:
    first = release(running, "s", trial, attempt=1).view
    assert first.trial.state == "released"
    assert release(running, "s", trial, attempt=1).view == first
    observe(running, "s", Value(1.0, trial))
    with pytest.raises(TrialFinished):
        release(running, "s", trial)


def test_nonexistent_trial_raises_not_found(running: Service, study: str) -> None:
    with pytest.raises(TrialNotFound):
        observe(running, study, Value(1.0, 99))


def test_repeated_result_is_recognized_after_a_correction(running: Service, trial: int) -> None:
    """A worker that repeats its request does not know of the correction, and does not undo it."""
    observe(running, "s", Value(0.25, trial))
    correct(running, "s", 1, {"value": 0.5}, "misread")
    again = observe(running, "s", Value(0.25, trial)).view
    assert again.observation is not None
    assert (again.observation.value, again.study.counts.observations) == (0.5, 1)
    with pytest.raises(ResultConflict, match=r"0\.5.*0\.75"):
        observe(running, "s", Value(0.75, trial))


def test_late_copy_of_a_correction_does_not_undo_later_ones(running: Service, trial: int) -> None:
    observe(running, "s", Value(1.0, trial))
    first = correct(running, "s", 1, {"value": 2.0}, key=Key("s", "k-1", "f"))
    correct(running, "s", 1, {"value": 3.0}, key=Key("s", "k-2", "g"))
    late = correct(running, "s", 1, {"value": 2.0}, key=Key("s", "k-1", "f"))
    assert (late.replayed, late.view) == (True, first.view)
    assert [row.value for row in read.list_observations(running, "s", 0, 10).items] == [3.0]

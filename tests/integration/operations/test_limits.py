"""Limits on run time and failures: a hanging or broken experiment does not use up the budget."""

from __future__ import annotations

import pytest

from adabkb_service.errors import LeaseLost, StudyComplete
from adabkb_service.operations.monitoring.sweep import sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.suggest import RETRY_SECONDS, RETRY_SECONDS_RARE
from adabkb_service.storage.database import Database
from adabkb_service.timeouts import Timeouts
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, change, get, heartbeat, observe, queue, suggest

ONE = Ask(1)


def kinds(running: Service) -> list[str]:
    return [event.kind for event in read.list_events(running, "s", 0, 1000).items]


def fail_next(running: Service) -> None:
    (trial,) = suggest(running, "s", ONE).view.trials
    observe(running, "s", Failure(trial.number, reason="no such file"))


def test_trial_over_its_run_time_loses_its_lease_despite_heartbeats(running: Service, clock: ManualClock) -> None:
    create(running, definition(lease_seconds=60, max_runtime_seconds=100))
    (trial,) = suggest(running, "s", ONE).view.trials
    clock.advance(50)
    held = heartbeat(running, "s", trial.number, attempt=1).view.trial
    assert held.leased_until is not None
    assert held.started_at == trial.started_at
    assert (held.leased_until - trial.created_at).total_seconds() == 100
    clock.advance(50.1)
    with pytest.raises(LeaseLost, match="max_runtime_seconds"):
        heartbeat(running, "s", trial.number, attempt=1)
    sweep(running)
    expired = read.list_events(running, "s", 0, 1000).items[-1]
    assert (expired.kind, expired.payload["cause"]) == ("expired", "max_runtime")
    with pytest.raises(LeaseLost, match="max_runtime_seconds"):
        heartbeat(running, "s", trial.number, attempt=1)
    (again,) = suggest(running, "s", ONE).view.trials
    assert (again.number, again.attempt, again.started_at) == (trial.number, 2, clock.now)
    observe(running, "s", Value(1.0, trial.number, attempt=1))
    assert get(running, "s").counts.completed == 1


def test_first_lease_is_at_most_the_run_time(running: Service, clock: ManualClock) -> None:
    create(running, definition(lease_seconds=60, max_runtime_seconds=10))
    (trial,) = suggest(running, "s", ONE).view.trials
    assert trial.leased_until is not None
    assert (trial.leased_until - clock.now).total_seconds() == 10


def test_successive_failures_pause_the_study_until_it_is_resumed(running: Service) -> None:
    create(running, definition(budget=20, failure_limit=3))
    for _ in range(3):
        fail_next(running)
    study = get(running, "s")
    assert (study.state, study.reason, study.counts.trials) == ("paused", "failures", 3)
    answer = suggest(running, "s", ONE).view
    assert (answer.trials, answer.reason) == ([], "failures")
    assert answer.retry_after == RETRY_SECONDS_RARE > RETRY_SECONDS
    (paused,) = [event for event in read.list_events(running, "s", 0, 1000).items if event.kind == "paused"]
    assert paused.payload == {"reason": "failures", "failures": 3}
    change(running, "s", {"state": "running"})
    fail_next(running)
    assert get(running, "s").state == "running"


def test_result_resets_the_failure_count(running: Service) -> None:
    create(running, definition(failure_limit=2))
    for _ in range(3):
        fail_next(running)
        (trial,) = suggest(running, "s", ONE).view.trials
        observe(running, "s", Value(1.0, trial.number))
    assert get(running, "s").state == "running"
    assert "paused" not in kinds(running)


def test_trials_whose_leases_all_expired_count_as_failures(running: Service, clock: ManualClock) -> None:
    create(running, definition(failure_limit=2, max_attempts=1))
    suggest(running, "s", Ask(2))
    clock.advance(61)
    sweep(running)
    assert get(running, "s").reason == "failures"


def test_expired_lease_at_the_failure_limit_pauses_before_points_are_issued(
    database: Database, clock: ManualClock
) -> None:
    """Also if the points need no model."""
    running = Service(database, clock=clock, timeouts=Timeouts(suggestion=0.0))
    create(running, definition(failure_limit=2, max_attempts=1))
    suggest(running, "s", Ask(2))
    clock.advance(61)
    answer = suggest(running, "s", Ask(5)).view
    assert (answer.trials, answer.reason, answer.study.state) == ([], "failures", "paused")


def test_study_paused_by_a_user_reports_it(running: Service) -> None:
    create(running, definition(failure_limit=2))
    fail_next(running)
    change(running, "s", {"state": "paused"})
    assert get(running, "s").reason == "paused"


def test_no_point_is_queued_beyond_the_budget_of_a_paused_study(running: Service) -> None:
    create(running, definition(budget=1))
    suggest(running, "s", ONE)
    change(running, "s", {"state": "paused"})
    with pytest.raises(StudyComplete, match="budget"):
        queue(running, "s", {"x": 0.5, "y": 1.0})
    assert get(running, "s").counts.trials == 1


def test_failures_without_a_limit_do_not_pause(running: Service) -> None:
    create(running, definition(failure_limit=None))
    for _ in range(12):
        fail_next(running)
    assert get(running, "s").state == "running"


def test_limits_can_be_changed(running: Service) -> None:
    create(running, definition(failure_limit=2))
    fail_next(running)
    changed = change(running, "s", {"failure_limit": 1, "max_runtime_seconds": 5.0}).view
    assert (changed.reason, changed.max_runtime_seconds) == ("failures", 5.0)

"""Clocks that jump: leases last as long as they should, and whatever the clock says, nothing is lost."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from adabkb_service.operations.doctor import examine
from adabkb_service.operations.manage import create
from adabkb_service.operations.read import trial as trial_of
from adabkb_service.operations.service import Service
from adabkb_service.operations.sweep import cut_leases, forget_keys, sweep
from adabkb_service.study import clock as clock_module
from adabkb_service.study.clock import SteadyClock
from adabkb_service.study.request import Key
from tests.operations.conftest import ManualClock, definition
from tests.operations.verbs import Ask, Value, get, heartbeat, observe, suggest

ONE = Ask(1)
HOUR = 3600.0


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_running_server_does_not_notice_that_its_clock_is_set(jump: float) -> None:
    shown = datetime(2026, 1, 1, tzinfo=UTC)
    clock = SteadyClock(lambda: shown)
    first = clock()
    assert abs(first - shown) < timedelta(seconds=HOUR / 2)
    shown += timedelta(seconds=jump)
    time.sleep(0.01)
    assert timedelta(seconds=0.01) <= clock() - first < timedelta(seconds=HOUR / 2)


def test_a_reading_that_takes_long_does_not_set_the_clock_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one waits two seconds for a connection, and shows the time at the end of that."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    passed, waits = timedelta(0), [timedelta(seconds=2)]

    def source() -> datetime:
        nonlocal passed
        passed += waits.pop() if waits else timedelta(milliseconds=1)
        return start + passed

    monkeypatch.setattr(clock_module, "_uptime", lambda: passed)
    assert abs(SteadyClock(source)() - (start + passed)) <= timedelta(milliseconds=1)


def restarted(running: Service, clock: ManualClock) -> Service:
    """A server that starts on the same database."""
    fresh = Service(running.database, clock=clock)
    cut_leases(fresh)
    sweep(fresh)
    return fresh


def test_after_a_restart_with_the_clock_set_back_a_lease_has_no_more_than_its_length_left(
    running: Service, clock: ManualClock
) -> None:
    create(running, definition(lease_seconds=60))
    (trial,) = suggest(running, "s", ONE).view.trials
    clock.advance(-HOUR)
    after = restarted(running, clock)
    left = trial_of(after, "s", trial.number).leased_until
    assert left == clock.now + timedelta(seconds=60)
    clock.advance(61)
    sweep(after)
    (again,) = suggest(after, "s", ONE).view.trials
    assert (again.number, again.attempt) == (trial.number, 2)
    observe(after, "s", Value(1.0, trial.number, attempt=1))
    assert get(after, "s").counts.completed == 1
    assert list(examine(after.database)) == []


def test_after_a_restart_with_the_clock_set_ahead_a_worker_that_lives_keeps_its_trial(
    running: Service, clock: ManualClock
) -> None:
    create(running, definition(lease_seconds=60))
    (trial,) = suggest(running, "s", ONE).view.trials
    clock.advance(HOUR)
    after = restarted(running, clock)
    assert trial_of(after, "s", trial.number).state == "expired"
    held = heartbeat(after, "s", trial.number, attempt=1).view.trial
    assert (held.state, held.leased_until) == ("active", clock.now + timedelta(seconds=60))
    observe(after, "s", Value(1.0, trial.number, attempt=1))
    assert get(after, "s").counts.completed == 1
    assert list(examine(after.database)) == []


def test_servers_whose_clocks_differ_by_an_hour_lose_nothing(running: Service, clock: ManualClock) -> None:
    """On one database, taking turns: each takes the other's leases for overdue or for very long."""
    ahead = ManualClock()
    ahead.advance(HOUR)
    other = Service(running.database, clock=ahead)
    create(running, definition(lease_seconds=5, budget=6, max_attempts=50))
    for step in range(120):
        one = (running, other)[step % 2]
        sweep(one)
        for trial in suggest(one, "s", ONE).view.trials:
            if step % 5 < 2:
                observe(one, "s", Value(float(step), trial.number, attempt=trial.attempt))
        clock.advance(1)
        ahead.advance(1)
    study = get(running, "s")
    assert (study.state, study.counts.completed, study.counts.trials) == ("complete", 6, 6)
    assert list(examine(running.database)) == []


def test_keys_are_kept_for_their_hours_and_then_forgotten(running: Service, clock: ManualClock) -> None:
    create(running, definition())
    first = suggest(running, "s", ONE, Key("s", "k", "f"))
    clock.advance(24 * HOUR - 1)
    forget_keys(running, 24, seconds_since=24 * HOUR)
    assert suggest(running, "s", ONE, Key("s", "k", "f")).view == first.view
    clock.advance(2)
    forget_keys(running, 24, seconds_since=2)
    assert not suggest(running, "s", ONE, Key("s", "k", "f")).replayed


def test_a_clock_that_is_days_ahead_forgets_no_key(running: Service, clock: ManualClock) -> None:
    """What counts is the time that has really passed: a minute lets keys age by two minutes at most."""
    create(running, definition())
    first = suggest(running, "s", ONE, Key("s", "k", "f"))
    clock.advance(72 * HOUR)
    for _ in range(60):
        forget_keys(running, 24, seconds_since=60)
    assert suggest(running, "s", ONE, Key("s", "k", "f")).view == first.view

"""Clocks that jump: servers adjust to them gradually, and nothing is lost whatever the clock shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.monitoring.sweep import clamp_leases, forget_keys, sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import trial as trial_of
from adabkb_service.study.clock import SteadyClock
from adabkb_service.study.request import Key
from tests.database_pool import address, created, drop
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, get, heartbeat, observe, suggest
from tests.servers import server_on
from tests.waiting import wait_for

ONE = Ask(1)
HOUR = 3600.0


class Uptime:
    """A monotonic clock that a test advances."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> timedelta:
        return timedelta(seconds=self.seconds)


@pytest.fixture
def uptime() -> Uptime:
    return Uptime()


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_running_server_approaches_a_changed_clock_gradually(uptime: Uptime, jump: float) -> None:
    """Time never goes back, and passes at half to twice the normal speed."""
    start, set_by = datetime(2026, 1, 1, tzinfo=UTC), 0.0

    def source() -> datetime:
        return start + timedelta(seconds=uptime.seconds + set_by)

    clock = SteadyClock(source, uptime)
    assert clock() == source()
    set_by = jump
    minutes = 60 if jump > 0 else 120
    for _ in range(minutes):
        assert clock() != source()
        shown = clock()
        clock.follow()
        assert clock() == shown
        uptime.seconds += 60
        assert 30 <= (clock() - shown).total_seconds() <= 120
    assert clock() == source() == SteadyClock(source, uptime)()
    uptime.seconds += 60
    assert clock() == source()


def test_small_clock_differences_are_ignored(uptime: Uptime) -> None:
    start, late = datetime(2026, 1, 1, tzinfo=UTC), 0.0
    clock = SteadyClock(lambda: start + timedelta(seconds=uptime.seconds + late), uptime)
    shown, late = clock(), 0.05
    clock.follow()
    uptime.seconds += 60
    assert clock() - shown == timedelta(seconds=60)


@pytest.mark.long
def test_server_follows_the_clock_of_postgresql(postgresql_server: sa.Engine) -> None:
    """The database has a separate clock, which is set ahead by 5 s."""
    name = created(postgresql_server)
    url = address(postgresql_server, name)
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")

    def set_ahead(seconds: float) -> None:
        with engine.connect() as connection:
            connection.exec_driver_sql(
                "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
                f"$$ SELECT pg_catalog.clock_timestamp() + interval '{seconds} s' $$"
            )

    with engine.connect() as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET search_path = public, pg_catalog")
    set_ahead(0)
    try:
        with server_on(url, sweep_seconds=0.05, tidy_seconds=0.1) as server, httpx.Client(base_url=server) as client:

            def ahead() -> float:
                """The minimum by which the server's clock is ahead of this machine's."""
                body = {"direction": "minimize", "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}]}
                made = client.post("/v1/studies", json=body).raise_for_status().json()["created_at"]
                return (datetime.fromisoformat(made) - datetime.now(UTC)).total_seconds()

            assert ahead() < 1
            set_ahead(5)
            wait_for(lambda: ahead() > 4)
    finally:
        engine.dispose()
        drop(postgresql_server, name)


def test_slow_reading_does_not_offset_the_clock() -> None:
    """The first reading waits 2 s for a connection, and returns the time after that."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    passed, waits = timedelta(0), [timedelta(seconds=2)]

    def source() -> datetime:
        nonlocal passed
        passed += waits.pop() if waits else timedelta(milliseconds=1)
        return start + passed

    assert abs(SteadyClock(source, lambda: passed)() - (start + passed)) <= timedelta(milliseconds=1)


def restarted(running: Service, clock: ManualClock) -> Service:
    """Start another server on the same database."""
    fresh = Service(running.database, clock=clock)
    clamp_leases(fresh)
    sweep(fresh)
    return fresh


def test_lease_keeps_its_length_after_a_restart_with_an_earlier_clock(running: Service, clock: ManualClock) -> None:
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


def test_live_worker_keeps_its_trial_after_a_restart_with_a_later_clock(running: Service, clock: ManualClock) -> None:
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


def test_servers_with_clocks_an_hour_apart_lose_nothing(running: Service, clock: ManualClock) -> None:
    """On one database, in turn: to each server, the other's leases seem overdue or very long."""
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


def test_keys_are_deleted_after_their_retention_time(running: Service, clock: ManualClock) -> None:
    create(running, definition())
    first = suggest(running, "s", ONE, Key("s", "k", "f"))
    clock.advance(24 * HOUR - 1)
    forget_keys(running, 24, seconds_since=24 * HOUR)
    assert suggest(running, "s", ONE, Key("s", "k", "f")).view == first.view
    clock.advance(2)
    forget_keys(running, 24, seconds_since=2)
    assert not suggest(running, "s", ONE, Key("s", "k", "f")).replayed


def test_several_servers_delete_keys_no_earlier_than_one(running: Service, clock: ManualClock) -> None:
    """The clock jumps ahead by a day, and each of five servers makes an attempt in each hour. In 12 hours, keys age by
    24 hours, as with one server."""
    create(running, definition())
    first = suggest(running, "s", ONE, Key("s", "k", "f"))
    clock.advance(24 * HOUR)
    for hours in range(1, 13):
        assert suggest(running, "s", ONE, Key("s", "k", "f")).view == first.view, hours
        for _ in range(5):
            clock.advance(HOUR / 5)
            forget_keys(running, 24, seconds_since=HOUR)
    assert not suggest(running, "s", ONE, Key("s", "k", "f")).replayed


def test_clock_days_ahead_deletes_no_key(running: Service, clock: ManualClock) -> None:
    """Real time counts: in one minute, keys age by two minutes at most."""
    create(running, definition())
    first = suggest(running, "s", ONE, Key("s", "k", "f"))
    clock.advance(72 * HOUR)
    for _ in range(60):
        forget_keys(running, 24, seconds_since=60)
    assert suggest(running, "s", ONE, Key("s", "k", "f")).view == first.view

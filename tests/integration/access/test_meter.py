"""Usage of users, counted in the memory of one server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from adabkb_service.access.caller import Caller
from adabkb_service.access.meter import USAGE_SECONDS, Meter
from adabkb_service.access.quotas import Quotas, check_more_bytes, check_new_study
from adabkb_service.errors import QuotaExceeded, TooManyRequests
from adabkb_service.storage.database import Database
from adabkb_service.storage.usage import Usage


class Timer:
    """A clock that a test advances."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def meter(timer: Timer) -> Meter:
    return Meter(timer)


@pytest.fixture
def database(other_sqlite: str) -> Iterator[Database]:
    with closing(Database(other_sqlite)) as opened:
        yield opened


def caller(**quotas: Any) -> Caller:
    return Caller("ann", "work", None, "t", Quotas(**quotas), payer="user ann")


def test_overdrawn_processor_time_is_limited_until_it_is_refilled(meter: Meter, timer: Timer) -> None:
    """At two seconds per second, an overdraft of 3 s ends after 1.5 s, and one second is available after 2 s."""
    ann = caller(model_seconds_per_minute=120)
    meter.charge_processor_time(ann, 123.0)
    with pytest.raises(TooManyRequests, match="User 'ann' is limited to 120 processor seconds a minute") as raised:
        meter.check_processor_quota(ann)
    assert raised.value.limit.reset == 2
    timer.now += 1.4
    with pytest.raises(TooManyRequests):
        meter.check_processor_quota(ann)
    timer.now += 0.1
    meter.check_processor_quota(ann)
    meter.charge_processor_time(Caller("bob", "work"), 1e9)


def test_retry_after_of_a_small_quota_covers_a_second_of_its_rate(meter: Meter) -> None:
    ann = caller(model_seconds_per_minute=6)
    meter.charge_processor_time(ann, 8.0)
    with pytest.raises(TooManyRequests) as raised:
        meter.set_payer(ann, "s")
    assert raised.value.limit.reset == 21  # 2 s overdrawn, and 0.1 s, at 0.1 s a second


def test_requests_are_counted_individually(meter: Meter, timer: Timer) -> None:
    ann = caller(requests_per_second=0.5)
    left = [limit.left for limit in (meter.request(ann) for _ in range(5)) if limit]
    assert left == [4, 3, 2, 1, 0]
    with pytest.raises(TooManyRequests, match=r"limited to 0\.5 requests a second") as raised:
        meter.request(ann)
    assert (raised.value.limit.window, raised.value.limit.reset) == (10, 2)
    timer.now += 2.0
    limit = meter.request(ann)
    assert limit is not None
    assert (limit.name, limit.left) == ("requests", 0)
    assert meter.request(caller(studies=1)) is None
    assert meter.request(Caller("bob", "work")) is None


def test_changed_rate_starts_a_new_window(meter: Meter) -> None:
    meter.request(caller(requests_per_second=1))
    limit = meter.request(caller(requests_per_second=2))
    assert limit is not None
    assert (limit.quota, limit.left) == (20, 19)


@pytest.mark.parametrize("who", [Caller("ann", "work"), caller(requests_per_second=1), Caller(None, "work")])
def test_storage_is_not_read_without_a_storage_quota(meter: Meter, database: Database, who: Caller) -> None:
    assert meter.spending(who) is None
    with database.reading() as connection:
        connection.close()
        meter.read_storage(connection, who)  # a read would fail on the closed connection


def test_storage_is_read_once_a_second_and_counted_in_between(meter: Meter, timer: Timer, database: Database) -> None:
    ann = caller(trials=3)
    spend = meter.spending(ann)
    assert spend is not None

    def is_read() -> bool:
        """Whether the database was read: it has no trials, so three more fit then."""
        with database.reading() as connection:
            meter.read_storage(connection, ann)
        try:
            spend(Usage(0, 3, 0), 0)()
        except QuotaExceeded:
            return False
        return True

    assert is_read()
    spend(Usage(0, 1, 0), 0)
    assert not is_read()
    timer.now += USAGE_SECONDS - 0.01
    assert not is_read()
    timer.now += 0.01
    assert is_read()


def test_charge_is_undone_unless_usage_was_read_in_between(meter: Meter, timer: Timer, database: Database) -> None:
    ann = caller(studies=9, trials=3, megabytes=1e-5)
    spend = meter.spending(ann)
    assert spend is not None
    spend(Usage(9, 9, 99), 0)()  # no usage is known yet, so nothing is refused or undone
    with database.reading() as connection:
        meter.read_storage(connection, ann)
        undo = spend(Usage(0, 2, 5), 0)
        with pytest.raises(QuotaExceeded, match="allows its user 3 trials; there are 2, and this would add 2"):
            spend(Usage(0, 2, 0), 0)
        with pytest.raises(QuotaExceeded, match="1e-05 megabytes; there are 5e-06, and this would add 6e-06"):
            spend(Usage(0, 0, 6), 0)
        undo()
        undo = spend(Usage(0, 3, 10), 0)
        timer.now += USAGE_SECONDS
        meter.read_storage(connection, ann)
    undo()
    spend(Usage(0, 3, 0), 0)
    with pytest.raises(QuotaExceeded, match="there are 3, and"):
        spend(Usage(0, 1, 0), 0)


@pytest.mark.parametrize("name", ["studies", "trials", "megabytes"])
def test_usage_may_reach_but_not_exceed_a_quota(name: str) -> None:
    """An addition of 0 is accepted even if the quota is exceeded."""
    scale = 10**6 if name == "megabytes" else 1
    quotas, unit = (
        Quotas(**{name: 2}),
        {"studies": Usage(1, 0, 0), "trials": Usage(0, 1, 0)}.get(name, Usage(0, 0, scale)),
    )
    none, one, two = Usage(0, 0, 0), unit, Usage(*(2 * each for each in unit))
    quotas.check(one, one)
    quotas.check(none, two)
    quotas.check(Usage(9, 9, 9 * scale), none)
    with pytest.raises(QuotaExceeded, match=f"allows its user 2 {name}; there are 2, and this would add 1"):
        quotas.check(two, one)


def test_new_studies_and_bytes_are_checked_against_stored_usage(database: Database) -> None:
    """The owner has nothing yet."""
    none = Quotas(requests_per_second=1)
    with database.writing() as connection:
        for user, quotas in (
            ("ann", Quotas(studies=1, megabytes=1e-5)),
            (None, Quotas(studies=0)),
            ("ann", None),
            ("ann", none),
        ):
            check_new_study(connection, user, quotas, 10)
            check_more_bytes(connection, user, quotas, 10)
        check_more_bytes(connection, "ann", Quotas(studies=0, trials=0), 10)
        for quotas, size, exceeded in ((Quotas(studies=0), 0, "studies"), (Quotas(megabytes=1e-5), 11, "megabytes")):
            with pytest.raises(QuotaExceeded, match=exceeded):
                check_new_study(connection, "ann", quotas, size)
        check_new_study(connection, "ann", Quotas(trials=0), 10)
        with pytest.raises(QuotaExceeded, match=r"1e-05 megabytes; there are 0, and this would add 1\.1e-05"):
            check_more_bytes(connection, "ann", Quotas(megabytes=1e-5), 11)

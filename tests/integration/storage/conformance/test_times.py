"""Times are stored to the microsecond and in UTC, and ordered correctly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from adabkb_service.storage import idempotency, studies, trials
from tests.integration.storage.rows import NOW, TICK, key, study, trial
from tests.integration.storage.writes import change

TIMES = {
    "microseconds": NOW,
    "a whole second": datetime(2026, 1, 1, tzinfo=UTC),
    "the last microsecond of a day": datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    "a leap day": datetime(2028, 2, 29, 12, tzinfo=UTC),
    "before the epoch": datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    "after 2038": datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    "the first year": datetime(1, 1, 2, tzinfo=UTC),
    "the last year": datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC),
}
ZONES = {
    "east": timezone(timedelta(hours=14)),
    "west": timezone(timedelta(hours=-12)),
    "minutes": timezone(timedelta(hours=5, minutes=45)),
    "seconds": timezone(timedelta(minutes=19, seconds=32)),
    "summer time": ZoneInfo("Europe/Rome"),
}


def stored(connection: sa.Connection, when: datetime) -> datetime:
    return change(connection, "s", updated_at=when).updated_at


def test_times_are_stored_to_the_microsecond(connection: sa.Connection) -> None:
    for name, when in TIMES.items():
        assert stored(connection, when) == when, name


def test_times_are_returned_in_utc(connection: sa.Connection) -> None:
    for name, zone in ZONES.items():
        found = stored(connection, NOW.astimezone(zone))
        assert (found, found.utcoffset()) == (NOW, timedelta(0)), name


def test_repeated_hour_of_a_clock_change_is_unambiguous(connection: sa.Connection) -> None:
    for fold in (0, 1):
        when = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Rome"), fold=fold)
        assert stored(connection, when) == when.astimezone(UTC)


def test_missing_time_is_returned_as_none(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1, leased_until=None, finished_at=None)])
    found = trials.get(connection, "s", 1)
    assert (found.leased_until, found.finished_at) == (None, None)


def test_times_in_other_zones_are_compared_correctly(connection: sa.Connection) -> None:
    """Overdue leases do not depend on the time zone of the clock."""
    trials.add(connection, [trial(1, leased_until=NOW)])
    for zone in ZONES.values():
        assert trials.overdue(connection, "s", NOW.astimezone(zone)) == []
        assert trials.overdue(connection, "s", (NOW + TICK).astimezone(zone)) != []


def test_times_with_any_precision_and_year_are_in_order(connection: sa.Connection) -> None:
    names = sorted(TIMES, key=lambda name: TIMES[name])
    idempotency.add(connection, [key(name, created_at=when) for name, when in TIMES.items()])
    found = idempotency.outdated(connection, datetime(9999, 12, 31, tzinfo=UTC), 100)
    assert [name for _, name in found] == names
    assert idempotency.oldest(connection) == TIMES[names[0]]


def test_studies_a_microsecond_apart_are_in_order(connection: sa.Connection) -> None:
    for index, name in enumerate(["b", "c", "a"]):
        studies.create(connection, study(name, created_at=NOW + (index + 1) * TICK))
    assert [row.id for row in studies.bounded_page(connection, None, 3).rows] == ["a", "c", "b"]

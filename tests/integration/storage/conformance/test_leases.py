"""Queries of leases: expired ones, and those that are longer than allowed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import get_args

import sqlalchemy as sa

from adabkb_service.storage import studies, trials
from adabkb_service.storage.rows import TrialRow, TrialState
from tests.integration.storage.rows import NOW, TICK, study, trial

STATES: tuple[TrialState, ...] = get_args(TrialState)
SECOND = timedelta(seconds=1)


def overdue(connection: sa.Connection, now: datetime = NOW) -> list[int]:
    return [row.number for row in trials.overdue(connection, "s", now)]


def in_all_states(leased_until: datetime, but: TrialState) -> list[TrialRow]:
    """Return a trial in every state except one."""
    states = [state for state in STATES if state != but]
    return [trial(number, state=state, leased_until=leased_until) for number, state in enumerate(states)]


def beyond(connection: sa.Connection, now: datetime = NOW) -> list[int]:
    return sorted(row.number for row in trials.leased_beyond(connection, now))


def test_lease_expires_after_its_last_moment(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1, leased_until=NOW)])
    for now in (NOW - TICK, NOW):
        assert (overdue(connection, now), trials.studies_with_overdue(connection, now)) == ([], [])
    assert overdue(connection, NOW + TICK) == [1]
    assert trials.studies_with_overdue(connection, NOW + TICK) == ["s"]


def test_only_active_trials_are_overdue(connection: sa.Connection) -> None:
    trials.add(connection, in_all_states(leased_until=NOW - SECOND, but="active"))
    assert (overdue(connection), trials.studies_with_overdue(connection, NOW)) == ([], [])
    assert trials.next_expiry(connection, "s") is None
    trials.add(connection, [trial(99, leased_until=NOW - SECOND)])
    assert (overdue(connection), trials.studies_with_overdue(connection, NOW)) == ([99], ["s"])
    assert trials.next_expiry(connection, "s") == NOW - SECOND


def test_next_expiry_is_the_earliest_of_the_study(
    connection: sa.Connection,
) -> None:
    studies.create(connection, study("S"))
    assert trials.next_expiry(connection, "s") is None
    ends = {1: NOW + SECOND, 2: NOW + TICK, 3: None, 4: NOW + 2 * SECOND}
    trials.add(connection, [trial(number, leased_until=end) for number, end in ends.items()])
    trials.add(connection, [trial(1, "S", leased_until=NOW - SECOND)])
    assert trials.next_expiry(connection, "s") == NOW + TICK
    trials.change(connection, [trial(2, leased_until=NOW - 2 * SECOND)])
    assert trials.next_expiry(connection, "s") == NOW - 2 * SECOND
    assert trials.next_expiry(connection, "nobody") is None


def test_trial_without_a_lease_is_never_overdue(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1, leased_until=None)])
    assert overdue(connection) == []
    assert trials.studies_with_overdue(connection, NOW) == []


def test_new_study_has_no_overdue_trials(connection: sa.Connection) -> None:
    assert overdue(connection) == []
    assert trials.studies_with_overdue(connection, NOW) == []
    assert beyond(connection) == []


def test_overdue_trials_are_ordered_by_number(connection: sa.Connection) -> None:
    ago = {3: 1, 1: 2, 4: 3, 2: 4}
    trials.add(connection, [trial(number, leased_until=NOW - many * SECOND) for number, many in ago.items()])
    assert overdue(connection) == [1, 2, 3, 4]


def test_overdue_trials_are_complete_rows(connection: sa.Connection) -> None:
    row = trial(1, leased_until=NOW - SECOND)
    trials.add(connection, [row])
    assert trials.overdue(connection, "s", NOW) == [row]


def test_overdue_trials_belong_to_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name, leased_until=NOW - SECOND)])
    assert overdue(connection) == []


def test_study_with_many_overdue_trials_is_listed_once(connection: sa.Connection) -> None:
    for name in ("t", "S", "none"):
        studies.create(connection, study(name))
    for name in ("s", "t", "S"):
        trials.add(connection, [trial(number, name, leased_until=NOW - number * SECOND) for number in range(1, 4)])
    trials.add(connection, [trial(1, "none", leased_until=NOW + SECOND)])
    assert sorted(trials.studies_with_overdue(connection, NOW)) == ["S", "s", "t"]


def test_lease_may_not_exceed_its_length(connection: sa.Connection) -> None:
    left = {1: -SECOND, 2: 60 * SECOND, 3: 60 * SECOND + TICK}
    rows = [trial(number, lease_seconds=60.0, leased_until=NOW + each) for number, each in left.items()]
    trials.add(connection, rows)
    assert beyond(connection) == [3]


def test_each_lease_has_its_own_length(connection: sa.Connection) -> None:
    trials.add(
        connection,
        [trial(number, lease_seconds=length, leased_until=NOW + 90 * SECOND) for number, length in ((1, 60), (2, 120))],
    )
    assert beyond(connection) == [1]


def test_only_active_trials_have_too_long_leases(connection: sa.Connection) -> None:
    trials.add(connection, in_all_states(leased_until=NOW + timedelta(days=1), but="active"))
    assert beyond(connection) == []
    trials.add(connection, [trial(99, leased_until=NOW + timedelta(days=1))])
    assert beyond(connection) == [99]


def test_too_long_leases_are_found_in_all_studies(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    trials.add(connection, [trial(1, name, leased_until=NOW + timedelta(days=1)) for name in ("s", "t")])
    assert sorted(row.study_id for row in trials.leased_beyond(connection, NOW)) == ["s", "t"]

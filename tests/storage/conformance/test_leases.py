"""Queries of leases: those that have run out, and those that last longer than they may."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import get_args

import pytest
import sqlalchemy as sa

from adabkb_service.storage import studies, trials
from adabkb_service.storage.rows import TrialState
from tests.storage.rows import NOW, TICK, study, trial

STATES: tuple[TrialState, ...] = get_args(TrialState)
SECOND = timedelta(seconds=1)


def overdue(connection: sa.Connection, now: datetime = NOW) -> list[int]:
    return [row.number for row in trials.overdue(connection, "s", now)]


def beyond(connection: sa.Connection, now: datetime = NOW) -> list[int]:
    return sorted(row.number for row in trials.leased_beyond(connection, now))


@pytest.mark.parametrize(("now", "found"), [(NOW - TICK, []), (NOW, []), (NOW + TICK, [1])])
def test_a_lease_has_run_out_after_its_last_moment_and_not_at_it(
    connection: sa.Connection, now: datetime, found: list[int]
) -> None:
    trials.add(connection, [trial(1, leased_until=NOW)])
    assert overdue(connection, now) == found
    assert trials.studies_with_overdue(connection, now) == (["s"] if found else [])


@pytest.mark.parametrize("state", STATES)
def test_only_active_trials_are_overdue(connection: sa.Connection, state: TrialState) -> None:
    trials.add(connection, [trial(1, state=state, leased_until=NOW - SECOND)])
    assert overdue(connection) == ([1] if state == "active" else [])
    assert trials.studies_with_overdue(connection, NOW) == (["s"] if state == "active" else [])


def test_a_trial_without_a_lease_is_never_overdue(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1, leased_until=None)])
    assert overdue(connection) == []
    assert trials.studies_with_overdue(connection, NOW) == []


def test_of_a_new_study_nothing_is_overdue(connection: sa.Connection) -> None:
    assert overdue(connection) == []
    assert trials.studies_with_overdue(connection, NOW) == []
    assert beyond(connection) == []


def test_overdue_trials_are_in_order_of_number_whenever_their_leases_ran_out(connection: sa.Connection) -> None:
    ago = {3: 1, 1: 2, 4: 3, 2: 4}
    trials.add(connection, [trial(number, leased_until=NOW - many * SECOND) for number, many in ago.items()])
    assert overdue(connection) == [1, 2, 3, 4]


def test_overdue_trials_are_whole_rows(connection: sa.Connection) -> None:
    row = trial(1, leased_until=NOW - SECOND)
    trials.add(connection, [row])
    assert trials.overdue(connection, "s", NOW) == [row]


def test_overdue_trials_are_of_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name, leased_until=NOW - SECOND)])
    assert overdue(connection) == []


def test_a_study_with_many_overdue_trials_is_named_once(connection: sa.Connection) -> None:
    for name in ("t", "S", "none"):
        studies.create(connection, study(name))
    for name in ("s", "t", "S"):
        trials.add(connection, [trial(number, name, leased_until=NOW - number * SECOND) for number in range(1, 4)])
    trials.add(connection, [trial(1, "none", leased_until=NOW + SECOND)])
    assert sorted(trials.studies_with_overdue(connection, NOW)) == ["S", "s", "t"]


@pytest.mark.parametrize(("left", "found"), [(-SECOND, []), (60 * SECOND, []), (60 * SECOND + TICK, [1])])
def test_a_lease_may_last_as_long_as_it_is_and_no_longer(
    connection: sa.Connection, left: timedelta, found: list[int]
) -> None:
    trials.add(connection, [trial(1, lease_seconds=60.0, leased_until=NOW + left)])
    assert beyond(connection) == found


def test_each_lease_has_its_own_length(connection: sa.Connection) -> None:
    trials.add(
        connection,
        [trial(number, lease_seconds=length, leased_until=NOW + 90 * SECOND) for number, length in ((1, 60), (2, 120))],
    )
    assert beyond(connection) == [1]


@pytest.mark.parametrize("state", STATES)
def test_only_active_trials_last_too_long(connection: sa.Connection, state: TrialState) -> None:
    trials.add(connection, [trial(1, state=state, leased_until=NOW + timedelta(days=1))])
    assert beyond(connection) == ([1] if state == "active" else [])


def test_leases_that_last_too_long_are_of_all_studies(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    trials.add(connection, [trial(1, name, leased_until=NOW + timedelta(days=1)) for name in ("s", "t")])
    assert sorted(row.study_id for row in trials.leased_beyond(connection, NOW)) == ["s", "t"]

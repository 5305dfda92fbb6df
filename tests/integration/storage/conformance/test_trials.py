"""Queries of trials: by number, waiting ones, and pages."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import pytest
import sqlalchemy as sa

from adabkb_service.errors import TrialNotFound
from adabkb_service.storage import studies, trials
from adabkb_service.storage.rows import TrialRow, TrialState
from tests.integration.storage.rows import NOW, study, trial

STATES: tuple[TrialState, ...] = get_args(TrialState)
WAITING = {"released", "expired", "queued"}


def numbers(rows: list[TrialRow]) -> list[int]:
    return [row.number for row in rows]


def test_missing_trial_raises_not_found(connection: sa.Connection) -> None:
    with pytest.raises(TrialNotFound, match="7"):
        trials.get(connection, "s", 7)


def test_get_returns_the_trial_with_that_number(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1), trial(2, worker="v"), trial(3)])
    assert trials.get(connection, "s", 2) == trial(2, worker="v")


def test_get_does_not_return_another_studys_trial(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name)])
    with pytest.raises(TrialNotFound):
        trials.get(connection, "s", 1)


def test_change_updates_all_changeable_columns(connection: sa.Connection) -> None:
    """Several rows at once, each with all columns changed."""
    trials.add(connection, [trial(number) for number in range(1, len(STATES) + 2)])
    rows = [
        trial(
            number,
            state=state,
            worker=None,
            attempt=4,
            expirations=2,
            lease_seconds=5.5,
            leased_until=None,
            value=0.25,
            failed_attempt=3,
            reason="why",
            finished_at=NOW + timedelta(hours=number),
            started_at=NOW + timedelta(minutes=number),
        )
        for number, state in enumerate(STATES, start=1)
    ]
    trials.change(connection, rows)
    untouched = trial(len(STATES) + 1)
    assert trials.page(connection, "s", state=None, after=0, limit=10) == [*rows, untouched]


def test_change_keeps_immutable_columns(connection: sa.Connection) -> None:
    """The point, the cell and the time of creation."""
    trials.add(connection, [trial(1)])
    trials.change(connection, [trial(1, parameters={}, cell="9", created_at=NOW + timedelta(1))])
    assert trials.get(connection, "s", 1) == trial(1)


def test_change_affects_one_trial_of_one_study(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    trials.add(connection, [trial(1), trial(2), trial(1, "t")])
    trials.change(connection, [trial(1, state="failed")])
    assert trials.get(connection, "s", 2) == trial(2)
    assert trials.get(connection, "t", 1) == trial(1, "t")


def test_change_of_a_missing_row_adds_nothing(connection: sa.Connection) -> None:
    trials.change(connection, [trial(1)])
    assert trials.page(connection, "s", state=None, after=0, limit=10) == []


def test_new_study_has_no_waiting_trials(connection: sa.Connection) -> None:
    assert trials.waiting(connection, "s", 10) == []


def test_queued_released_and_expired_trials_are_waiting(connection: sa.Connection) -> None:
    trials.add(connection, [trial(number, state=state) for number, state in enumerate(STATES)])
    assert {row.state for row in trials.waiting(connection, "s", 10)} == WAITING


def test_waiting_trials_are_ordered_by_number(connection: sa.Connection) -> None:
    """In any order of insertion."""
    states = {9: "expired", 1: "queued", 5: "released", 3: "expired", 8: "queued", 2: "active"}
    trials.add(connection, [trial(number, state=state) for number, state in states.items()])
    assert numbers(trials.waiting(connection, "s", 10)) == [1, 3, 5, 8, 9]


def test_waiting_returns_the_first_trials_up_to_the_limit(connection: sa.Connection) -> None:
    states = {1: "released", 2: "queued", 3: "expired"}
    trials.add(connection, [trial(number, state=state) for number, state in states.items()])
    for limit in (1, 2, 3, 4):
        assert numbers(trials.waiting(connection, "s", limit)) == [1, 2, 3][:limit]


def test_waiting_trials_belong_to_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name, state="queued")])
    assert trials.waiting(connection, "s", 10) == []


def test_waiting_returns_complete_rows(connection: sa.Connection) -> None:
    row = trial(1, state="released", leased_until=None, worker=None)
    trials.add(connection, [row])
    assert trials.waiting(connection, "s", 10) == [row]


def test_page_can_be_restricted_to_a_state(connection: sa.Connection) -> None:
    trials.add(connection, [trial(number, state=other) for number, other in enumerate(STATES, start=1)])
    for state in STATES:
        of_state = trials.page(connection, "s", state=state, after=0, limit=10)
        assert [row.state for row in of_state] == [state]
    assert numbers(trials.page(connection, "s", state=None, after=0, limit=10)) == list(range(1, len(STATES) + 1))


def test_page_of_an_unused_state_is_empty(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1), trial(2)])
    assert trials.page(connection, "s", state="failed", after=0, limit=10) == []

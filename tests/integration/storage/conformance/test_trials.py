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


def test_getting_a_missing_row_says_so(connection: sa.Connection) -> None:
    with pytest.raises(TrialNotFound, match="7"):
        trials.get(connection, "s", 7)


def test_getting_gives_the_trial_of_that_number(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1), trial(2, worker="v"), trial(3)])
    assert trials.get(connection, "s", 2) == trial(2, worker="v")


def test_getting_does_not_give_another_studys_trial(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name)])
    with pytest.raises(TrialNotFound):
        trials.get(connection, "s", 1)


def test_a_change_brings_rows_up_to_date(connection: sa.Connection) -> None:
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


def test_a_change_leaves_alone_what_a_trial_is(connection: sa.Connection) -> None:
    """The point, the origin and the time of creation."""
    trials.add(connection, [trial(1)])
    trials.change(connection, [trial(1, parameters={}, origin="queued", cell="9", created_at=NOW + timedelta(1))])
    assert trials.get(connection, "s", 1) == trial(1)


def test_a_change_concerns_one_trial_of_one_study(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    trials.add(connection, [trial(1), trial(2), trial(1, "t")])
    trials.change(connection, [trial(1, state="failed")])
    assert trials.get(connection, "s", 2) == trial(2)
    assert trials.get(connection, "t", 1) == trial(1, "t")


def test_a_change_of_a_missing_row_adds_nothing(connection: sa.Connection) -> None:
    trials.change(connection, [trial(1)])
    assert trials.page(connection, "s", state=None, after=0, limit=10) == []


def test_of_a_new_study_nothing_is_claimable(connection: sa.Connection) -> None:
    assert trials.claimable(connection, "s", 10) == []


def test_claimable_is_what_waits_for_a_worker(connection: sa.Connection) -> None:
    trials.add(connection, [trial(number, state=state) for number, state in enumerate(STATES)])
    assert {row.state for row in trials.claimable(connection, "s", 10)} == WAITING


def test_claimable_is_in_order_of_number_whatever_the_state(connection: sa.Connection) -> None:
    """In any order of insertion."""
    states = {9: "expired", 1: "queued", 5: "released", 3: "expired", 8: "queued", 2: "active"}
    trials.add(connection, [trial(number, state=state) for number, state in states.items()])
    assert numbers(trials.claimable(connection, "s", 10)) == [1, 3, 5, 8, 9]


def test_claimable_has_the_first_ones_up_to_the_limit(connection: sa.Connection) -> None:
    states = {1: "released", 2: "queued", 3: "expired"}
    trials.add(connection, [trial(number, state=state) for number, state in states.items()])
    for limit in (1, 2, 3, 4):
        assert numbers(trials.claimable(connection, "s", limit)) == [1, 2, 3][:limit]


def test_claimable_is_of_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name, state="queued")])
    assert trials.claimable(connection, "s", 10) == []


def test_claimable_returns_complete_rows(connection: sa.Connection) -> None:
    row = trial(1, state="released", leased_until=None, worker=None)
    trials.add(connection, [row])
    assert trials.claimable(connection, "s", 10) == [row]


def test_a_page_has_the_trials_of_a_state_or_of_all(connection: sa.Connection) -> None:
    trials.add(connection, [trial(number, state=other) for number, other in enumerate(STATES, start=1)])
    for state in STATES:
        of_state = trials.page(connection, "s", state=state, after=0, limit=10)
        assert [row.state for row in of_state] == [state]
    assert numbers(trials.page(connection, "s", state=None, after=0, limit=10)) == list(range(1, len(STATES) + 1))


def test_a_page_of_a_state_that_no_trial_is_in_is_empty(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1), trial(2)])
    assert trials.page(connection, "s", state="failed", after=0, limit=10) == []

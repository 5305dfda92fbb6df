"""Queries of the log."""

from __future__ import annotations

from typing import get_args

import sqlalchemy as sa

from adabkb_service.storage import events, studies
from adabkb_service.storage.rows import EventKind, EventRow
from tests.integration.storage.rows import event, study


def seqs(rows: list[EventRow]) -> list[int]:
    return [row.seq for row in rows]


def test_log_of_a_new_study_is_empty(connection: sa.Connection) -> None:
    assert events.page(connection, "s", 0) == []
    assert events.of_trial(connection, "s", 1) == []


def test_log_is_ordered_by_number(connection: sa.Connection) -> None:
    events.add(connection, [event(3), event(1)])
    events.add(connection, [event(2)])
    assert seqs(events.page(connection, "s", 0)) == [1, 2, 3]


def test_log_without_a_limit_is_complete(connection: sa.Connection) -> None:
    events.add(connection, [event(seq) for seq in range(1, 2501)])
    assert seqs(events.page(connection, "s", 0)) == list(range(1, 2501))


def test_page_starts_after_the_given_event(connection: sa.Connection) -> None:
    events.add(connection, [event(seq) for seq in range(1, 6)])
    assert seqs(events.page(connection, "s", 3)) == [4, 5]
    assert seqs(events.page(connection, "s", 1, 2)) == [2, 3]


def test_every_kind_of_event_is_stored(connection: sa.Connection) -> None:
    written = [event(seq, kind=kind) for seq, kind in enumerate(get_args(EventKind), start=1)]
    events.add(connection, written)
    assert events.page(connection, "s", 0) == written


def test_log_belongs_to_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        events.add(connection, [event(1, name, trial=1)])
    assert events.page(connection, "s", 0) == []
    assert events.of_trial(connection, "s", 1) == []


def test_trial_can_have_any_number_of_events_in_order(connection: sa.Connection) -> None:
    owners = {5: 3, 2: 2, 4: 3, 1: 3, 3: None}
    events.add(connection, [event(seq, trial=owner) for seq, owner in owners.items()])
    assert [seqs(events.of_trial(connection, "s", number)) for number in (1, 2, 3)] == [[], [2], [1, 4, 5]]

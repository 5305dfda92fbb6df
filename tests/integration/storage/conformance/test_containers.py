"""Containers: writers, holds, and removal of content in small parts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention
from adabkb_service.storage import containers, removal, studies, trials
from adabkb_service.storage.container_writer import container_writer
from adabkb_service.storage.containers import HOLD
from adabkb_service.storage.database import Database
from adabkb_service.storage.pace import Pace
from adabkb_service.storage.rows import TrialRow
from tests.integration.storage.conformance.test_references import BELOW, fill, rows
from tests.integration.storage.rows import NOW, TICK, study, trial
from tests.samples import some

FIRST, SECOND = "1" * 32, "2" * 32
"""Writers."""


def test_id_can_be_used_once(connection: sa.Connection) -> None:
    """By a study, or by content that is being written or removed."""
    containers.begin(connection, "new", FIRST, NOW)
    for name in ("s", "new"):
        with pytest.raises(Contention, match=name):
            containers.begin(connection, name, SECOND, NOW)
        with pytest.raises(Contention, match=name):
            studies.create(connection, study(name))


def test_container_is_removable_once_its_hold_has_expired(connection: sa.Connection) -> None:
    containers.begin(connection, "new", FIRST, NOW)
    assert containers.removable(connection, NOW + HOLD - TICK, 9) == []
    assert not containers.take_over(connection, "new", SECOND, NOW + HOLD - TICK)
    containers.extend(connection, "new", FIRST, NOW + TICK)
    assert not containers.take_over(connection, "new", SECOND, NOW + HOLD)
    assert containers.removable(connection, NOW + HOLD + TICK, 9) == ["new"]
    assert containers.take_over(connection, "new", SECOND, NOW + HOLD + TICK)
    assert not containers.take_over(connection, "new", FIRST, NOW + HOLD + TICK)


def test_writer_whose_hold_expired_is_refused(connection: sa.Connection) -> None:
    containers.begin(connection, "new", FIRST, NOW)
    assert containers.take_over(connection, "new", SECOND, NOW + HOLD)
    with pytest.raises(Contention):
        containers.extend(connection, "new", FIRST, NOW)
    with pytest.raises(Contention):
        containers.put_into_use(connection, "new", FIRST)
    containers.give_up(connection, "new", FIRST)
    assert containers.removable(connection, NOW + HOLD, 9) == [], "it belongs to the other writer"
    containers.give_up(connection, "new", SECOND)
    assert containers.removable(connection, NOW, 9) == ["new"]


def test_container_of_a_study_is_never_removable(connection: sa.Connection) -> None:
    containers.begin(connection, "new", FIRST, NOW)
    containers.put_into_use(connection, "new", FIRST)
    studies.add(connection, study("new"))
    assert containers.removable(connection, NOW + 100 * HOLD, 9) == []
    assert not containers.take_over(connection, "new", SECOND, NOW + 100 * HOLD)


def test_container_of_a_study_cannot_be_deleted(database: Database) -> None:
    with pytest.raises(Contention), database.writing() as connection:
        containers.remove(connection, "s")
    with database.reading() as connection:
        assert studies.ids(connection) == ["s"]


@pytest.mark.parametrize("limit", some([1, 2, 3, 100], [2, 100]))
def test_removal_deletes_all_tables_in_small_steps(connection: sa.Connection, limit: int) -> None:
    """Other studies are not changed."""
    before = rows(connection)
    for name in ("removed", "other"):
        studies.create(connection, study(name))
        fill(connection, name)
        trials.add(connection, [trial(number, name) for number in range(2, 6)])
    studies.remove(connection, "removed", FIRST, NOW)
    place: removal.Place | None = removal.START
    while place is not None:
        left = sum(rows(connection).values())
        place = removal.remove_some(connection, "removed", place, limit)
        assert left - sum(rows(connection).values()) <= limit + (place is None), "the container row is deleted last"
    after = rows(connection)
    assert all(after[table] > before[table] for table in BELOW), "otherwise the other study has lost rows"
    assert studies.ids(connection) == ["other", "s"]
    studies.create(connection, study("removed"))
    assert rows(connection)["trials"] == after["trials"]


def test_partly_written_study_is_never_visible(database: Database) -> None:
    """A study written in one or in several transactions is not visible until the last one."""
    for name, first in (("small", 10), ("large", 2)):
        with container_writer(database, name, lambda: NOW, Pace(first, first)) as container:
            container.add(trials.add, [trial(number, name) for number in range(1, 6)])
            with database.reading() as connection:
                written = [row.number for row in trials.page(connection, name, state=None, after=0, limit=9)]
            assert written == list(range(1, len(written) + 1))
            assert len(written) in ({0} if name == "small" else {2, 3, 4})  # fewer rows if a transaction took long
            with container.last_transaction() as connection:
                studies.add(connection, study(name))
        with database.reading() as connection:
            assert len(trials.page(connection, name, state=None, after=0, limit=9)) == 5
            assert containers.removable(connection, NOW + 2 * HOLD, 9) == []


def test_large_rows_are_written_in_transactions_of_their_own(database: Database) -> None:
    """Otherwise a hundred files of 2 MB would keep other writers waiting for seconds."""
    written: list[int] = []

    def write(connection: sa.Connection, rows: Sequence[TrialRow]) -> None:
        written.append(len(rows))
        trials.add(connection, rows)

    with container_writer(database, "large", lambda: NOW, Pace(10, 10)) as container:
        container.add(write, [trial(number, "large") for number in range(1, 5)], lambda _: 1000)
        with container.last_transaction() as connection:
            studies.add(connection, study("large"))
    assert written == [1, 1, 1, 1]


def test_failed_filling_is_immediately_removable(database: Database) -> None:
    broken = (trial(12 // number, "new") for number in (3, 2, 1, 0))
    with pytest.raises(ZeroDivisionError), container_writer(database, "new", lambda: NOW, Pace(1, 1)) as container:
        container.add(trials.add, broken)
    with database.reading() as connection:
        assert containers.removable(connection, NOW, 9) == ["new"]
    removal.remove_abandoned(database, "new", lambda: NOW, 60)
    with database.reading() as connection:
        assert containers.removable(connection, NOW + 2 * HOLD, 9) == []
        assert trials.page(connection, "new", state=None, after=0, limit=9) == []

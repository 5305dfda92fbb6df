"""Transactions: atomic, visible to others only after the commit, and with serialized writers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention, StudyNotFound
from adabkb_service.storage import events, idempotency, observations, studies, trials
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow
from tests.integration.storage.rows import event, key, observation, study, trial
from tests.integration.storage.writes import change, delete_study, lock, write_when_current


class Interrupted(Exception):
    """An error in the middle of a transaction."""


def pending_limit(database: Database) -> int | None:
    with database.reading() as connection:
        return studies.get(connection, "s").pending_limit


def test_writes_of_a_block_are_committed(database: Database) -> None:
    with database.writing() as connection:
        change(connection, "s", pending_limit=5)
    assert pending_limit(database) == 5


def test_block_that_raises_writes_nothing_to_any_table(database: Database) -> None:
    def write_and_fail() -> None:
        with database.writing() as connection:
            studies.create(connection, study("t"))
            change(connection, "s", pending_limit=5)
            trials.add(connection, [trial(1)])
            observations.add(connection, [observation(1, trial=1)])
            events.add(connection, [event(1)])
            idempotency.add(connection, [key("k")])
            raise Interrupted

    with pytest.raises(Interrupted):
        write_and_fail()
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s")
        assert studies.ids(connection) == ["s"]
        assert trials.page(connection, "s", state=None, after=0, limit=10) == []
        assert observations.page(connection, "s", 0, 10) == []
        assert events.page(connection, "s", 0) == []
        assert idempotency.of_study(connection, "s") == []


def test_collision_rolls_back_earlier_writes(database: Database) -> None:
    def write_and_collide() -> None:
        with database.writing() as connection:
            change(connection, "s", pending_limit=5)
            events.add(connection, [event(1), event(1)])

    with pytest.raises(Contention):
        write_and_collide()
    assert pending_limit(database) is None


def test_block_after_one_that_raised_starts_a_new_transaction(migrated_url: str, database: Database) -> None:
    """On the same connection, since there is only one."""
    alone = Database(migrated_url, connections=1)
    with pytest.raises(Contention), alone.writing() as connection:
        studies.create(connection, study("s"))
    with alone.writing() as connection:
        change(connection, "s", pending_limit=5)
    alone.close()
    assert pending_limit(database) == 5


def test_transaction_reads_its_own_writes(database: Database) -> None:
    with database.writing() as connection:
        change(connection, "s", pending_limit=5)
        assert studies.get(connection, "s").pending_limit == 5


def test_uncommitted_writes_are_invisible_to_others(database: Database) -> None:
    with database.writing() as connection:
        change(connection, "s", pending_limit=5)
        assert pending_limit(database) is None
    assert pending_limit(database) == 5


def test_reading_transaction_writes_nothing(database: Database) -> None:
    with database.reading() as connection:
        change(connection, "s", pending_limit=5)
    assert pending_limit(database) is None


def test_reader_sees_one_state_while_others_write(database: Database) -> None:
    with database.reading() as connection:
        before = studies.get(connection, "s")
        with database.writing() as other:
            change(other, "s", pending_limit=5)
        assert studies.get(connection, "s") == before


def test_reader_sees_one_state_of_all_tables(database: Database) -> None:
    """Including tables that it first reads after others have written."""
    with database.reading() as connection:
        assert studies.get(connection, "s").study_seq == 0
        with database.writing() as other:
            change(other, "s", study_seq=1)
            events.add(other, [event(1)])
        assert events.page(connection, "s", 0) == []


def test_snapshot_survives_the_deletion_of_its_study(database: Database) -> None:
    with database.reading() as connection:
        before = studies.get(connection, "s")
        with database.writing() as other:
            delete_study(other, "s")
        assert studies.get(connection, "s") == before
    with database.reading() as connection, pytest.raises(StudyNotFound):
        studies.get(connection, "s")


def test_nested_reader_sees_commits_in_between(database: Database) -> None:
    with database.reading() as outer:
        studies.get(outer, "s")
        with database.writing() as connection:
            change(connection, "s", pending_limit=5)
        with database.reading() as inner:
            assert studies.get(inner, "s").pending_limit == 5
        assert studies.get(outer, "s").pending_limit is None


def test_writer_sees_the_latest_commit_after_a_reader_on_the_same_connection(
    migrated_url: str, database: Database
) -> None:
    """The next transaction does not get the reader's snapshot."""
    alone = Database(migrated_url, connections=1)
    with alone.reading() as connection:
        studies.get(connection, "s")
    with database.writing() as connection:
        change(connection, "s", pending_limit=5)
    with alone.writing() as connection:
        lock(connection, "s")
        assert studies.get(connection, "s").pending_limit == 5
    alone.close()


def test_no_concurrent_update_is_lost(database: Database) -> None:
    def increment(connection: sa.Connection, before: StudyRow) -> bool:
        values = {"pending_limit": (before.pending_limit or 0) + 1, "study_seq": before.study_seq + 1}
        if not studies.commit_if_unchanged(connection, before, **values):
            return False
        events.add(connection, [event(before.study_seq + 1)])
        return True

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: write_when_current(database, increment), range(80)))
    assert pending_limit(database) == 80
    with database.reading() as connection:
        assert studies.get(connection, "s").version == 80
        assert [event.seq for event in events.page(connection, "s", 0)] == list(range(1, 81))


def test_only_one_of_many_concurrent_writers_succeeds(database: Database) -> None:
    with database.reading() as connection:
        before = studies.get(connection, "s")

    def write(seed: int) -> bool:
        with database.writing() as connection:
            return studies.commit_if_unchanged(connection, before, seed=seed)

    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(write, range(8)))
    assert written.count(True) == 1
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s", seed=written.index(True), version=1)


def test_readers_never_see_half_of_a_transaction(database: Database) -> None:
    """Writers keep study_seq and model_seq equal, and readers always find them equal."""

    def write(connection: sa.Connection, before: StudyRow) -> bool:
        following = before.study_seq + 1
        if not studies.commit_if_unchanged(connection, before, study_seq=following):
            return False
        studies.save_model(connection, "s", before.incarnation, model_seq=following, checkpoint=None)
        return True

    def is_whole(_: int) -> bool:
        with database.reading() as connection:
            row = studies.get(connection, "s")
        return row.study_seq == row.model_seq

    with ThreadPoolExecutor(4) as writers, ThreadPoolExecutor(4) as readers:
        writing = writers.map(lambda _: write_when_current(database, write), range(40))
        assert all(readers.map(is_whole, range(80)))
        list(writing)


def test_only_one_of_many_concurrent_creations_succeeds(database: Database) -> None:
    def create(seed: int) -> bool:
        try:
            with database.writing() as connection:
                studies.create(connection, study("t", seed=seed))
        except Contention:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(create, range(8)))
    assert created.count(True) == 1
    with database.reading() as connection:
        assert studies.get(connection, "t").seed == created.index(True)

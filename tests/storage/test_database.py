"""Transactions: all or nothing, one writer after the other, durable."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Busy, Collision, StudyNotFound, Unavailable
from adabkb_service.storage import events, idempotency, migration, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import KeyRow, StudyRow
from adabkb_service.storage.tables import metadata

NOW = datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """With one study."""
    opened = Database(database_url)
    migration.upgrade(opened)
    with opened.writing() as connection:
        studies.create(connection, study("s"))
    yield opened
    opened.close()


def study(name: str) -> StudyRow:
    return StudyRow(
        id=name,
        definition={},
        seed=2**53 - 1,
        state="running",
        paused=False,
        budget=None,
        tolerance=None,
        pending_limit=None,
        lease_seconds=60.0,
        max_attempts=3,
        tags={},
        head=0,
        folded=0,
        model=None,
        model_error=None,
        created_at=NOW,
        updated_at=NOW,
    )


def test_a_row_comes_back_as_it_was_written(database: Database) -> None:
    with database.reading() as connection:
        assert studies.get(connection, "s") == study("s")


@pytest.mark.parametrize("value", [1e-320, 5e-324, 1.7976931348623157e308, 0.1 + 0.2])
def test_floats_come_back_bit_for_bit(database: Database, value: float) -> None:
    """In a column and in JSON: a point that is read is the point that was suggested."""
    with database.writing() as connection:
        studies.change(connection, "s", tolerance=value, tags={"value": value})
    with database.reading() as connection:
        row = studies.get(connection, "s")
    assert row.tolerance is not None
    assert (row.tolerance.hex(), float(row.tags["value"]).hex()) == (value.hex(), value.hex())


def test_times_come_back_in_utc_whatever_zone_they_were_given_in(database: Database) -> None:
    given = NOW.astimezone(timezone(timedelta(hours=9)))
    with database.writing() as connection:
        studies.change(connection, "s", updated_at=given)
    with database.reading() as connection:
        assert studies.get(connection, "s").updated_at == NOW
        assert studies.get(connection, "s").updated_at.utcoffset() == timedelta(0)


def test_a_block_that_raises_leaves_nothing_behind(database: Database) -> None:
    def write_and_fail() -> None:
        with database.writing() as connection:
            studies.create(connection, study("t"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    with database.reading() as connection, pytest.raises(StudyNotFound):
        studies.get(connection, "t")


def test_a_reading_transaction_writes_nothing(database: Database) -> None:
    with database.reading() as connection:
        studies.change(connection, "s", budget=5)
    with database.reading() as connection:
        assert studies.get(connection, "s").budget is None


def test_reading_sees_one_state_while_others_write(database: Database) -> None:
    with database.reading() as connection:
        before = studies.get(connection, "s")
        with database.writing() as other:
            studies.change(other, "s", budget=5)
        assert studies.get(connection, "s") == before


def test_of_many_that_read_and_then_write_none_is_lost(database: Database) -> None:
    def increment(_: int) -> None:
        with database.writing() as connection:
            row = studies.get(connection, "s", lock=True)
            studies.change(connection, "s", budget=(row.budget or 0) + 1)
            events.append(connection, "s", "updated", {}, now=NOW)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(increment, range(80)))
    with database.reading() as connection:
        assert studies.get(connection, "s").budget == 80
        assert [event.seq for event in events.page(connection, "s", 0)] == list(range(1, 81))


def test_the_same_key_twice_is_a_collision(database: Database) -> None:
    def add() -> None:
        with database.writing() as connection:
            idempotency.add(connection, KeyRow("s", "k", "s", "f", {}, NOW))

    add()
    with pytest.raises(Collision):
        add()


def test_deleting_a_study_deletes_everything_below_it(database: Database) -> None:
    with database.writing() as connection:
        events.append(connection, "s", "updated", {}, now=NOW)
        studies.remove(connection, "s")
        for table in metadata.sorted_tables:
            assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0


def test_commits_are_durable(database: Database) -> None:
    """SQLite: WAL with synchronous=FULL (2); PostgreSQL: synchronous_commit=on."""
    with database.reading() as connection:
        if database.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"


def test_a_database_that_is_not_there_is_unavailable() -> None:
    for url in ("sqlite:////nowhere/x.db", "postgresql://nobody@127.0.0.1:1/nothing"):
        database = Database(url)
        with pytest.raises(Unavailable), database.reading():
            pass
        database.close()


@pytest.mark.parametrize("url", ["", "adabkb.db", "sqlite://", "sqlite:///:memory:", "mysql://localhost/x"])
def test_a_url_that_cannot_work_is_refused_with_one_that_can(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///"):
        Database(url)


def test_a_lock_that_is_not_obtained_is_busy(database: Database) -> None:
    impatient = Database(database.url.render_as_string(hide_password=False), lock_seconds=0.2)
    with database.writing() as connection:
        studies.get(connection, "s", lock=True)
        studies.change(connection, "s", budget=1)
        with pytest.raises(Busy), impatient.writing() as other:
            studies.get(other, "s", lock=True)
    impatient.close()

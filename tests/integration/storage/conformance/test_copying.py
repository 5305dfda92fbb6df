"""Copies of a whole database to another one, of the same kind or the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention
from adabkb_service.storage import (
    audit,
    events,
    grants,
    idempotency,
    migration,
    model,
    observations,
    retention_cutoffs,
    studies,
    tokens,
    trash,
    trials,
)
from adabkb_service.storage.audit import AuditRow
from adabkb_service.storage.copying import COPIED, ROWS, copy, row_counts
from adabkb_service.storage.database import Database
from tests.conftest import BACKENDS
from tests.integration.storage.rows import NOW, deletion, event, key, observation, study, token, trial
from tests.integration.storage.writes import add_to_trash, delete_study


@pytest.fixture(params=BACKENDS)
def target(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated database without rows, on SQLite and on PostgreSQL."""
    database = Database(request.getfixturevalue(f"other_{request.param}"))
    yield database
    database.close()


def fill(database: Database) -> None:
    """Two studies with rows in every table; deleted cells leave a gap in the numbering."""
    with database.writing() as connection:
        studies.create(connection, study("t", tags={"ünï": "🧪"}, model={"gap": 0.1}, checkpoint={}, tolerance=5e-324))
        trials.add(connection, [trial(1), trial(2, "t", state="failed", leased_until=None)])
        observations.add(connection, [observation(1, 0.1 + 0.2, trial=1, attempt=1), observation(2, 1e-300)])
        events.add(connection, [event(1), event(1, "t", payload={"z": 1, "a": [None]})])
        for name in ("s", "t", "s"):
            model.clear(connection, name)
            model.write_cells(connection, name, {"0": "expanded", "0.1": "leaf"})
            model.write_dictionary(connection, name, added=[0, 5], removed=[])
        idempotency.add(connection, [key("k", answer={"a": 1}), key("k", scope="")])
        retention_cutoffs.move(connection, "idempotency keys", NOW, NOW)
        grants.replace(connection, "t", {"ann": "own", "*": "read"})
        tokens.add(connection, token("0" * 12, studies=["a*"], expires_at=NOW))
        add_to_trash(connection, deletion("u"), b"\x00\xff")
        audit.add(connection, [AuditRow(NOW, "refused", "missing", None, None, "192.0.2.1", {"a": None}, 7)])


def content(database: Database) -> dict[str, list[sa.Row[tuple[object, ...]]]]:
    """Table -> its rows."""
    with database.reading() as connection:
        return {
            table.name: list(connection.execute(sa.select(table).order_by(*table.primary_key.columns)))
            for table in COPIED
        }


def test_copy_contains_everything_unchanged(database: Database, target: Database) -> None:
    fill(database)
    copied = copy(database, target)
    assert content(target) == content(database)
    assert copied == {name: len(rows) for name, rows in content(database).items()}


def test_copy_of_an_empty_database_is_empty(database: Database, target: Database) -> None:
    with database.writing() as connection:
        delete_study(connection, "s")
    names = [table.name for table in COPIED]
    assert copy(database, target) == dict.fromkeys(names, 0)
    assert row_counts(target) == {}


def test_new_cells_come_after_copied_ones(database: Database, target: Database) -> None:
    fill(database)
    copy(database, target)
    with target.writing() as connection:
        model.write_cells(connection, "s", {"0.2": "leaf", "0": "pruned"})
        assert list(model.read_cells(connection, "s")) == ["0", "0.1", "0.2"]


def test_first_cells_after_an_empty_copy_are_in_order(database: Database, target: Database) -> None:
    copy(database, target)
    with target.writing() as connection:
        model.write_cells(connection, "s", {"0": "leaf", "0.1": "leaf"})
        assert list(model.read_cells(connection, "s")) == ["0", "0.1"]


def test_new_deletions_come_after_copied_ones(database: Database, target: Database) -> None:
    fill(database)
    copy(database, target)
    with target.writing() as connection:
        add_to_trash(connection, deletion("v"), b"")
        assert [row.study_id for row in trash.page(connection, 0, 10)] == ["v", "u"]


def test_numbers_of_deleted_rows_are_not_used_again_in_a_copy(database: Database, target: Database) -> None:
    with database.writing() as connection:
        for name in ("t", "u"):
            add_to_trash(connection, deletion(name), b"")
        (last, first) = trash.page(connection, 0, 10)
        for row in (last, first):
            trash.remove(connection, row)
    copy(database, target)
    with target.writing() as connection:
        add_to_trash(connection, deletion("v"), b"")
        (row,) = trash.page(connection, 0, 10)
        assert row.id == (last.id or 0) + 1


@pytest.mark.long
def test_copy_in_several_steps_is_complete(database: Database, target: Database) -> None:
    with database.writing() as connection:
        events.add(connection, [event(seq) for seq in range(1, 2 * ROWS + 2)])
    copy(database, target)
    assert content(target)["events"] == content(database)["events"]


def test_copy_is_a_consistent_snapshot(database: Database, target: Database) -> None:
    """The source is changed while its first table is being copied."""
    before = content(database)
    written: list[bool] = []

    def write(_: object, __: object, statement: str, *___: object) -> None:
        if statement.startswith("SELECT") and not written:
            written.append(True)
            with database.writing() as other:
                events.add(other, [event(1)])

    sa.event.listen(database.engine, "after_cursor_execute", write)
    copy(database, target)
    sa.event.remove(database.engine, "after_cursor_execute", write)
    assert content(target) == before
    assert len(content(database)["events"]) == 1


def test_copy_to_a_database_with_the_same_study_copies_nothing(database: Database, target: Database) -> None:
    fill(database)
    with target.writing() as connection:
        studies.create(connection, study("s", seed=7))
    before = content(target)
    with pytest.raises(Contention):
        copy(database, target)
    assert content(target) == before


def test_row_counts_of_an_empty_database_are_empty(database_url: str) -> None:
    database = Database(database_url)
    assert row_counts(database) == {}
    migration.upgrade(database)
    assert row_counts(database) == {}
    with database.writing() as connection:
        studies.create(connection, study("s"))
    assert row_counts(database) == {"containers": 1, "studies": 1}
    with database.writing() as connection:
        delete_study(connection, "s")
    assert row_counts(database) == {}
    database.close()

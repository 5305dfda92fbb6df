"""Primary keys: a duplicate raises ``Contention``, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention
from adabkb_service.storage import events, idempotency, model, observations, studies, trials
from adabkb_service.storage.database import Database
from tests.integration.storage.rows import event, key, observation, study, trial

WRITES: dict[str, Callable[[sa.Connection], Any]] = {
    "study": lambda connection: studies.create(connection, study("t")),
    "trial": lambda connection: trials.add(connection, [trial(1)]),
    "observation": lambda connection: observations.add(connection, [observation(1)]),
    "event": lambda connection: events.add(connection, [event(1)]),
    "key": lambda connection: idempotency.add(connection, [key("k")]),
    "dictionary": lambda connection: model.write_dictionary(connection, "s", added=[1], removed=[]),
}


def test_duplicate_key_raises_contention(database: Database) -> None:
    for write in WRITES.values():
        with database.writing() as connection:
            write(connection)
        with pytest.raises(Contention), database.writing() as connection:
            write(connection)


def test_duplicate_key_in_one_transaction_raises_contention(database: Database) -> None:
    def write_twice(write: Callable[[sa.Connection], Any]) -> None:
        with database.writing() as connection:
            write(connection)
            write(connection)

    for write in WRITES.values():
        with pytest.raises(Contention):
            write_twice(write)


def test_duplicate_in_a_group_of_rows_rejects_the_whole_group(database: Database) -> None:
    with database.writing() as connection:
        events.add(connection, [event(2)])
    with pytest.raises(Contention), database.writing() as connection:
        events.add(connection, [event(1), event(2), event(3)])
    with database.reading() as connection:
        assert [row.seq for row in events.page(connection, "s", 0)] == [2]


def test_studies_have_separate_numbers(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    for name in ("s", "t"):
        trials.add(connection, [trial(1, name)])
        observations.add(connection, [observation(1, study_id=name)])
        events.add(connection, [event(1, name)])
        model.write_cells(connection, name, {"0": "leaf"})
        model.write_dictionary(connection, name, added=[1], removed=[])
    assert [trials.get(connection, name, 1).study_id for name in ("s", "t")] == ["s", "t"]


def test_scopes_have_separate_keys(connection: sa.Connection) -> None:
    for scope in ("", "s"):
        idempotency.add(connection, [key("k", scope=scope, answer={"in": scope})])
    found = [idempotency.find(connection, scope, "k") for scope in ("", "s")]
    assert [row.answer["in"] for row in found if row] == ["", "s"]


def test_required_columns_cannot_be_null(database: Database) -> None:
    with database.writing() as connection:
        trials.add(connection, [trial(1)])
        observations.add(connection, [observation(1)])
        events.add(connection, [event(1)])
    needed = {"studies": "incarnation", "trials": "state", "observations": "excluded", "events": "kind"}
    for table, column in needed.items():
        with pytest.raises(Contention), database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE {table} SET {column} = NULL")

"""Writing the cells of a model does not block requests for long, however many there are."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.storage.model import read_cells, write_cells
from tests.integration.operations.conftest import ManualClock, definition

MANY = 20_000


def test_many_cells_are_written_together_in_order(migrated_url: str) -> None:
    database = Database(migrated_url)
    create(Service(database, clock=ManualClock()), definition())
    statements: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("INSERT INTO cells"):
            statements.append(statement)

    given = {f"0.{number}": "leaf" for number in reversed(range(MANY))}
    with database.writing() as connection:
        before = read_cells(connection, "s")
        sa.event.listen(database.engine, "before_cursor_execute", note)
        write_cells(connection, "s", given)
        write_cells(connection, "s", {"0.7": "split", "0.7.1": "leaf"})
        found = read_cells(connection, "s")
    assert list(found.items()) == list({**before, **given, "0.7": "split", "0.7.1": "leaf"}.items())
    assert len(statements) == 2
    database.close()


def test_postgresql_writes_all_cells_in_one_round_trip(other_postgresql: str) -> None:
    """With ``executemany``, the driver would need a round trip for each row, or for every few rows."""
    database = Database(other_postgresql)
    create(Service(database, clock=ManualClock()), definition())
    one_by_one: list[bool] = []

    def note(_: Any, __: Any, statement: str, ___: Any, ____: Any, executemany: bool) -> None:
        if statement.startswith("INSERT INTO cells"):
            one_by_one.append(executemany)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.writing() as connection:
        write_cells(connection, "s", {f"0.{number}": "leaf" for number in range(10)})
    assert one_by_one == [False]
    database.close()

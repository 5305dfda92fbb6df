"""Write the content of a container (see ``containers``) in short transactions. The last transaction puts the container
into use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection

from adabkb_service.errors import Busy, Unavailable
from adabkb_service.storage import containers
from adabkb_service.storage.database import Database
from adabkb_service.storage.pace import Pace

Row = TypeVar("Row")


class ContainerWriter:
    """Writes rows to a new container. If all rows fit into one transaction, only one is used."""

    def __init__(self, database: Database, container: str, clock: Callable[[], datetime], pace: Pace) -> None:
        """Write nothing yet."""
        self._database = database
        self._container = container
        self._clock = clock
        self._pace = pace
        self._writer = containers.new_writer()
        self._has_begun = False
        self._waiting: list[tuple[Callable[[Connection, Any], Any], Sequence[Any]]] = []
        self._room = pace.rows

    def add(
        self,
        write: Callable[[Connection, Sequence[Row]], Any],
        rows: Iterable[Row],
        cost: Callable[[Row], int] = lambda _: 1,
    ) -> None:
        """Add rows to write. ``write`` is a function that writes several rows. ``cost`` returns the number of small
        rows that take as long as a row.

        Raises:
            Contention: the container's id exists, or another server has removed the written rows.
            Busy, Unavailable: as for ``Database.writing``.
        """
        batch: list[Row] = []
        for row in rows:
            if self._room <= 0:
                self._waiting.append((write, batch))
                self._write_waiting()
                batch = []
            batch.append(row)
            self._room -= cost(row)
        self._waiting.append((write, batch))

    def _write_waiting(self) -> None:
        with self._pace.transaction(self._database) as connection:
            hold = containers.extend if self._has_begun else containers.begin
            hold(connection, self._container, self._writer, self._clock())
            self._write(connection)
        self._has_begun = True
        self._waiting, self._room = [], self._pace.rows

    @contextmanager
    def last_transaction(self) -> Iterator[Connection]:
        """Begin the last transaction. Within the block, the caller inserts the row that refers to the container.

        Raises:
            Contention: the container's id exists, or another server has removed the written rows.
            Busy, Unavailable: as for ``Database.writing``.
        """
        with self._database.writing() as connection:
            if self._has_begun:
                containers.put_into_use(connection, self._container, self._writer)
            else:
                containers.add(connection, self._container)
            self._write(connection)
            yield connection

    def _write(self, connection: Connection) -> None:
        for write, rows in self._waiting:
            if rows:
                write(connection, rows)

    def give_up(self) -> None:
        """Let any server remove the written rows."""
        if self._has_begun:
            with suppress(Busy, Unavailable), self._database.writing() as connection:
                containers.give_up(connection, self._container, self._writer)


@contextmanager
def container_writer(
    database: Database, container: str, clock: Callable[[], datetime], pace: Pace | None = None
) -> Iterator[ContainerWriter]:
    """A writer of a new container, to be filled within the block. If the block raises, any server may remove the
    content."""
    begun = ContainerWriter(database, container, clock, pace or Pace())
    try:
        yield begun
    except BaseException:
        begun.give_up()
        raise

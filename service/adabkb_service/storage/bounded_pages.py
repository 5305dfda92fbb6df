"""Pages of a list with a limited number of rows and bytes, so that they fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Text, cast, func, literal

Row = TypeVar("Row")
Position = TypeVar("Position")

ROWS_PER_PAGE = 1000
"""The maximum number of rows in a page of a list that is read completely."""
MAX_BYTES = 2**23
"""The maximum number of bytes of user data in a page. A larger row is a page by itself."""


@dataclass(frozen=True, slots=True)
class BoundedPage(Generic[Row]):
    """Consecutive rows of a list."""

    rows: list[Row]
    is_last: bool
    """True if the list ends with these rows; False if more rows may follow."""


def read(
    connection: Connection,
    query: Select[Any],
    row: Callable[..., Row],
    *,
    order: tuple[ColumnElement[Any], ...],
    large: tuple[ColumnElement[Any], ...],
    limit: int,
    most_bytes: int = MAX_BYTES,
) -> BoundedPage[Row]:
    """The first rows of a query, as many as fit within the limits.

    Args:
        connection: the connection to the database.
        query: selects all columns of a table, without order or limit.
        row: builds a row from the values of its columns.
        order: columns by which the rows are ordered. No two rows may have the same values in all of them.
        large: columns with user data of unlimited size.
        limit: the maximum number of rows.
        most_bytes: the maximum size of the large columns in all rows together. The first row may exceed it.
    """
    lengths = (func.coalesce(func.length(cast(column, Text)), 0) for column in large)
    size: ColumnElement[int] = sum(lengths, start=literal(0))
    sizes = connection.execute(query.with_only_columns(size).order_by(*order).limit(limit)).scalars().all()
    fitting = max(sum(total <= most_bytes for total in accumulate(sizes)), 1)
    found = connection.execute(query.order_by(*order).limit(fitting))
    return BoundedPage([row(*each) for each in found], is_last=len(sizes) < limit and len(sizes) <= fitting)


def pages(
    page: Callable[[Position], BoundedPage[Row]], after: Position, position: Callable[[Row], Position]
) -> Iterator[BoundedPage[Row]]:
    """Yield the pages of a list, in order. Each has at least one row.

    Args:
        page: reads the page after a position.
        after: the position to start after.
        position: returns the position of a row.
    """
    while (found := page(after)).rows:
        yield found
        if found.is_last:
            return
        after = position(found.rows[-1])


def rows(
    page: Callable[[Position], BoundedPage[Row]], after: Position, position: Callable[[Row], Position]
) -> Iterator[Row]:
    """Yield the rows of a list, in order, with one page in memory at a time. The arguments are those of ``pages``."""
    for found in pages(page, after, position):
        yield from found.rows

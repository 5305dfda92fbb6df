"""Pages of a list that fit into memory: so many rows, and so many bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Text, cast, func, literal

Row = TypeVar("Row")

MOST_BYTES = 2**23
"""Of what users give in any length. A page has a row that is larger for itself."""


@dataclass(frozen=True, slots=True)
class BoundedPage(Generic[Row]):
    """Some rows of a list, in its order."""

    rows: list[Row]
    is_last: bool
    """Whether there were no others after them."""


def read(
    connection: Connection,
    query: Select[Any],
    row: Callable[..., Row],
    *,
    order: tuple[ColumnElement[Any], ...],
    large: tuple[ColumnElement[Any], ...],
    limit: int,
    most_bytes: int = MOST_BYTES,
) -> BoundedPage[Row]:
    """The first rows of a query.

    Args:
        connection: to the database.
        query: of all columns of a table, without order or limit.
        row: makes a row of the values of its columns.
        order: of the rows; it tells any two apart.
        large: the columns that users give in any length.
        limit: largest number of rows.
        most_bytes: of the large columns of all rows, unless the first row is larger.
    """
    lengths = (func.coalesce(func.length(cast(column, Text)), 0) for column in large)
    size: ColumnElement[int] = sum(lengths, start=literal(0))
    sizes = connection.execute(query.with_only_columns(size).order_by(*order).limit(limit)).scalars().all()
    fitting = max(sum(total <= most_bytes for total in accumulate(sizes)), 1)
    found = connection.execute(query.order_by(*order).limit(fitting))
    return BoundedPage([row(*each) for each in found], is_last=len(sizes) < limit and len(sizes) <= fitting)

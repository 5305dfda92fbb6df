"""The axis of a catalogue: the rows of a table, each with a name and the same numbers.

A row's number is its place in the table, and never changes: rows are added at the end, and those that are withdrawn
stay. So results of withdrawn rows remain points of the space; only suggestions leave these rows out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import ChoiceAxis, Value

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a catalogue. Tables of one digest are the same."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    """Names of the numbers."""
    numbers: Array
    """(rows, columns)"""
    is_offered: Bools
    """(rows,) which are not withdrawn."""
    digest: str

    def __eq__(self, other: object) -> bool:
        """Whether both have the same digest."""
        return isinstance(other, Table) and self.digest == other.digest

    def __hash__(self) -> int:
        """Of the digest."""
        return hash(self.digest)

    @cached_property
    def offered(self) -> Ints:
        """The numbers of the rows that may be suggested, ascending."""
        return np.flatnonzero(self.is_offered)

    @cached_property
    def numbered(self) -> dict[str, int]:
        """The number of each row, by name."""
        return {name: number for number, name in enumerate(self.names)}


def table(
    names: Sequence[str],
    columns: Sequence[str],
    numbers: Array,
    withdrawn: Sequence[str] = (),
    digest: str = "",
) -> Table:
    """A table of rows with distinct names.

    Args:
        names: of the rows.
        columns: names of the numbers.
        numbers: (rows, columns).
        withdrawn: names of rows that are not suggested.
        digest: what tells the table from any other.
    """
    gone = set(withdrawn)
    is_offered = np.array([name not in gone for name in names], dtype=np.bool_)
    return Table(tuple(names), tuple(columns), numbers, is_offered, digest)


@dataclass(frozen=True, eq=False)
class CatalogueAxis(ChoiceAxis):
    """The rows of a table by their names: choices without an order, with descriptors."""

    choices: tuple[Value, ...] = field(init=False)
    ordered: bool = field(init=False, default=False)
    descriptors: tuple[tuple[float, ...], ...] = field(init=False, default=())
    table: Table

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", self.table.names)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same name and table."""
        return isinstance(other, CatalogueAxis) and (self.name, self.table) == (other.name, other.table)

    def __hash__(self) -> int:
        """Of the name and the table."""
        return hash((self.name, self.table))

    def positions(self, rows: Ints) -> Array:
        """Cube positions of rows by their numbers: ``encode`` of many."""
        found: Array = (rows + 0.5) / len(self.choices)
        return found

    def rows(self, positions: Array) -> Ints:
        """Numbers of the rows at cube positions: ``bin`` of many."""
        found: Ints = np.clip((positions * len(self.choices)).astype(np.int64), 0, len(self.choices) - 1)
        return found

    def numbers_of(self, value: Any) -> dict[str, float]:
        """The numbers of a row by column; empty if there is no such row."""
        if self.problem(value) is not None:
            return {}
        return dict(zip(self.table.columns, self.table.numbers[self._index(value)].tolist(), strict=True))

    def offers(self, value: Any) -> bool:
        """Whether a row is not withdrawn, by its name."""
        return bool(self.table.is_offered[self._index(value)])

    def _index(self, value: Any) -> int:
        if not isinstance(value, str) or value not in self.table.numbered:
            raise ValueError(value)
        return self.table.numbered[value]

    def problem(self, value: object) -> str | None:
        """What is wrong, unless the value is the name of a row."""
        if isinstance(value, str) and value in self.table.numbered:
            return None
        return f"must be the name of a row of the catalogue, such as {self.choices[0]!r}"

"""The axis of a catalogue: the rows of a table, each with a name and numbers.

A row's index is its place in the table. It never changes: new rows are added at the end, and withdrawn rows stay. So
results at withdrawn rows remain in the space; only suggestions skip these rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import ChoiceAxis, Value

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_SEARCHED = 5000
"""The maximum number of rows among which similar names are sought."""
MAX_NEAR = 3
"""The maximum number of similar names in an error."""


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a catalogue. Tables with the same digest are equal."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    """Names of the columns of numbers."""
    numbers: Array
    """(rows, columns)"""
    is_offered: Bools
    """(rows,) whether each row may be suggested; withdrawn rows may not."""
    digest: str

    def __eq__(self, other: object) -> bool:
        """Whether both have the same digest."""
        return isinstance(other, Table) and self.digest == other.digest

    def __hash__(self) -> int:
        """Hash of the digest."""
        return hash(self.digest)

    @cached_property
    def offered(self) -> Ints:
        """Indices of the rows that may be suggested, ascending."""
        return np.flatnonzero(self.is_offered)

    def offering(self, is_offered: Bools) -> Table:
        """The same rows, of which those in the mask ``is_offered``, (rows,), may be suggested."""
        digest = f"{self.digest} {hashlib.sha256(is_offered.tobytes()).hexdigest()}"
        return replace(self, is_offered=is_offered, digest=digest)

    @cached_property
    def numbered(self) -> dict[str, int]:
        """Row name -> index."""
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
        names: the names of the rows.
        columns: names of the columns of numbers.
        numbers: the numbers, (rows, columns).
        withdrawn: names of rows to exclude from suggestions.
        digest: identifies the table.
    """
    withdrawn_names = set(withdrawn)
    is_offered = np.array([name not in withdrawn_names for name in names], dtype=np.bool_)
    return Table(tuple(names), tuple(columns), numbers, is_offered, digest)


@dataclass(frozen=True, eq=False)
class CatalogueAxis(ChoiceAxis):
    """The rows of a table by name: unordered choices with descriptors."""

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
        """Hash of the name and the table."""
        return hash((self.name, self.table))

    def positions(self, rows: Ints) -> Array:
        """Cube positions of rows, (k,), given their indices, (k,). A vectorized ``encode``."""
        found: Array = (rows + 0.5) / len(self.choices)
        return found

    def offers_at(self, position: float) -> bool:
        """Whether the row at a cube position is not withdrawn."""
        return bool(self.table.is_offered[self.bin(position)])

    def rows(self, positions: Array) -> Ints:
        """Indices of the rows, (k,), at cube positions, (k,). A vectorized ``bin``."""
        found: Ints = np.clip((positions * len(self.choices)).astype(np.int64), 0, len(self.choices) - 1)
        return found

    def numbers_of(self, value: Any) -> dict[str, float]:
        """Column -> number in the row with this name; empty if there is no such row."""
        if self.problem(value) is not None:
            return {}
        return dict(zip(self.table.columns, self.table.numbers[self._index(value)].tolist(), strict=True))

    def offers(self, value: Any) -> bool:
        """Whether the row with this name is not withdrawn.

        Raises:
            ValueError: no row has this name.
        """
        return bool(self.table.is_offered[self._index(value)])

    def _index(self, value: Any) -> int:
        if not isinstance(value, str) or value not in self.table.numbered:
            raise ValueError(value)
        return self.table.numbered[value]

    def problem(self, value: object) -> str | None:
        """The error message for a value; None if it is the name of a row."""
        if isinstance(value, str) and value in self.table.numbered:
            return None
        near = self._containing(value) or [next(self._offered(), self.choices[0])]
        return f"must be the name of a row of the catalogue, such as {', '.join(map(repr, near))}"

    def _containing(self, text: object) -> list[Value]:
        """The first names of rows that are not withdrawn and contain a text, in upper or lower case; none in a large
        catalogue, since errors of many results must not take long."""
        wanted = text.strip().lower() if isinstance(text, str) else ""
        if not wanted or len(self.choices) > MAX_SEARCHED:
            return []
        return list(islice((name for name in self._offered() if wanted in str(name).lower()), MAX_NEAR))

    def _offered(self) -> Iterator[Value]:
        """The names of the rows that are not withdrawn."""
        return compress(self.choices, self.table.is_offered)

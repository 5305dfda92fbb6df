"""Catalogues: parameters whose values are the rows of a table, such as available molecules.

``Catalogue.from_csv("molecules.csv", name="molecule", descriptors=["logp", "mw"])`` reads the names of the rows from
the column "molecule", and the numbers that describe them from two other columns. A trial contains the name of a row,
and ``catalogue.row(name)`` returns the whole row of the file.
"""

import csv
import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from typing import Any, ClassVar, Self

from adabkb_client._importing import sources
from adabkb_client._plain import plain

MOST_TEXTS = 50
"""The maximum number of different strings in a column that describes rows."""


@dataclass(frozen=True)
class Catalogue:
    """A parameter whose values are names of rows. ``descriptors`` describe the rows: by name, one number for each row.

    Rows with similar descriptors are expected to give similar results. No point is suggested twice, unless results are
    declared to be noisy. ``Study.change_catalogue`` adds, withdraws and restores rows.

    Raises:
        TypeError: the rows are not a list, or the descriptors are not lists of numbers by name.
        ValueError: a row occurs twice, or the number of values of a descriptor differs from the number of rows.
    """

    rows: Sequence[str]
    descriptors: Mapping[str, Iterable[float]]
    cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)
    """Row -> all its cells in the original table."""
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)
    context: ClassVar[bool] = False
    when: ClassVar[None] = None

    def __post_init__(self) -> None:
        if isinstance(self.rows, str | bytes) or not isinstance(self.rows, Sequence):
            raise TypeError(f"Catalogue takes a list of the names of rows, not {self.rows!r}")
        if not isinstance(self.descriptors, Mapping):
            raise TypeError('descriptors must have lists of numbers by name, such as {"logp": [...], "mw": [...]}')
        rows = tuple(str(plain(row)) for row in self.rows)
        if not rows:
            raise ValueError("a catalogue needs at least one row")
        if len(set(rows)) < len(rows):
            twice = next(row for number, row in enumerate(rows) if row in rows[:number])
            raise ValueError(f"the row {twice!r} occurs twice; give each row once")
        found = {name: tuple(plain(number) for number in numbers) for name, numbers in self.descriptors.items()}
        for name, numbers in found.items():
            if len(numbers) != len(rows):
                raise ValueError(
                    f"the descriptor {name!r} has {len(numbers)} numbers, but there are {len(rows)} rows; give one "
                    "for each row"
                )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "descriptors", found)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        descriptors: Sequence[str] | None = None,
        label: str | None = None,
    ) -> Self:
        """Read the rows of a table from a CSV or Excel file with a header.

        Args:
            path: the file, in UTF-8; cells are separated by commas, semicolons or tabs.
            name: the column that names the rows; the first one by default.
            descriptors: the columns that describe the rows; by default all other columns of numbers. A column of
                strings that is named here becomes one column of 0 and 1 for each string.
            label: shown instead of the parameter's name.

        Raises:
            ValueError: the table does not have this form; the message gives the line and the column.
            OSError: the file cannot be read.
        """
        return cls._of(sources.read(os.fspath(path)), name, descriptors, label)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        name: str | None = None,
        descriptors: Sequence[str] | None = None,
        label: str | None = None,
    ) -> Self:
        """Read the rows of a pandas DataFrame, see ``from_csv``.

        Raises:
            ValueError: the frame does not have this form; the message gives the row and the column.
        """
        return cls._of(sources.read(frame), name, descriptors, label)

    def row(self, name: str) -> Mapping[str, Any]:
        """Return all cells of a row of the original table, by column.

        Raises:
            KeyError: the row does not exist.
        """
        return self.cells[name]

    def to_csv(self) -> str:
        """Return the table in the form that the server accepts: names, then numbers."""
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["name", *self.descriptors])
        lines.writerows(zip(self.rows, *self.descriptors.values(), strict=True))
        return text.getvalue()

    @cached_property
    def digest(self) -> str:
        """A digest that identifies the table."""
        return hashlib.sha256(self.to_csv().encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        words = {"unit": self.unit, "label": self.label}
        return {"kind": "catalogue", "table": self.to_csv()} | {name: text for name, text in words.items() if text}

    @classmethod
    def _of(cls, table: sources.Table, name: str | None, descriptors: Sequence[str] | None, label: str | None) -> Self:
        names = table.columns
        named = names[0] if name is None else name
        for each in [named, *(descriptors or ())]:
            if each not in names:
                raise ValueError(f"{table.name} has no column {each!r}; it has {', '.join(map(repr, names))}")
        cells: dict[str, Mapping[str, Any]] = {}
        for row in table.rows:
            where = f"{table.name}, {table.counted} {row.number}"
            if row.problem is not None:
                raise ValueError(f"{where}: {row.problem}")
            found = "" if row.cells.get(named) is None else str(row.cells[named]).strip()
            if not found:
                raise ValueError(f"{where}, column {named!r} has no name; write one, or delete the row")
            if found in cells:
                raise ValueError(f"{where}: the row {found!r} occurs twice; delete one of the two")
            cells[found] = row.cells
        columns = [each for each in names if each != named] if descriptors is None else list(descriptors)
        numbers: dict[str, list[float]] = {}
        for column in columns:
            numbers |= _numbers(table, column, is_asked=descriptors is not None)
        if not numbers:
            raise ValueError(
                f"{table.name} has no column of numbers; add some that describe the rows, or name columns of strings "
                "as descriptors"
            )
        return cls(list(cells), numbers, cells, label=label)


def _numbers(table: sources.Table, column: str, *, is_asked: bool) -> dict[str, list[float]]:
    """Return the numbers of a column by its name; a requested column of strings becomes one column of 0 and 1 per
    string."""
    cells = [row.cells.get(column) for row in table.rows]
    found = [_number(cell) for cell in cells]
    if all(number is not None for number in found):
        return {column: [number for number in found if number is not None]}
    if all(number is None for number in found):
        texts = sorted({str(cell or "").strip() for cell in cells})
        if not is_asked:
            return {}
        if len(texts) > MOST_TEXTS:
            raise ValueError(
                f"{table.name}, column {column!r} has {len(texts)} different strings; give numbers that describe them"
            )
        return {f"{column}={text}": [float(str(cell or "").strip() == text) for cell in cells] for text in texts}
    row = table.rows[found.index(None)]
    raise ValueError(
        f"{table.name}, {table.counted} {row.number}, column {column!r} must be a finite number, not "
        f"{row.cells.get(column)!r}; correct it, or leave the column out of descriptors"
    )


def _number(cell: object) -> float | None:
    """Return the number in a cell; None if it is not a finite number."""
    try:
        number = float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_choices(path: str | os.PathLike[str]) -> tuple[list[str], dict[str, list[float]]]:
    """Return the choices in the first column of a table, and the numbers of each other column by its name.

    The table is a CSV file in UTF-8, or an Excel file, with a header. Cells of a CSV file are separated by commas,
    semicolons or tabs; numbers may have decimal commas if cells are not separated by commas.

    Raises:
        ValueError: the table has no descriptor, a duplicate choice, or a cell that is empty or not a finite number; the
            message gives the line and the column.
        OSError: the file cannot be read.
    """
    table = sources.read(os.fspath(path))
    choice, *names = table.columns
    if not names:
        raise ValueError(
            f"{table.name} has only one column; add a column for each descriptor, after the column of choices"
        )
    choices: list[str] = []
    descriptors: dict[str, list[float]] = {name: [] for name in names}
    for row in table.rows:
        where = f"{table.name}, {table.counted} {row.number}"
        if row.problem is not None:
            raise ValueError(f"{where}: {row.problem}")
        found = str(row.cells.get(choice) or "").strip()
        if not found:
            raise ValueError(f"{where}, column {choice!r} has no choice; write one, or delete the line")
        if found in choices:
            raise ValueError(f"{where}: the choice {found!r} occurs twice; delete one of the two lines")
        choices.append(found)
        for name in names:
            number = _number(row.cells.get(name))
            if number is None:
                shown = row.cells.get(name)
                raise ValueError(f"{where}, column {name!r} must be a finite number, not {shown!r}")
            descriptors[name].append(number)
    return choices, descriptors

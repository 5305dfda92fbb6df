"""What the numbers of a text are compared with: cells of the generated tables, and values of the result files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.output import RESULTS
from benchmarks.quality.runs import COUNTS
from tools.docs.tables import tables

NUMBER = re.compile(r"(?<![\w.,/-])[−+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w/]|[.,-]\d)")
"""A number in a text; those within words, names and identifiers are none."""
ROOT = Path(__file__).parents[2]
Table = list[dict[str, str]]
"""Its rows, by the names of the columns. Of equal names, all but the first have a number: ``99%``, ``99% 2``."""


def cells(section: str, title: str, row: str, *columns: object) -> list[float]:
    """Numbers of the first row of a generated table that begins with this cell.

    Args:
        section: the name between the comments around the generated tables
        title: the beginning of the line above the table; empty for the first table
        row: the first cell
        columns: their names; all without any
    """
    found = next(each for each in _table(section, title) if next(iter(each.values())) == row)
    return [number for name in columns or list(found)[1:] for number in numbers(found[str(name)])]


def column(section: str, title: str, name: str, /, **where: object) -> list[float]:
    """Numbers of a column, from the rows with these cells in other columns. In names, ``_`` stands for a space."""
    wanted = {key.replace("_", " "): str(cell) for key, cell in where.items()}
    rows = [row for row in _table(section, title) if all(row[key] == cell for key, cell in wanted.items())]
    return [number for row in rows for number in numbers(row[name])]


def ahead(section: str, title: str, method: str, best: Callable[[Iterable[float]], float] = min) -> list[float]:
    """The columns, such as numbers of evaluations, in which a method has the best value of a generated table beside all
    others: the lowest one, or with ``max`` the largest one."""
    table = [row for row in _table(section, title) if "(recommended)" not in row["method"]]
    own = next(row for row in table if row["method"] == method)
    return [
        float(name)
        for name in list(own)[1:]
        if own[name] and float(own[name]) == best(float(row[name]) for row in table if row[name])
    ]


def value(file: str, *path: str | int) -> Any:
    """A value of a result file, by the names and positions that lead to it."""
    found = _content(file)
    for each in path:
        found = found[each]
    return found


def scores(file: str, problem: str, method: str, evaluations: int) -> list[float]:
    """The scores of all seeds in a file of ``benchmarks.quality`` after a number of evaluations."""
    return [
        run["run"]["observed"][COUNTS.index(evaluations)]
        for run in value(file, "runs")
        if (run["problem"], run["method"]) == (problem, method)
    ]


def numbers(text: str) -> list[float]:
    """All numbers of a cell, such as ``-1.5 (0.2)`` or the range ``1-3``."""
    text = re.sub(r"(?<!\w)-(?=\d)", "−", re.sub(r"(?<=\d)-(?=\d)", " to ", text))
    return [number(each[0]) for each in NUMBER.finditer(text)]


def number(text: str) -> float:
    """A number as printed in a text."""
    return float(text.replace(",", "").replace("−", "-"))


@cache
def _content(file: str) -> Any:
    return json.loads((RESULTS / f"{file}.json").read_text())


def _table(section: str, title: str) -> Table:
    return next(table for above, table in tables_of(section) if above.startswith(title))


@cache
def tables_of(section: str) -> list[tuple[str, Table]]:
    """The lines above the tables of a section, and the tables."""
    begin, end = f"<!-- {section}:begin -->\n", f"<!-- {section}:end -->"
    page = next(text for path in (ROOT / "docs").rglob("*.md") if begin in (text := path.read_text()))
    return list(_read(page.partition(begin)[2].partition(end)[0]))


def _read(text: str) -> Iterator[tuple[str, Table]]:
    above = re.split(r"(?:^ *\|.*\n?)+", text, flags=re.MULTILINE)
    for words, (header, _, *rows) in zip(above, tables(text), strict=False):
        names = [
            f"{name} {header[:i].count(name) + 1}" if name in header[:i] else name for i, name in enumerate(header)
        ]
        plain = [[cell.strip("*") for cell in row] for row in rows]
        yield words.strip().rpartition("\n")[2], [dict(zip(names, row, strict=True)) for row in plain]

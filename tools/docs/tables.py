"""Read the tables of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator


def cells(row: str) -> list[str]:
    """The cells of a row of a table, without escapes."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]


def tables(text: str) -> Iterator[list[list[str]]]:
    """The cells of all rows of each table, including the line below the heading."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for block in re.findall(r"(?:^ *\|.*\n)+", without_code + "\n", re.MULTILINE):
        yield [cells(row) for row in block.splitlines()]

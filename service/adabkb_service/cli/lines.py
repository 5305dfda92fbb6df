"""Results as lines of a file, one JSON object each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from adabkb_service.cli.output import fail

EXAMPLE = '{"trial": 7, "value": 0.93}'


def read_items(file: Path) -> dict[int, Any]:
    """Return the results of a file by line number."""
    items, source = {}, "standard input" if str(file) == "-" else file
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read {source}: {error}; give a file with one result per line, or - for standard input")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                items[number] = json.loads(line)
            except ValueError as error:
                fail(
                    f"line {number} of {source} is not JSON ({error}); write a line such as {EXAMPLE}. Nothing was sent"
                )
    if not items:
        fail(f"{source} has no results; give one JSON object per line")
    return items

"""The output of commands. Results go to stdout, errors to stderr with exit code 1; both are text, or JSON with
``--json``. This module does not need the server's packages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from errno import ENOSPC
from functools import wraps
from io import StringIO, TextIOWrapper
from shutil import get_terminal_size
from typing import Annotated, Any, NoReturn

import typer

AsJson = Annotated[bool, typer.Option("--json", hidden=True)]

GAP = "  "
"""The space between two columns."""
NARROWEST = 8
"""The minimum width of a readable column, in characters."""
WHICH_STUDIES = "List them: adabkb study list"


class Failure(Exception):
    """The failure of a command. The message includes the remedy; ``document`` is the same as JSON."""

    def __init__(self, message: str, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.document = document or {"error": message}


def printing_failures(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command, so that it prints its failure and exits with code 1."""

    @wraps(command)
    def wrapped(**options: Any) -> None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(
                errors="backslashreplace"
            )  # a name that the terminal cannot show must not end the command
        try:
            command(**options)
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            shown = Failure("cannot write the output: no space is left on its disk; free some, and repeat the command")
        except Failure as failure:
            shown = failure
        else:
            return
        if options.get("as_json"):
            echo_error(shown.document)
        else:
            typer.echo(f"error: {shown}", err=True)
        raise typer.Exit(1)

    return wrapped


def echo_error(document: Mapping[str, Any]) -> None:
    """Print an error as JSON."""
    typer.echo(_json(document), err=True)


def show(answer: Any, line: str, *, as_json: bool) -> None:
    """Print an answer: as JSON, or the text ``line`` for people."""
    typer.echo(_json(answer) if as_json else line)


def fail(message: str, document: Mapping[str, Any] | None = None) -> NoReturn:
    """End the command.

    Args:
        message: what went wrong, and what to do about it.
        document: what ``--json`` prints instead; by default an object with the message.

    Raises:
        Failure: always.
    """
    raise Failure(message, document)


def counted(number: int, one: str, several: str) -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else several}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows below a header. On a terminal, long cells are wrapped to its width; elsewhere each row is a line."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None: a closed output
    if is_terminal and (fitted := _fitted(header, rows, get_terminal_size().columns)):
        return fitted
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = (GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows))
    return "\n".join(line.rstrip() for line in lines)


def _fitted(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str | None:
    """Return a table of at most ``width`` characters; None if its cells would be too narrow to read."""
    from rich.console import Console  # noqa: PLC0415 (takes a tenth of a second, and files need none of it)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    longest = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if sum(min(each, NARROWEST) + len(GAP) for each in longest) > width:
        return None
    grid = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0))
    for name in header:
        grid.add_column(Text(name), overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    console = Console(file=StringIO(), width=width, force_terminal=True)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)

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

from adabkb_service.errors import shortened

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


def speaking(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command, so that it prints its failure and exits with code 1."""

    @wraps(command)
    def spoken(**options: Any) -> None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(
                errors="backslashreplace"
            )  # a name that the terminal cannot show must not end the command
        try:
            command(**options)
        except OSError as error:
            if error.errno != ENOSPC:
                raise
            told = Failure("cannot write the output: no space is left on its disk; free some, and repeat the command")
        except Failure as failure:
            told = failure
        else:
            return
        if options.get("as_json"):
            echo_error(told.document)
        else:
            typer.echo(f"error: {told}", err=True)
        raise typer.Exit(1)

    return spoken


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


def point(parameters: Mapping[str, Any]) -> str:
    """Return a point as text."""
    return " ".join(f"{name}={value!r}" for name, value in parameters.items())


def measured(result: Mapping[str, Any]) -> str:
    """Return the metrics of a result as text to follow its value; empty in a study without metrics."""
    return f" ({point(result['metrics'])})" if result.get("metrics") else ""


def summary(study: Mapping[str, Any]) -> str:
    """Return the state of a study as one line of text."""
    counts, best = study["counts"], study["best"]
    why = f" ({study['reason']})" if study["reason"] not in (None, study["state"]) else ""
    # Only the full study has a budget; the summary in other answers has none.
    budget = study.get("budget")
    total = f"{budget} trials of the budget" if isinstance(budget, int) else f"{counts['trials']} trials so far"
    chosen = f" ({name})" if (name := algorithm(study)) else ""
    title = f" {shortened(study['title'], 80)!r}" if study.get("title") else ""
    plates = f", plate {counts['plates']} of {budget['plates']}" if budget and is_in_plates(budget) else ""
    line = f"{study['id']}{title}{chosen}: {study['state']}{why}, {counts['completed']} of {total} completed{plates}"
    if counts["observations"] > counts["completed"]:
        line += f", {counts['observations']} results"
    if "cost_spent" in study:
        line += f", cost {study['cost_spent']:.6g}"
        line += f" of {budget['cost']:.6g}" if isinstance(budget, dict) and "cost" in budget else ""
    if study.get("objectives"):
        names = ", ".join(each["metric"] for each in study["objectives"])
        line += f", objectives {names} (adabkb study front {study['id']})"
    if best is not None:
        word = "best" if best.get("feasible", True) else "none satisfies the outcome constraints; nearest"
        line += f", {word} {in_unit(study, repr(best['value']))}{measured(best)} at {point(best['parameters'])}"
    return line


def is_in_plates(budget: object) -> bool:
    """Whether a budget is a number of plates."""
    return isinstance(budget, dict) and "plates" in budget


def in_unit(study: Mapping[str, Any], number: str) -> str:
    """Return a number of the objective with its unit, if any."""
    unit = study.get("quantities", {}).get("value", {}).get("unit")
    return f"{number} {unit}" if unit else number


def algorithm(study: Mapping[str, Any]) -> str:
    """Return the study's algorithm with its profile; empty for the default one."""
    kind = study.get("algorithm", {})
    found = [kind.get("kind"), kind.get("profile")]
    return "" if found in ([None, None], ["ada-bkb", "auto"]) else " ".join(filter(None, found))


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)

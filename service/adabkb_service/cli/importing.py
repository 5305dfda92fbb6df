"""``adabkb result import``: imports results from tables, as ``study.import_results`` of the client does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from adabkb_client._importing.columns import NoColumn
from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.server_calls import Server, StudyId


def import_results(
    server: Server,
    study: StudyId,
    file: Annotated[Path, typer.Argument(help=".csv, .jsonl (both also with .gz) or .xlsx", show_default=False)],
    value: Annotated[str, typer.Option(metavar="COLUMN", help="column of the results")] = "value",
    std_error: Annotated[
        str, typer.Option(metavar="COLUMN", help="column of the standard errors, if any")
    ] = "std_error",
    state: Annotated[str, typer.Option(metavar="COLUMN", help="column of the rows' states, if any")] = "state",
    plate: Annotated[
        str, typer.Option(metavar="COLUMN", help="column of the plates, if any, in a study with plates")
    ] = "plate",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="PARAM=COLUMN",
            help="column that holds the parameter PARAM, if their names differ",
            show_default=False,
        ),
    ] = None,
    decimal: Annotated[Literal[".", ","], typer.Option(help="decimal mark of the numbers")] = ".",
    choices: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="PARAM.CELL=CHOICE",
            help="choice of the parameter PARAM that the text CELL means",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="validate and report, but store nothing")] = False,
    as_json: AsJson = False,
) -> None:
    """Import results and failures from a table.

    A repeated import stores only rows that are new.

    \b
    adabkb result import svm notebook.csv --value accuracy --column C=penalty --dry-run

    Each row is a result at a point that was not suggested; it does not count towards the budget. States such as
    "completed", "ok" and "done" mean a result; "failed", "error" and "crashed" mean a failed evaluation, whose reason
    may be in the column "reason". Rows with other states are skipped. Invalid rows are listed, the other rows are
    imported, and the exit code is 1.
    """
    steps = StudyCalls(study).import_results(
        file,
        columns=dict(_column(text) for text in column or ()),
        value=value,
        std_error=std_error,
        state=state,
        plate=plate,
        decimal=decimal,
        choices=_choices(choices or ()),
        dry_run=dry_run,
        progress=not as_json,
    )
    try:
        report = server.perform(steps)
    except NoColumn as missing:
        option = f"--{missing.field.replace('_', '-')} COLUMN" if missing.parameter is None else "--column PARAM=COLUMN"
        fail(f"{missing.what}. Name it: {option.replace('PARAM', missing.parameter or '')}")
    except (ValueError, ImportError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror or error}")
    show({**asdict(report), "stored": report.stored}, str(report), as_json=as_json)
    if report.errors:
        raise typer.Exit(1)


def _column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals:
        fail(f"--column {text!r} names no column; give --column PARAM=COLUMN")
    return name, column


def _choices(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return parameter -> text of a cell -> choice."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        left, equals, choice = text.partition("=")
        name, point, cell = left.partition(".")
        if not point or not equals:
            fail(f"--map {text!r} is incomplete; give --map PARAM.CELL=CHOICE, such as --map kernel.Gaussian=rbf")
        found.setdefault(name, {})[cell.strip()] = choice
    return found

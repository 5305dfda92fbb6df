"""How commands speak: results to stdout, as text or with ``--json`` as JSON; errors to stderr, exit code 1."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

from adabkb_service.errors import AdaBKBError

AsJson = Annotated[bool, typer.Option("--json", help="print the answer as JSON")]


def show(answer: Any, line: str, *, as_json: bool) -> None:
    """Print an answer, or the line that says it to a person."""
    typer.echo(json.dumps(answer, ensure_ascii=False) if as_json else line)


def fail(message: str) -> NoReturn:
    """Say what went wrong and what to do, and exit with code 1."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(1)


@contextmanager
def reported() -> Iterator[None]:
    """Errors of ours, or of a setting, end the command with their message."""
    try:
        yield
    except (AdaBKBError, ValueError) as error:
        fail(str(error))


def point(parameters: Mapping[str, Any]) -> str:
    """A point as a person reads it."""
    return " ".join(f"{name}={value!r}" for name, value in parameters.items())

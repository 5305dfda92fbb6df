"""The output of commands: results to stdout, errors to stderr with exit code 1; text, or JSON with ``--json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer

from adabkb_service.errors import AdaBKBError, StudyNotFound
from adabkb_service.settings import Settings, load

AsJson = Annotated[bool, typer.Option("--json", help="print the answer, or the error, as JSON")]

WHICH_STUDIES = "See which there are: adabkb study list"


class Failure(Exception):
    """The failure of a command. The message says what to do about it; ``document`` is the same as JSON."""

    def __init__(self, message: str, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.document = document or {"error": message}


def speaking(command: Callable[..., None]) -> Callable[..., None]:
    """The command, wrapped so that it prints its failure and exits with code 1."""

    @wraps(command)
    def spoken(**options: Any) -> None:
        try:
            command(**options)
        except Failure as failure:
            typer.echo(_json(failure.document) if options.get("as_json") else f"error: {failure}", err=True)
            raise typer.Exit(1) from None

    return spoken


def show(answer: Any, line: str, *, as_json: bool) -> None:
    """Print an answer as JSON, or the line that says it to a person."""
    typer.echo(_json(answer) if as_json else line)


def fail(message: str, document: Mapping[str, Any] | None = None) -> NoReturn:
    """End the command with a message that says what went wrong and what to do, or with a document as JSON."""
    raise Failure(message, document)


@contextmanager
def reported() -> Iterator[None]:
    """Let errors of the service, and invalid settings, end the command with their message."""
    try:
        yield
    except StudyNotFound as error:
        fail(f"{error} {WHICH_STUDIES}")
    except (AdaBKBError, ValueError) as error:
        fail(str(error))


def settings(**flags: object) -> Settings:
    """The settings, with the given flags taking precedence."""
    with reported():
        return load(**{name: value for name, value in flags.items() if value is not None})


def point(parameters: Mapping[str, Any]) -> str:
    """A point as a person reads it."""
    return " ".join(f"{name}={value!r}" for name, value in parameters.items())


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False)

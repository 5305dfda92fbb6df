"""Run the command in the process of the tests, which saves the start of another one."""

from __future__ import annotations

from typing import Any

import typer.main
from typer.testing import CliRunner

from adabkb_service.cli.main import app

WIDTH = 78
"""Characters of a line of help in a terminal of 80 columns."""


def adabkb(*arguments: str, code: int = 0, stdin: str | None = None) -> str:
    """Run a command, check its exit code, and return its output.

    If the code is not 0, this is standard error, or standard output if standard error is empty.
    """
    result = CliRunner().invoke(app, list(arguments), input=stdin, terminal_width=WIDTH)
    assert result.exit_code == code, result.output
    return result.stderr or result.stdout if code else result.stdout


def commands() -> list[tuple[tuple[str, ...], Any]]:
    """Return all commands with the words that call them, such as ``("study", "show")``."""
    return _below(typer.main.get_command(app), ())


def _below(group: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        found += _below(command, (*path, name)) if hasattr(command, "commands") else [((*path, name), command)]
    return found

"""The command in this process, which spares its start."""

from __future__ import annotations

from typer.testing import CliRunner

from adabkb_service.cli.main import app


def adabkb(*arguments: str, code: int = 0, stdin: str | None = None) -> str:
    """Run a command; what it printed (to stderr, if it failed and said why there)."""
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exit_code == code, result.output
    return result.stderr or result.stdout if code else result.stdout

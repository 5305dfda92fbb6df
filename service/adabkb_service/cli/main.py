"""The commands of ``adabkb``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from adabkb_service.cli import maintenance, remote, server
from adabkb_service.cli.output import speaking

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
study = typer.Typer(help="Create, list, show and delete the studies of a server.", no_args_is_help=True)
app.add_typer(study, name="study")

COMMANDS: dict[str, Callable[..., None]] = {
    "serve": server.serve,
    "migrate": maintenance.migrate,
    "backup": maintenance.backup,
    "restore": maintenance.restore,
    "doctor": maintenance.doctor,
    "replay": maintenance.replay,
    "import": maintenance.import_,
    "export": remote.export,
    "suggest": remote.suggest,
    "why": remote.why,
}
for name, command in COMMANDS.items():
    app.command(name)(speaking(command))
# A negative value is not an option.
app.command(context_settings={"ignore_unknown_options": True})(speaking(remote.observe))
study.command("create")(speaking(remote.create_study))
study.command("list")(speaking(remote.list_studies))
study.command("show")(speaking(remote.show_study))
study.command("delete")(speaking(remote.delete_study))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adabkb {version('adabkb-service')}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Ada-BKB optimization service: run a server, maintain its database, use it from the shell."""


def main() -> None:
    """The entry point."""
    app()

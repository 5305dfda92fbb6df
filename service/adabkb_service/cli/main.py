"""The commands of ``adabkb``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from adabkb_service.cli import remote
from adabkb_service.cli.output import fail, speaking

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
study = typer.Typer(help="Create, list, show and delete the studies of a server.", no_args_is_help=True)
app.add_typer(study, name="study")


def _need_server() -> None:
    """Needs the server's packages: pip install 'adabkb-service[server]'."""
    fail("this command needs the server's packages; install them: pip install 'adabkb-service[server]'")


def _server_commands() -> dict[str, Callable[..., None]]:
    """The commands that need the server's packages. Where these are missing, the commands say what to install."""
    try:
        from adabkb_service.cli import maintenance, server  # noqa: PLC0415 (a client has not got what they import)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("adabkb_service"):
            raise
        names = ("serve", "migrate", "backup", "restore", "doctor", "replay", "import")
        return dict.fromkeys(names, _need_server)
    return {
        "serve": server.serve,
        "migrate": maintenance.migrate,
        "backup": maintenance.backup,
        "restore": maintenance.restore,
        "doctor": maintenance.doctor,
        "replay": maintenance.replay,
        "import": maintenance.import_,
    }


ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}

for name, command in _server_commands().items():
    app.command(name, context_settings=ANYTHING if command is _need_server else None)(speaking(command))
app.command("export")(speaking(remote.export))
app.command("suggest")(speaking(remote.suggest))
app.command("retry")(speaking(remote.retry))
app.command("why")(speaking(remote.why))
# Otherwise a negative value would be taken for an option.
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

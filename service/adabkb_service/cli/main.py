"""The commands, put together."""

from __future__ import annotations

import typer

from adabkb_service.cli import remote, server

app = typer.Typer(
    help="Ada-BKB optimization service: run a server, look after its database, use it from the shell.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
study = typer.Typer(help="Studies of a server.", no_args_is_help=True)
app.add_typer(study, name="study")

for command in (server.serve, server.migrate, server.replay, remote.suggest, remote.export):
    app.command()(command)
# A negative value is not an option.
app.command(context_settings={"ignore_unknown_options": True})(remote.observe)
study.command("create")(remote.create_study)
study.command("list")(remote.list_studies)
study.command("show")(remote.show_study)
study.command("delete")(remote.delete_study)


def main() -> None:
    """The entry point."""
    app()

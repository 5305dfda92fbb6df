"""The commands of ``adabkb``."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from adabkb_service.cli import analysis, curves, importing, outbox, results, sharing, studies, trash, trials
from adabkb_service.cli.calling import calling
from adabkb_service.cli.output import fail, speaking
from adabkb_service.cli.run import run

SERVER = {
    "serve": "server",
    **dict.fromkeys(("migrate", "backup", "restore", "copy", "doctor"), "maintenance"),
    "replay": "replaying",
    "import": "maintenance",
    **dict.fromkeys(("token", "audit"), "tokens"),
}
"""The commands that need the server's packages, and the modules that have them."""
OF_OTHER_NAMES = {"import": "import_", "audit": "show_audit"}
"""The functions that are not named as their command."""


class Commands(TyperGroup):
    """All commands. Those that need the server's packages are imported when they are asked for: that takes seconds."""

    # Contexts and commands are click's, of which typer has a copy of its own, or not, by its version.

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*SERVER, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command."""
        return _server_command(cmd_name) if cmd_name in SERVER else super().get_command(ctx, cmd_name)


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
study = typer.Typer(help="Create, list, show and delete the studies of a server.", no_args_is_help=True)
app.add_typer(study, name="study")
kept = typer.Typer(help="List, send and drop results that wait on this machine for a server.", no_args_is_help=True)
app.add_typer(kept, name="outbox")


def _need_server() -> None:
    """Needs the server's packages: pip install 'adabkb-service[server]'."""
    fail("this command needs the server's packages; install them: pip install 'adabkb-service[server]'")


def _server_command(name: str) -> Any:
    """A command that needs the server's packages. Where these are missing, it says what to install."""
    try:
        module = _imported(SERVER[name])
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("adabkb_service"):
            raise
        return _alone(name, _need_server, ANYTHING)
    if name == "token":
        return _token_commands(module)
    return _alone(name, getattr(module, OF_OTHER_NAMES.get(name, name)))


@cache
def _imported(module: str) -> Any:
    gc.disable()  # what is imported stays: to look for garbage among it takes a fifth of a command's time
    try:
        imported = import_module(f"adabkb_service.cli.{module}")
        gc.freeze()
        return imported
    finally:
        gc.enable()


def _alone(name: str, command: Callable[..., None], settings: dict[str, Any] | None = None) -> Any:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, context_settings=settings)(speaking(command))
    return typer.main.get_command(alone)


def _token_commands(tokens: Any) -> Any:
    commands: dict[str, Callable[..., None]] = {
        "create": tokens.create,
        "list": tokens.list_tokens,
        "quota": tokens.change_quotas,
        "revoke": tokens.revoke,
    }
    group = typer.Typer(
        help="Make, list, change and revoke the tokens of a server, in its database.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name, command in commands.items():
        group.command(name)(speaking(command))
    return typer.main.get_command(group)


ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""For commands that take a value, because a negative one would otherwise be taken for an option."""

CALLS: dict[str, Callable[..., None]] = {
    "suggest": trials.suggest,
    "observe": trials.observe,
    "observe-many": trials.observe_many,
    "add": trials.add,
    "import-results": importing.import_results,
    "queue": trials.queue,
    "fail": trials.fail_trial,
    "release": trials.release,
    "heartbeat": trials.heartbeat,
    "report": curves.report,
    "curve": curves.curve,
    "retry": trials.retry,
    "annotate": trials.annotate,
    "trials": trials.list_trials,
    "why": trials.why,
    "observations": results.list_observations,
    "correct": results.correct,
    "exclude": results.exclude,
    "include": results.include,
    "recommend": results.recommend,
    "front": results.front,
    "predict": results.predict,
    "importance": analysis.importance,
    "slice": analysis.slice_,
    "model": results.model,
    "partition": analysis.partition,
    "tree": results.tree,
    "dictionary": results.dictionary,
    "events": results.events,
    "watch": results.watch,
    "pause": studies.pause,
    "resume": studies.resume,
    "update": studies.update,
    "export": studies.export,
    "whoami": sharing.whoami,
}
WITH_VALUES = ("observe", "add", "correct", "report")

app.command("run")(speaking(run))
for name, command in CALLS.items():
    app.command(name, context_settings=NEGATIVE_NUMBERS if name in WITH_VALUES else None)(speaking(calling(command)))
study.command("create")(speaking(calling(studies.create_study)))
study.command("list")(speaking(calling(studies.list_studies)))
study.command("show")(speaking(calling(studies.show_study)))
study.command("delete")(speaking(calling(trash.delete_study)))
study.command("trash")(speaking(calling(trash.list_trash)))
study.command("restore")(speaking(calling(trash.restore_study)))
study.command("purge")(speaking(calling(trash.purge_study)))
study.command("access")(speaking(calling(sharing.show_access)))
study.command("share")(speaking(calling(sharing.share)))
study.command("unshare")(speaking(calling(sharing.unshare)))
study.command("give")(speaking(calling(sharing.give)))
study.command("link")(speaking(calling(sharing.link)))
study.command("links")(speaking(calling(sharing.list_links)))
study.command("unlink")(speaking(calling(sharing.unlink)))
kept.command("list")(speaking(outbox.list_kept))
kept.command("send")(speaking(calling(outbox.send)))
kept.command("drop")(speaking(outbox.drop))


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

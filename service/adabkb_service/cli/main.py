"""The commands of ``adabkb``."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from adabkb_service.cli.identifiers import checking
from adabkb_service.cli.output import fail, speaking

SERVER: dict[str, str | dict[str, str]] = {
    "serve": "server.serve",
    "work": "worker.work",
    "migrate": "maintenance.migrate",
    "backup": "maintenance.backup",
    "restore": "maintenance.restore",
    "copy": "maintenance.copy",
    "doctor": "maintenance.doctor",
    "replay": "replaying.replay",
    "import": "maintenance.import_",
    "token": {
        "create": "tokens.create",
        "list": "tokens.list_tokens",
        "quota": "tokens.change_quotas",
        "revoke": "tokens.revoke",
    },
    "audit": "tokens.show_audit",
}
"""Commands that need the server's packages: the module and the function of each, or the commands of a group."""

CLIENT: dict[str, str | dict[str, str]] = {
    "run": "run.run",
    "suggest": "trials.suggest",
    "observe": "trials.observe",
    "observe-many": "trials.observe_many",
    "add": "trials.add",
    "import-results": "importing.import_results",
    "queue": "trials.queue",
    "fail": "trials.fail_trial",
    "release": "trials.release",
    "heartbeat": "trials.heartbeat",
    "report": "curves.report",
    "curve": "curves.curve",
    "retry": "trials.retry",
    "annotate": "trials.annotate",
    "trials": "trials.list_trials",
    "why": "trials.why",
    "observations": "results.list_observations",
    "correct": "results.correct",
    "exclude": "results.exclude",
    "include": "results.include",
    "recommend": "results.recommend",
    "front": "results.front",
    "predict": "results.predict",
    "importance": "analysis.importance",
    "slice": "analysis.slice_",
    "model": "results.model",
    "partition": "analysis.partition",
    "tree": "results.tree",
    "dictionary": "results.dictionary",
    "events": "results.events",
    "watch": "results.watch",
    "pause": "studies.pause",
    "resume": "studies.resume",
    "update": "studies.update",
    "export": "studies.export",
    "whoami": "sharing.whoami",
    "mcp": "agents.mcp",
    "study": {
        "create": "studies.create_study",
        "list": "studies.list_studies",
        "show": "studies.show_study",
        "delete": "trash.delete_study",
        "trash": "trash.list_trash",
        "restore": "trash.restore_study",
        "purge": "trash.purge_study",
        "access": "sharing.show_access",
        "share": "sharing.share",
        "unshare": "sharing.unshare",
        "give": "sharing.give",
        "link": "sharing.link",
        "links": "sharing.list_links",
        "unlink": "sharing.unlink",
    },
    "outbox": {"list": "outbox.list_kept", "send": "outbox.send", "drop": "outbox.drop"},
}
"""The other commands, likewise."""

ALONE = ("agents.mcp", "outbox.list_kept", "outbox.drop", "run.run")
"""Functions of clients that do not take the server as their first argument."""

GROUPS = {
    "token": "Make, list, change and revoke the tokens of a server, in its database.",
    "study": "Create, list, show and delete the studies of a server.",
    "outbox": "List, send and drop results that wait on this machine for a server.",
}
"""What the commands of a group do."""

ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""For commands that take a value, because a negative one would otherwise be taken for an option."""
WITH_VALUES = ("observe", "add", "correct", "report")


class Commands(TyperGroup):
    """All commands. A command is imported when it is asked for: to import all of them takes seconds."""

    # Contexts and commands are click's, of which typer has a copy of its own, or not, by its version.

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        names: Any = dict.fromkeys([*SERVER, *CLIENT])
        self.commands = names  # for the help, and for what a misspelt one is nearest to

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (click's)
        """Return a command, or None if there is none of that name."""
        if cmd_name in SERVER:
            return _server_command(cmd_name)
        return _made(cmd_name, CLIENT[cmd_name], _client_function) if cmd_name in CLIENT else None


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _need_server() -> None:
    """Needs the server's packages: pip install 'adabkb-service[server]'."""
    fail("this command needs the server's packages; install them: pip install 'adabkb-service[server]'")


def _server_command(name: str) -> Any:
    """A command that needs the server's packages. Where these are missing, it says what to install."""
    try:
        return _made(name, SERVER[name], _function)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("adabkb_service"):
            raise
        return _alone(name, _need_server, ANYTHING)


def _made(name: str, where: str | Mapping[str, str], found: Callable[[str], Callable[..., None]]) -> Any:
    """A command, or the group of the commands that are there."""
    if isinstance(where, str):
        return _alone(name, found(where), NEGATIVE_NUMBERS if name in WITH_VALUES else None)
    group = typer.Typer(
        help=GROUPS[name],
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for each, function in where.items():
        group.command(each)(speaking(checking(found(function))))
    return typer.main.get_command(group)


def _client_function(where: str) -> Callable[..., None]:
    """A function of a client, with the options that name the server, if it calls one."""
    function = _function(where)
    if where in ALONE:
        return function
    calling: Callable[..., Callable[..., None]] = _imported("calling").calling
    return calling(function)


def _function(where: str) -> Callable[..., None]:
    module, _, name = where.partition(".")
    function: Callable[..., None] = getattr(_imported(module), name)
    return function


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
    alone.command(name, context_settings=settings)(speaking(checking(command)))
    return typer.main.get_command(alone)


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

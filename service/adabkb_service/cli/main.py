"""The commands of ``adabkb``."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

from adabkb_service.cli.groups import Command, Group
from adabkb_service.cli.identifiers import checking
from adabkb_service.cli.output import AsJson, echo_error, fail, printing_failures

SECTIONS: dict[str, dict[str, str | dict[str, str]]] = {
    "Long-running programs": {
        "serve": "server.serve",
        "run": "run.run",
        "work": "worker.work",
        "mcp": "agents.mcp",
    },
    "Work with a server": {
        "study": {
            "create": "creation.create_study",
            "list": "studies.list_studies",
            "show": "studies.show_study",
            "assessment": "analysis.assessment",
            "recommendation": "results.recommendation",
            "front": "results.front",
            "update": "studies.update",
            "rows": "catalogues.rows",
            "change-catalogue": "catalogues.change_catalogue",
            "pause": "studies.pause",
            "resume": "studies.resume",
            "watch": "results.watch",
            "events": "results.events",
            "export": "studies.export",
            "export-report": "studies.export_report",
            "webhooks": "webhooks.list_webhooks",
            "add-webhook": "webhooks.add",
            "change-webhook": "webhooks.change",
            "remove-webhook": "webhooks.remove",
            "delete": "trash.delete_study",
        },
        "trial": {
            "suggest": "trials.suggest",
            "queue": "trials.queue",
            "repeat": "trials.repeat",
            "list": "trials.list_trials",
            "why": "trials.why",
            "report": "curves.report",
            "curve": "curves.curve",
            "heartbeat": "trials.heartbeat",
            "fail": "trials.fail_trial",
            "release": "trials.release",
            "withdraw": "trials.withdraw",
            "retry": "trials.retry",
            "annotate": "trials.annotate",
            "files": "files.list_files",
            "add-file": "files.add",
            "read-file": "files.read",
            "remove-file": "files.remove",
        },
        "result": {
            "observe": "trials.observe",
            "observe-many": "trials.observe_many",
            "add": "trials.add",
            "import": "importing.import_results",
            "list": "results.list_observations",
            "correct": "results.correct",
            "exclude": "results.exclude",
            "include": "results.include",
            "annotate": "results.annotate",
            "files": "files.list_of_result",
            "add-file": "files.add_to_result",
            "read-file": "files.read_of_result",
            "remove-file": "files.remove_from_result",
        },
        "model": {
            "show": "results.model",
            "predict": "results.predict",
            "importance": "analysis.importance",
            "validation": "analysis.validation",
            "slice": "analysis.slice_",
            "partition": "analysis.partition",
            "dictionary": "results.dictionary",
        },
        "access": {
            "whoami": "sharing.whoami",
            "usage": "sharing.usage",
            "show": "sharing.show_access",
            "share": "sharing.share",
            "unshare": "sharing.unshare",
            "give": "sharing.give",
            "give-all": "sharing.give_all",
            "link": "sharing.link",
            "links": "sharing.list_links",
            "unlink": "sharing.unlink",
        },
        "trash": {"list": "trash.list_trash", "restore": "trash.restore_study", "purge": "trash.purge_study"},
        "server": {"status": "server_state.status", "metrics": "server_state.metrics"},
    },
    "Work with this machine": {
        "outbox": {"list": "outbox.list_kept", "send": "outbox.send", "drop": "outbox.drop"},
    },
    "Administer a database": {
        "data": {
            "migrate": "maintenance.migrate",
            "backup": "maintenance.backup",
            "restore": "maintenance.restore",
            "copy": "maintenance.copy",
            "import": "maintenance.import_",
            "doctor": "maintenance.doctor",
            "replay": "replay.replay",
            "audit": "tokens.show_audit",
            "erase-user": "erasure.erase_user",
        },
        "token": {
            "create": "tokens.create",
            "list": "tokens.list_tokens",
            "quota": "tokens.change_quotas",
            "revoke": "tokens.revoke",
        },
        "session": {"list": "sessions.list_sessions", "end": "sessions.end"},
    },
}
"""The commands and groups by heading of the help: the module and the function of each command."""

SUMMARIES = {
    "serve": "Run a server.",
    "run": "Evaluate the trials of a study with a program.",
    "work": "Run a model worker for servers that share a PostgreSQL database.",
    "mcp": "Give agents tools to work on studies.",
    "study": "Create, list, show, change, watch, export and delete studies.",
    "trial": "Ask for trials; list, explain and release them.",
    "result": "Report, add, import, list and correct results.",
    "model": "Show what the model predicts and what it has learned.",
    "access": "Show your access, and share studies.",
    "trash": "List, restore and purge deleted studies.",
    "server": "Show the state and the metrics of a server.",
    "outbox": "List, send and drop results that wait for a server.",
    "data": "Back up, migrate, copy and check a database.",
    "token": "Create, list, change and revoke the tokens of a server.",
    "session": "List people who have logged in, and end their sessions.",
}
"""One-line descriptions of the commands and groups of the first level."""

COMMANDS = {name: where for section in SECTIONS.values() for name, where in section.items()}
NEED_SERVER = ("serve", "work", "data", "token", "session")
"""Commands and groups that need the server's packages."""
ALONE = ("agents.mcp", "outbox.list_kept", "outbox.drop", "run.run")
"""Functions of client commands that do not take the server as their first argument."""
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}
PLAIN: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


OTHER_NAMES = {
    "add-result-file": ("result add-file",),
    "ask": ("trial suggest",),
    "best": ("study show", "study recommendation"),
    "export-excel": ("study export",),
    "info": ("study show",),
    "lease": ("trial suggest", "run"),
    "observations": ("result list",),
    "optimize": ("run",),
    "read-result-file": ("result read-file",),
    "remove-result-file": ("result remove-file",),
    "report": ("study export-report",),
    "report-many": ("trial report",),
    "results": ("result list",),
    "retry-failed": ("trial retry",),
    "status": ("study show",),
    "stop": ("study pause",),
    "studies": ("study list",),
    "tell": ("result observe",),
    "to-frame": ("study export",),
    "trials": ("trial list",),
}
"""Names that people try, such as the methods of the Python client, and the paths of the commands for them."""
_CHARTS = "The page of the study has charts: open URL/studies/STUDY in a browser. In Python, study.plot draws them."
ELSEWHERE = {
    **dict.fromkeys(("chart", "charts", "figure", "plot", "plots"), _CHARTS),
    "with-options": "Give --url, --token or --retry-for before or after a command.",
}
"""Names that people try and for which there is no command, and what to do instead."""


def _paths() -> dict[str, list[str]]:
    """Return the paths of all commands, by the last word of the command and by other names."""
    found: dict[str, list[str]] = {}
    for name, where in COMMANDS.items():
        found.setdefault(name, []).append(name)
        for each in where if isinstance(where, Mapping) else ():
            found.setdefault(each, []).append(f"{name} {each}")
    for name, paths in OTHER_NAMES.items():
        found.setdefault(name, []).extend(paths)
    return found


PATHS = _paths()
UsageError: Any = typer.BadParameter.__base__
"""The error of click for wrong options and arguments; depending on its version, typer bundles a copy of click."""


class Root(Group):
    """All commands."""

    def __init__(self, **options: Any) -> None:
        members = {name: partial(_member, name, where) for name, where in COMMANDS.items()}
        sections = {heading: list(section) for heading, section in SECTIONS.items()}
        super().__init__(
            members=members, paths=PATHS, elsewhere=ELSEWHERE, sections=sections, summaries=SUMMARIES, **options
        )
        self._is_json = False

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the options before the command."""
        before_program = args[: args.index("--")] if "--" in args else args
        self._is_json = "--json" in before_program
        with self._usage_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Parse the rest of the arguments, and run the command."""
        with self._usage_errors():
            return super().invoke(ctx)

    @contextmanager
    def _usage_errors(self) -> Iterator[None]:
        """Inside the block, print an error of usage as JSON if ``--json`` is among the arguments."""
        try:
            yield
        except UsageError as error:
            if not self._is_json:
                raise
            echo_error({"error": error.format_message()})
            raise typer.Exit(error.exit_code) from None


app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 failed or refused, 2 wrong usage.",
)


def _member(name: str, where: str | Mapping[str, str]) -> Any:
    """Return a command of the first level, or a group."""
    needs_server = name in NEED_SERVER
    if isinstance(where, str):
        return _command(name, where, needs_server)
    members = {each: partial(_command, each, function, needs_server) for each, function in where.items()}
    return Group(
        name=name,
        group=name,
        members=members,
        paths=PATHS,
        elsewhere=ELSEWHERE,
        help=SUMMARIES[name],
        no_args_is_help=True,
        rich_markup_mode=None,
    )


@cache
def _command(name: str, where: str, needs_server: bool) -> Any:
    """Return a command. If its packages are missing, the command says how to install them."""
    try:
        function = _function(where)
    except ModuleNotFoundError as missing:
        if not needs_server or (missing.name or "").startswith("adabkb_service"):
            raise
        return _make(name, _need_server, ANYTHING)
    if not needs_server and where not in ALONE:
        with_server: Callable[..., Callable[..., None]] = _imported("server_calls").with_server
        function = with_server(function)
    return _make(name, function)


def _need_server(as_json: AsJson = False) -> None:  # noqa: ARG001 (read by ``printing_failures``)
    """Needs the server's packages: pip install 'adabkb-service[server]'."""
    fail("this command needs the server's packages; install them: pip install 'adabkb-service[server]'")


def _function(where: str) -> Callable[..., None]:
    module, _, name = where.partition(".")
    function: Callable[..., None] = getattr(_imported(module), name)
    return function


@cache
def _imported(module: str) -> Any:
    gc.disable()  # imported objects are not garbage, and checking them takes a fifth of a command's time
    try:
        imported = import_module(f"adabkb_service.cli.{module}")
        gc.freeze()
        return imported
    finally:
        gc.enable()


def _make(name: str, function: Callable[..., None], settings: dict[str, Any] | None = None) -> Any:
    alone = typer.Typer(**PLAIN)
    alone.command(name, cls=Command, context_settings=settings)(printing_failures(checking(function)))
    command = typer.main.get_command(alone)
    if isinstance(command, Command) and (names := command.global_options()):
        command.epilog = f"Global options (adabkb --help): {', '.join(names)}"
    return command


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adabkb {version('adabkb-service')}")
        raise typer.Exit


@app.callback()
def options(
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar="ADABKB_URL",
            metavar="URL",
            show_envvar=False,
            help="server (default $ADABKB_URL or http://127.0.0.1:8000)",
        ),
    ] = None,
    local: Annotated[
        Path | None,
        typer.Option("--local", metavar="FILE", help="use the server of this SQLite file, started if needed"),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="ADABKB_TOKEN",
            metavar="TOKEN",
            show_envvar=False,
            help="your token (default $ADABKB_TOKEN)",
        ),
    ] = None,
    retry_for: Annotated[
        float | None,
        typer.Option(
            "--retry-for",
            envvar="ADABKB_RETRY_FOR",
            metavar="SECONDS",
            min=0,
            show_envvar=False,
            help="retry time (default $ADABKB_RETRY_FOR or 5)",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the answer, or the error, as JSON")] = False,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Run or use an optimization server. Options may also follow the command."""

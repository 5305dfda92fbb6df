"""``adabkb outbox``: results kept on this machine because their server did not answer or refused them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

import typer

from adabkb_client import KeptResult, Outbox
from adabkb_client._http.outbox import delivery, described
from adabkb_service.cli.described import point
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.server_calls import Server, silence

SHORT = 8
"""Number of characters of an idempotency key that identify a result on one machine."""
SHOWN = ("trial", "parameters", "value", "std_error", "metrics", "std_errors", "partial", "state", "reason")
"""The parts of a result that its JSON has; null for those that it lacks."""
AGES = (("days", 86400), ("hours", 3600), ("minutes", 60))

KeptFor = Annotated[
    str | None,
    typer.Option(metavar="SERVER", help="server for which the results were kept, as listed", show_default=False),
]


class Entry(NamedTuple):
    """A kept result, and its outbox."""

    outbox: Outbox
    kept: KeptResult


def list_kept(kept_for: KeptFor = None, as_json: AsJson = False) -> None:
    """List the results that are kept on this machine.

    They were not sent yet, or their server refused them. Each is listed with its last error or its refusal.
    """
    entries = _entries(kept_for)
    show([_document(entry) for entry in entries], _listed(entries), as_json=as_json)


def send(
    server: Server,
    kept_for: KeptFor = None,
    refused: Annotated[
        bool, typer.Option("--refused", help="also send results that the server refused before")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send the results that wait for the server.

    The exit code is 1 if any result is not stored.

    \b
    adabkb outbox send --url http://new:8000 --kept-for http://old:8000

    If a server has moved, give its old address with --kept-for.
    """
    outbox = Outbox(kept_for or server.name)
    for kept in outbox.refused() if refused else ():
        outbox.put_back(kept)
    with silence():  # the outcome of each result is printed below
        delivered = server.perform(delivery(outbox))
    waiting = outbox.waiting()
    lines = [
        f"{len(delivered.sent)} sent to {server.shown}, {len(delivered.refused)} refused, {len(waiting)} not sent yet."
    ]
    lines += [_line(Entry(outbox, kept)) for kept in (*delivered.refused, *waiting)]
    if not any((delivered.sent, delivered.refused, waiting)):
        lines = [f"Nothing waits for {outbox.server}."]
        if others := [other.server for other in Outbox.every() if other.server != outbox.server and other.waiting()]:
            lines.append(f"There are results for {', '.join(others)}; if that server has moved here: --kept-for SERVER")
    by_outcome = {"sent": delivered.sent, "refused": delivered.refused, "waiting": waiting}
    document = {
        outcome: [_document(Entry(outbox, kept)) for kept in results] for outcome, results in by_outcome.items()
    }
    show(document, "\n".join(lines), as_json=as_json)
    if delivered.refused or waiting:
        raise typer.Exit(1)


def drop(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="ids as listed; all results if not given")
    ] = None,
    kept_for: KeptFor = None,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete results that wait or were refused. This cannot be undone."""
    entries = _chosen(_entries(kept_for), ids or ())
    if entries and not yes:
        if not sys.stdin.isatty():
            fail(f"there is no terminal to confirm the deletion of {len(entries)} results; pass --yes")
        typer.echo(_listed(entries), err=True)
        typer.confirm(f"Delete these ({len(entries)}) permanently?", abort=True, err=True)
    for entry in entries:
        entry.outbox.remove(entry.kept)
    show([_document(entry) for entry in entries], f"Dropped: {len(entries)}.", as_json=as_json)


def _entries(kept_for: str | None) -> list[Entry]:
    outboxes = Outbox.every() if kept_for is None else [Outbox(kept_for)]
    return [Entry(outbox, kept) for outbox in outboxes for kept in (*outbox.waiting(), *outbox.refused())]


def _chosen(entries: Sequence[Entry], ids: Iterable[str]) -> list[Entry]:
    """Return the entries with these ids; all if none are given."""
    by_id = {_id(entry.kept): entry for entry in entries}
    for wanted in ids:
        if wanted not in by_id:
            fail(f"there is no kept result {wanted!r}; list them: adabkb outbox list")
    return [by_id[wanted] for wanted in ids] or list(entries)


def _id(kept: KeptResult) -> str:
    return kept.idempotency_key[:SHORT]


def _listed(entries: Sequence[Entry]) -> str:
    lines: list[str] = []
    for server in dict.fromkeys(entry.outbox.server for entry in entries):
        lines += [f"for {server}:", *(_line(entry) for entry in entries if entry.outbox.server == server)]
    return "\n".join(lines) or "No results wait on this machine."


def _line(entry: Entry) -> str:
    kept = entry.kept
    problem = (
        f"; refused: {kept.refusal}" if kept.refusal else f"; last error: {kept.last_error}" if kept.last_error else ""
    )
    return f"  {_id(kept)} {kept.study} {_result(kept.body)}, kept {_age(kept)} ago{problem}"


def _result(body: dict[str, Any]) -> str:
    where = f"trial {body['trial']}" if body.get("trial") else point(body.get("parameters") or {})
    return f"{where}: {described(body)}"


def _age(kept: KeptResult) -> str:
    seconds = _seconds(kept)
    for unit, length in AGES:
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _seconds(kept: KeptResult) -> int:
    return max(round((datetime.now(UTC) - datetime.fromisoformat(kept.kept_at)).total_seconds()), 0)


def _document(entry: Entry) -> dict[str, Any]:
    kept = entry.kept
    return {
        "id": _id(kept),
        "server": entry.outbox.server,
        "study": kept.study,
        **{name: kept.body.get(name) for name in SHOWN},
        "kept_at": kept.kept_at,
        "seconds": _seconds(kept),
        "refusal": kept.refusal,
        "last_error": kept.last_error,
        "file": str(entry.outbox.file(kept)),
    }

"""Commands about a running server."""

from __future__ import annotations

import typer

from adabkb_client import _client_calls as client_calls
from adabkb_service.cli.output import AsJson, show
from adabkb_service.cli.server_calls import Server


def status(server: Server, as_json: AsJson = False) -> None:
    """Show the versions of a server, and whether all of its parts work.

    The parts are the database, its schema, the check for expired leases, and the models. If one does not work, the
    exit code is 1. No token is needed.
    """
    versions = server.perform(client_calls.server_version())
    errors = server.perform(client_calls.readiness())
    lines = [
        f"{server.shown} has version {versions['version']}, API {versions['api']}, schema {versions['schema']}.",
        *(f"{error['pointer'].lstrip('/')}: {error['detail']}" for error in errors),
        "It is not ready." if errors else "It is ready: the database, the check for leases and the models work.",
    ]
    document = {"server": server.shown, **versions, "ready": not errors, "errors": errors}
    show(document, "\n".join(lines), as_json=as_json)
    if errors:
        raise typer.Exit(1)


def metrics(server: Server, as_json: AsJson = False) -> None:
    """Print the metrics of a server in Prometheus' format.

    \b
    adabkb server metrics | grep adabkb_suggest
    """
    text = server.perform(client_calls.server_metrics())
    show({"metrics": text}, text.rstrip("\n"), as_json=as_json)

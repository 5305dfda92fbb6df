"""``adabkb mcp``."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import Annotated, Any

import typer

from adabkb_client._http.connection import DEFAULT_URL, RemoteServer, Settings
from adabkb_service.cli.output import fail
from adabkb_service.cli.server_calls import (
    RETRY_SECONDS,
    TIMEOUT,
    Local,
    RetryFor,
    Token,
    Url,
    checked,
    local_server,
    sendable,
)

LONGEST_WORKER = 200
"""The maximum length of the name of an agent, in characters. Over HTTP, a part of the session's id is added to it."""


def mcp(
    read_only: Annotated[bool, typer.Option("--read-only", help="offer only tools that change nothing")] = False,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="serve streamable HTTP at /mcp on a loopback address; port 0 picks a free port",
            show_default="stdio",
        ),
    ] = None,
    worker: Annotated[
        str | None,
        typer.Option(
            "--worker",
            metavar="NAME",
            help="name of the agent as a worker, one for each agent",
            show_default="user and host",
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    local: Local = None,
    token: Token = None,
    retry_for: RetryFor = RETRY_SECONDS,
) -> None:
    """Give agents tools to work on studies.

    This command is a server of the Model Context Protocol (MCP). The agent's program starts it and communicates with it
    over standard input and output:

    \b
    {"mcpServers": {"adabkb": {"command": "adabkb", "args": ["mcp", "--read-only"],
      "env": {"ADABKB_URL": "http://127.0.0.1:8000", "ADABKB_TOKEN": "..."}}}}

    The tools have the permissions of your token. No tool deletes anything.
    """
    serving = _serving()
    address = None if http is None else _loopback(serving, http)
    _check_worker(worker)
    token = sendable(token)
    server = RemoteServer(checked(url)) if local is None else local_server(local)
    settings = Settings(server, token, TIMEOUT, retry_for, outbox=None)
    if address is None:
        serving.serve_stdio(settings, read_only=read_only, worker=worker)
        return
    with closing(_listener(*address)) as listener:
        serving.serve_http(settings, listener, read_only=read_only, worker=worker, on_start=_listening)


def _serving() -> Any:
    """Import the package that needs the extra ``mcp``."""
    try:
        import adabkb_client.mcp as serving  # noqa: PLC0415 (an optional dependency)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("adabkb"):
            raise
        fail("this command needs the package mcp; install it: pip install 'adabkb-service[mcp]'")
    return serving


def _check_worker(worker: str | None) -> None:
    """End the command if the server would refuse the name. Otherwise each call of ``suggest`` would fail."""
    if worker is None:
        return
    if len(worker) > LONGEST_WORKER:
        fail(f"--worker must have at most {LONGEST_WORKER} characters, but it has {len(worker)}")
    if not worker.isprintable():
        fail("--worker must be one line of printable characters")


def _loopback(serving: Any, address: str) -> tuple[str, int]:
    try:
        found: tuple[str, int] = serving.loopback(address)
    except ValueError as error:
        fail(f"--http {error}")
    return found


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        cause = os.strerror(error.errno) if error.errno else str(error)
        fail(f"cannot listen on {host}:{port} ({cause}); give another port, or 0 to pick a free one")


def _listening(url: str) -> None:
    typer.echo(f"adabkb mcp: listening on {url}")

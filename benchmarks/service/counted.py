"""``python -m benchmarks.service.counted DATABASE``: our server, which counts its database operations.

``GET /counts`` returns the numbers of calls of suggest and observe, of commits of transactions that wrote, and of
statements other than BEGIN, SET, SAVEPOINT and RELEASE. Several calls may share a commit, so only means over calls are
meaningful. The model process, which occasionally stores its state, is not counted.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections import Counter
from typing import Any

import sqlalchemy as sa
import uvicorn
from sqlalchemy import event
from starlette.types import ASGIApp, Receive, Scope, Send

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.cli.server import GRACE_SECONDS, Server
from adabkb_service.settings import Settings

WRITING = ("INSERT", "UPDATE", "DELETE")
CALLS = ("/suggest", "/observe")


class Counts:
    """Counters, shared by all threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._guard = threading.Lock()

    def add(self, name: str) -> None:
        """Add 1 to a count."""
        with self._guard:
            self._counts[name] += 1

    def report(self) -> dict[str, int]:
        """All counts so far."""
        with self._guard:
            return dict(self._counts)


class CallMiddleware:
    """Counts calls."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http" and scope["path"].endswith(CALLS):
            self._counts.add("calls")
        await self._app(scope, receive, send)


def listen(engine: sa.Engine | type[sa.Engine], counts: Counts) -> None:
    """Count statements and commits of a database."""

    def on_statement(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("BEGIN", "SET", "SAVEPOINT", "RELEASE")):
            return
        counts.add("statements")
        if statement.startswith(WRITING):
            connection.info["wrote"] = True

    def on_commit(connection: sa.Connection) -> None:
        if connection.info.pop("wrote", False):
            counts.add("commits")

    def on_rollback(connection: sa.Connection) -> None:
        connection.info.pop("wrote", None)

    event.listen(engine, "before_cursor_execute", on_statement)
    event.listen(engine, "commit", on_commit)
    event.listen(engine, "rollback", on_rollback)


def main() -> None:
    counts = Counts()
    listen(sa.Engine, counts)
    app = create_app(Settings(database=sys.argv[1]))
    app.add_middleware(CallMiddleware, counts=counts)
    app.add_api_route("/counts", counts.report)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_SECONDS)
    Server(config, parts_of(app).service.stopping).run(sockets=[socket.create_server(("127.0.0.1", 0))])


if __name__ == "__main__":
    main()

"""A server process that performs one operation, and may be killed at a chosen point of it.

A transaction becomes visible in a database only at its commit. So all instructions between two commits are equivalent,
and kills before the first commit and after each commit cover every instruction up to the reply. A kill after the reply
is another case, since a client with a reply does not repeat its request.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, Literal

from sqlalchemy import Engine, PoolProxiedConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adabkb_service.api.parts import parts_of
from adabkb_service.inference.fork_server import PRELOADED
from tests.acceptance.crash.server import Answer, Call, Operation, application, running

KEY = "the-same-for-every-try"

_PROCESSES = multiprocessing.get_context("forkserver")  # it has no threads, and has imported everything


def preload() -> None:
    """Preload modules before the first process is forked.

    Not at import, since every test process imports this module.
    """
    _PROCESSES.set_forkserver_preload([__name__, "psycopg", *PRELOADED, "tests.acceptance.crash.warmed"])


@dataclass(frozen=True)
class Point:
    """A moment in an operation."""

    when: Literal["before commit", "after commit", "after reply"]
    commit: int = 0
    """Number of the commit in the process, from 1."""

    def __str__(self) -> str:
        return f"{self.when} {self.commit or ''}".rstrip()


AFTER_REPLY = Point("after reply")


@dataclass(frozen=True)
class Survival:
    """The outcome of a process that was not killed."""

    answer: Answer
    commits: int


def points(operation: Operation, survival: Survival) -> Iterator[Point]:
    """Return a point for each state in which a kill could have left the database."""
    yield Point("before commit", 1)
    for commit in range(1, survival.commits + 1):
        yield Point("after commit", commit)
    if isinstance(operation, Call):
        yield AFTER_REPLY


def survive(database_url: str, operation: Operation) -> Survival:
    """Perform the operation in a new process."""
    reports, exit_code = _process(database_url, operation, None)
    assert exit_code == 0, f"the process ended with {exit_code}"
    survival = reports[-1]
    assert isinstance(survival, Survival)
    return survival


def die(database_url: str, operation: Operation, death: Point) -> bool:
    """Perform the operation in a new process that is killed. Return whether the client got the reply before."""
    reports, exit_code = _process(database_url, operation, death)
    assert exit_code == -signal.SIGKILL, f"not killed {death}; the process ended with {exit_code}"
    return AFTER_REPLY in reports


def _process(database_url: str, operation: Operation, death: Point | None) -> tuple[list[Point | Survival], int | None]:
    """Return the reports of the process, and its exit code."""
    receiver, sender = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_main, args=(database_url, operation, death, sender))
    process.start()
    sender.close()
    reports: list[Point | Survival] = []
    with receiver:
        try:
            while True:
                reports.append(receiver.recv())
        except EOFError:
            process.join()
    return reports, process.exitcode


def _main(database_url: str, operation: Operation, death: Point | None, sender: Connection) -> None:
    def reach(point: Point) -> None:
        if point == AFTER_REPLY:
            sender.send(point)
        if point == death:
            os.kill(os.getpid(), signal.SIGKILL)

    _share_forkserver()
    sender.send(asyncio.run(_perform(database_url, operation, reach)))


def _share_forkserver() -> None:
    """Fork the model process from the same fork server as this process; Python 3.11 would start another one."""
    shared: Any = forkserver._forkserver
    shared.ensure_running = lambda: None


async def _perform(database_url: str, operation: Operation, reach: Callable[[Point], None]) -> Survival:
    app = application(database_url)
    commits = _Commits(parts_of(app).service.database.engine, reach)
    async with running(app, _door(app, reach)) as server:
        return Survival(await server.perform(operation, KEY), commits.count)


class _Commits:
    """Counts the commits of an engine. There is a point before and after each."""

    def __init__(self, engine: Engine, reach: Callable[[Point], None]) -> None:
        self.count = 0
        self._guard = threading.Lock()
        self._reach = reach
        self._commit = engine.dialect.do_commit
        engine.dialect.do_commit = self._do_commit  # type: ignore[method-assign]

    def _do_commit(self, dbapi_connection: PoolProxiedConnection) -> None:
        with self._guard:  # several threads commit
            self.count += 1
            number = self.count
        self._reach(Point("before commit", number))
        self._commit(dbapi_connection)
        self._reach(Point("after commit", number))


def _door(app: ASGIApp, reach: Callable[[Point], None]) -> ASGIApp:
    """Wrap the application, so that the end of its reply is a point."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_reach(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                reach(AFTER_REPLY)

        await app(scope, receive, send_and_reach)

    return door

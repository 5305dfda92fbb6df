"""Run a proxy in a separate process, since sixty clients keep this one busy."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from typing import Any, Protocol


class Proxy(Protocol):
    """The proxy in the separate process."""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""

    def obey(self, command: Any) -> Any:
        """Perform a command of the parent process, and return the reply."""


class Commands:
    """The separate process, as controlled by its parent."""

    def __init__(self, port: int, pipe: Connection) -> None:
        self.port = port
        self._pipe = pipe

    def send(self, command: Any) -> Any:
        """Send a command, and return the reply."""
        self._pipe.send(command)
        return self._pipe.recv()


@contextmanager
def proxy_process(make: Callable[..., Proxy], *arguments: Any) -> Iterator[Commands]:
    """Run a proxy in a separate process within the block, on a free port of the loopback interface."""
    spawn = multiprocessing.get_context("spawn")
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_run, args=(listener, theirs, make, *arguments), daemon=True)
        process.start()
        theirs.close()
        with closing(ours):
            yield Commands(listener.getsockname()[1], ours)
        process.join(10)  # it ends when the pipe does


def _run(listener: socket.socket, pipe: Connection, make: Callable[..., Proxy], *arguments: Any) -> None:
    asyncio.run(_serve(listener, pipe, make(*arguments)))


async def _serve(listener: socket.socket, pipe: Connection, proxy: Proxy) -> None:
    over = asyncio.Event()

    def obey() -> None:
        try:
            command = pipe.recv()
        except (EOFError, ConnectionError):  # the parent process has ended
            over.set()
            asyncio.get_running_loop().remove_reader(pipe.fileno())
        else:
            pipe.send(proxy.obey(command))

    asyncio.get_running_loop().add_reader(pipe.fileno(), obey)
    server = await asyncio.start_server(proxy.connected, sock=listener)
    await over.wait()
    server.close()

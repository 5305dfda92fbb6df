"""Real servers for tests: in a thread, or as a process that can be killed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from adabkb_service.api.connections import config
from adabkb_service.app import create_app
from adabkb_service.settings import Settings


@contextmanager
def serving(app: FastAPI, port: int = 0, grace_seconds: int = 1) -> Iterator[str]:
    """A uvicorn in a thread, on a free port unless one is given; yields its address once it answers. As it ends, it
    gives up requests that are not answered after some seconds."""
    listener = socket.create_server(("127.0.0.1", port))
    server = PromptServer(config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=grace_seconds))
    thread = threading.Thread(target=server.run, name="event loop", kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert server.ready.wait(60), "the server did not start"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()


def free_port() -> int:
    """One that nobody listens at, and that the system gives to nobody who asks for any port."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def server_on(database_url: str, **settings: Any) -> Iterator[str]:
    """A server on a database; its models are in this process, which spares the start of another."""
    with serving(create_app(Settings(database=database_url, **{"model_processes": 0, **settings}))) as address:
        yield address


class PromptServer(uvicorn.Server):
    """Starts and stops as soon as it can. uvicorn itself notices after 0.1 s that it is to stop, and then waits for
    another 0.1 s, also where no connection is open: in most tests that is longer than all the rest."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.sleep(0.01)  # in which it notices that clients have left
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        await self.lifespan.shutdown()


@dataclass
class ServerProcess:
    """``adabkb serve`` as a process of its own."""

    address: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """kill -9: nothing gets a chance to be tidied up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)


ADABKB = (str(Path(sys.executable).with_name("adabkb")),)


@contextmanager
def server_process(database_url: str, program: tuple[str, ...] = ADABKB, **settings: Any) -> Iterator[ServerProcess]:
    """Start ``adabkb serve`` on a free port and read its address from the line it prints when ready. Its models are in
    this one process, unless the settings say otherwise."""
    command = [*program, "serve", "--port", "0", "--database", database_url]
    chosen = {"model_processes": 0, **settings}
    environment = {**os.environ, **{f"ADABKB_{name.upper()}": str(value) for name, value in chosen.items()}}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "listening on http://" in line, line
            yield ServerProcess(line.split()[-1], process)
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def worker_process(database_url: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """``adabkb work`` as a process of its own, whose models are in this one process; yields it once it is ready."""
    command = [*ADABKB, "work", "--database", database_url, *arguments]
    environment = {**os.environ, "ADABKB_MODEL_PROCESSES": "0"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "is ready" in line, line
            yield process
        finally:
            process.terminate()
            process.wait(60)

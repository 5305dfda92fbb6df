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
    """Run uvicorn in a thread, on a free port by default, and yield its address once it answers. At its end, it drops
    requests that are not answered within some seconds."""
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
    """A free port outside the range of ephemeral ports."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def server_on(database_url: str, **settings: Any) -> Iterator[str]:
    """Run a server on a database. It computes models in this process, which saves the start of another one."""
    with serving(create_app(Settings(database=database_url, **{"model_processes": 0, **settings}))) as address:
        yield address


class PromptServer(uvicorn.Server):
    """Starts and stops without delays. uvicorn itself polls for its stop every 0.1 s, and then waits another 0.1 s even
    without connections, which would take most of the time of many tests."""

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
        await asyncio.sleep(0.01)  # time to notice that clients have disconnected
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        await self.lifespan.shutdown()


@dataclass
class ServerProcess:
    """``adabkb serve`` as a separate process."""

    address: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """Kill the process with SIGKILL, so that nothing is cleaned up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)


ADABKB = (str(Path(sys.executable).with_name("adabkb")),)


@contextmanager
def server_process(database_url: str, program: tuple[str, ...] = ADABKB, **settings: Any) -> Iterator[ServerProcess]:
    """Start ``adabkb serve`` on a free port, and read its address from its output. By default, it computes models in
    the same process."""
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
    """Run ``adabkb work`` as a separate process that computes models itself; yield it once it is ready."""
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

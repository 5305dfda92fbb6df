"""The servers: real ``adabkb serve`` processes on one database, each on a port that it keeps over its deaths."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGTERM, Signals

ADABKB = str(Path(sys.executable).with_name("adabkb"))
SERVE = [sys.executable, "-m", "tests.chaos.serve", "serve"]
PORTS = range(20_000, 30_000)
"""Below those that the system hands out by itself: a dead server's port must stay free, and a connection to it must
not end up at its own other end."""
TAIL = 2000
"""Characters of a server's last words that a report shows."""


class ServerDied(Exception):
    """A server ended by itself, did not start, or was not at work again after a fault."""


class Server:
    """One server, with its models in so many processes; what it writes to standard error is kept in a file.

    It writes to a pipe, so that it can say what is wrong when it cannot write to files.
    """

    def __init__(self, database: str, model_processes: int, errors: Path) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [*SERVE, "--port", str(self.port), "--database", database]
        self._environment = {**os.environ, "ADABKB_MODEL_PROCESSES": str(model_processes)}
        self._errors = errors
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, without waiting."""
        reader, writer = os.pipe()
        with open(writer) as errors:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._environment
            )
        threading.Thread(target=self._keep, args=(reader,), daemon=True).start()

    def wait_ready(self) -> None:
        """Wait for the line that says it listens.

        Raises:
            ServerDied: it ended instead.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        if "listening on" not in self._process.stdout.readline():
            raise ServerDied(f"the server on port {self.port} did not start:\n{self.last_words()}")

    def check_alive(self) -> None:
        """Raises ``ServerDied`` if it is not."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise ServerDied(f"the server on port {self.port} ended by itself with {code}:\n{self.last_words()}")

    def send(self, number: Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self, number: Signals) -> None:
        """End it by a signal, and wait until it is gone."""
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()  # one that does not stop must not stay
        self._process = None

    def processes(self) -> list[int]:
        """It, the process that forks its model processes, and these."""
        assert self._process is not None
        own = self._process.pid
        return [own, *_children(own), *self.model_processes()]

    def model_processes(self) -> list[int]:
        """Those that run now."""
        assert self._process is not None
        return [process for forking in _children(self._process.pid) for process in _children(forking)]

    def complaints(self) -> list[str]:
        """Errors that it logged."""
        return [line for line in self._errors.read_text().splitlines() if " ERROR " in line or " CRITICAL " in line]

    def _keep(self, reader: int) -> None:
        with open(reader) as lines, self._errors.open("a", buffering=1) as errors:
            errors.writelines(lines)

    def last_words(self) -> str:
        """What it wrote last."""
        return self._errors.read_text()[-TAIL:]


class Cluster:
    """All servers of a database."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers

    def check_alive(self) -> None:
        """Raises ``ServerDied`` if one is not."""
        for server in self.servers:
            server.check_alive()

    def complaints(self) -> list[str]:
        """Errors that the servers logged."""
        return [line for server in self.servers for line in server.complaints()]


@contextmanager
def cluster(database: str, count: int, folder: Path) -> Iterator[Cluster]:
    """``count`` servers, running, every second one with its models in its own process; they are stopped at the end."""
    servers = [Server(database, (index + 1) % 2, folder / f"server-{index}.log") for index in range(count)]
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait_ready()
        yield Cluster(servers)
    finally:
        for server in servers:
            server.end(SIGTERM)


def _children(process: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    found = list[int]()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, file.read_text().split())
    return found


def _free_port() -> int:
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError(f"no free port between {PORTS.start} and {PORTS.stop}")

"""The servers: real ``adabkb serve`` processes on one database, each with a port that it keeps across restarts, and
model workers, ``adabkb work``.
"""

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
PROGRAM = [sys.executable, "-m", "tests.acceptance.chaos.serve"]
PORTS = range(20_000, 30_000)
"""Below the ephemeral ports of the system: a dead server's port must stay free, and a connection to it must not connect
to itself."""
TAIL = 2000
"""The maximum number of characters of a server's last output in a report."""


class ServerDied(Exception):
    """A server ended by itself, did not start, or did not recover from a fault."""


class ServerProcess:
    """A server or a model worker. Its standard error is a pipe, which this process copies to a file, so that it can
    report errors when it cannot write to files.

    Args:
        name: for reports.
        arguments: the arguments of ``adabkb``.
        ready: a part of the line that it prints when it is ready.
        model_processes: the number of its model processes.
        errors: the file for its standard error.
    """

    def __init__(self, name: str, arguments: list[str], ready: str, model_processes: int, errors: Path) -> None:
        self.name = name
        self._command = [*PROGRAM, *arguments]
        self._ready = ready
        self._environment = {**os.environ, "ADABKB_MODEL_PROCESSES": str(model_processes)}
        self._errors = errors
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process, without waiting."""
        reader, writer = os.pipe()
        with open(writer) as errors:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._environment
            )
        threading.Thread(target=self._keep, args=(reader,), daemon=True).start()

    def wait_ready(self) -> None:
        """Wait until it prints that it is ready.

        Raises:
            ServerDied: it ended instead.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        if self._ready not in self._process.stdout.readline():
            raise ServerDied(f"the {self.name} did not start:\n{self.last_output()}")

    def check_alive(self) -> None:
        """Raise ``ServerDied`` if the process is not alive."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise ServerDied(f"the {self.name} ended by itself with {code}:\n{self.last_output()}")

    def send(self, number: Signals) -> None:
        """Send a signal to the process."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self, number: Signals) -> None:
        """End the process by a signal, and wait for its end."""
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()  # it did not stop in time
        self._process = None

    def processes(self) -> list[int]:
        """The process, the one that forks its model processes, and these."""
        assert self._process is not None
        own = self._process.pid
        return [own, *_children(own), *self.model_processes()]

    def model_processes(self) -> list[int]:
        """The running model processes."""
        assert self._process is not None
        return [process for forking in _children(self._process.pid) for process in _children(forking)]

    def complaints(self) -> list[str]:
        """The errors that it logged."""
        return [line for line in self._errors.read_text().splitlines() if " ERROR " in line or " CRITICAL " in line]

    def _keep(self, reader: int) -> None:
        with open(reader) as lines, self._errors.open("a", buffering=1) as errors:
            errors.writelines(lines)

    def last_output(self) -> str:
        """Its last output."""
        return self._errors.read_text()[-TAIL:]


class Server(ServerProcess):
    """One server."""

    def __init__(self, database: str, model_processes: int, errors: Path) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        serve = ["serve", "--port", str(self.port), "--database", database]
        super().__init__(f"server on port {self.port}", serve, "listening on", model_processes, errors)


class Cluster:
    """All servers and model workers of a database."""

    def __init__(self, servers: list[Server], model_workers: list[ServerProcess]) -> None:
        self.servers = servers
        self.processes: list[ServerProcess] = [*servers, *model_workers]

    def check_alive(self) -> None:
        """Raise ``ServerDied`` if a process is not alive."""
        for each in self.processes:
            each.check_alive()

    def complaints(self) -> list[str]:
        """The errors that they logged."""
        return [line for each in self.processes for line in each.complaints()]


@contextmanager
def cluster(database: str, servers: int, model_workers: int, folder: Path) -> Iterator[Cluster]:
    """Run a number of servers and workers within the block. Every second server computes models in its own process."""
    work = ["work", "--database", database]
    running = Cluster(
        [Server(database, (index + 1) % 2, folder / f"server-{index}.log") for index in range(servers)],
        [
            ServerProcess(f"model worker {index}", work, "is ready", (index + 1) % 2, folder / f"worker-{index}.log")
            for index in range(model_workers)
        ],
    )
    try:
        for each in running.processes:
            each.start()
        for each in running.processes:
            each.wait_ready()
        yield running
    finally:
        for each in running.processes:
            each.end(SIGTERM)


def _children(process: int) -> list[int]:
    """The running child processes of a process."""
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

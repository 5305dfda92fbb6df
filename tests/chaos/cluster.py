"""The servers: real ``adabkb serve`` processes on one database, each on a port that it keeps over its deaths."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals

ADABKB = str(Path(sys.executable).with_name("adabkb"))
PORTS = range(20_000, 30_000)
"""Below those that the system hands out by itself: a dead server's port must stay free, and a connection to it must
not end up at its own other end."""
CALM_SECONDS = 2.5
"""Between two strikes, on average."""
FREEZES = 0.15
"""Share of strikes that only freeze a server."""
FROZEN_SECONDS = 4.0
ALL_AT_ONCE = 0.25
"""Share of kills that strike all servers."""
WHILE_STARTING = 0.1
"""Share of kills that strike a second time while the server is starting."""
START_SECONDS = 1.5
DEAD_SECONDS = 1.0
TAIL = 2000
"""Characters of a server's last words that a report shows."""


class ServerDied(Exception):
    """A server ended by itself, or did not start."""


class Server:
    """One server, with its models in so many processes; what it writes to standard error is kept in a file."""

    def __init__(self, database: str, model_processes: int, errors: Path) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [ADABKB, "serve", "--port", str(self.port), "--database", database]
        self._environment = {**os.environ, "ADABKB_MODEL_PROCESSES": str(model_processes)}
        self._errors = errors
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, without waiting."""
        with self._errors.open("a") as errors:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._environment
            )

    def wait_ready(self) -> None:
        """Wait for the line that says it listens.

        Raises:
            ServerDied: it ended instead.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        if "listening on" not in self._process.stdout.readline():
            raise ServerDied(f"the server on port {self.port} did not start:\n{self._last_words()}")

    def check_alive(self) -> None:
        """Raises ``ServerDied`` if it is not."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise ServerDied(f"the server on port {self.port} ended by itself with {code}:\n{self._last_words()}")

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

    def complaints(self) -> list[str]:
        """Errors that it logged."""
        return [line for line in self._errors.read_text().splitlines() if " ERROR " in line or " CRITICAL " in line]

    def _last_words(self) -> str:
        return self._errors.read_text()[-TAIL:]


class Cluster:
    """All servers of a database."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.kills = 0
        self.freezes = 0

    def storm(self, dice: random.Random, over: threading.Event) -> None:
        """Kill and freeze servers until it is over; all of them run then.

        Raises:
            ServerDied: one ended without having been killed, or did not start.
        """
        while not over.wait(dice.expovariate(1 / CALM_SECONDS)):
            self.check_alive()
            if dice.random() < FREEZES:
                self._freeze(dice)
            else:
                self._kill(dice)

    def check_alive(self) -> None:
        """Raises ``ServerDied`` if one is not."""
        for server in self.servers:
            server.check_alive()

    def complaints(self) -> list[str]:
        """Errors that the servers logged."""
        return [line for server in self.servers for line in server.complaints()]

    def _kill(self, dice: random.Random) -> None:
        """kill -9: nothing gets a chance to be tidied up."""
        struck = self.servers if dice.random() < ALL_AT_ONCE else [dice.choice(self.servers)]
        for blow in range(2 if dice.random() < WHILE_STARTING else 1):
            if blow:
                time.sleep(dice.uniform(0.0, START_SECONDS))
            for server in struck:
                server.end(SIGKILL)
                self.kills += 1
            time.sleep(dice.uniform(0.0, DEAD_SECONDS))
            for server in struck:
                server.start()
        for server in struck:
            server.wait_ready()

    def _freeze(self, dice: random.Random) -> None:
        """As a long pause of its machine would: it goes on with what it believed, and the others did not wait."""
        server = dice.choice(self.servers)
        server.send(SIGSTOP)
        self.freezes += 1
        time.sleep(dice.uniform(0.5, FROZEN_SECONDS))
        server.send(SIGCONT)


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


def _free_port() -> int:
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise RuntimeError(f"no free port between {PORTS.start} and {PORTS.stop}")

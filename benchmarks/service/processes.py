"""Processes of servers and clients."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import sqlalchemy as sa

SERVE = [str(Path(sys.executable).with_name("adabkb")), "serve", "--port", "0", "--database"]


def text(url: sa.URL) -> str:
    """A database URL as a command-line argument."""
    return url.render_as_string(hide_password=False)


def module(name: str, *arguments: object) -> list[str]:
    """The command that runs a module of this package."""
    return [sys.executable, "-m", f"benchmarks.service.{name}", *map(str, arguments)]


@contextmanager
def serving(commands: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Start servers in sequence. Yields the addresses that they print once they listen."""
    with ExitStack() as stack:
        yield [stack.enter_context(_server(command)) for command in commands]


@contextmanager
def _server(command: Sequence[str]) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "listening on http://" not in line:
                raise RuntimeError(f"{' '.join(command)} did not start: {line!r}")
            yield line.split()[-1]
        finally:
            process.terminate()
            process.wait()


def measured(command: Sequence[str]) -> dict[str, Any]:
    """The JSON output of a command."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    output: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return output


def megabytes(address: str) -> float:
    """Memory of a server's processes; shared pages count once."""
    server = listening(address)
    processes = [server, *server.children(recursive=True)]
    return float(sum(process.memory_full_info().pss for process in processes)) / 2**20


def listening(address: str) -> psutil.Process:
    """The process that listens at an address."""
    port = urlsplit(address).port
    (server,) = (
        process
        for process in psutil.Process().children()
        if any(held.laddr.port == port for held in process.net_connections() if held.status == psutil.CONN_LISTEN)
    )
    return server

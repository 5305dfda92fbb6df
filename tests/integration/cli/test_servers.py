"""``adabkb serve`` beside another server, and its stop."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from adabkb_client import Client, Float
from tests.servers import ADABKB

pytestmark = pytest.mark.long


@contextmanager
def started(database: str, models: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a server in a process group of its own, and yield its URL."""
    command = [*ADABKB, "serve", "--port", "0", "--database", database]
    environment = {**os.environ, "ADABKB_MODEL_PROCESSES": str(models)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, process_group=0, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1], process
        finally:
            process.kill()


def stopped(process: subprocess.Popen[str]) -> str:
    """Stop a server, and return what it has written to standard error."""
    process.terminate()
    _, errors = process.communicate(timeout=60)
    return errors


def test_a_second_server_on_a_file_warns_with_the_remedy_and_works(other_sqlite: str) -> None:
    with started(other_sqlite) as (_, first), started(other_sqlite) as (url, second):
        assert httpx.get(f"{url}/v1/studies").status_code == 200
        said = stopped(second)
        assert "warning: another server serves" in said
        assert "--database postgresql://" in said
        first.kill()
        first.wait()
        with started(other_sqlite) as (_, third):
            assert "another server" not in stopped(third)


def test_a_stop_of_all_processes_of_a_server_warns_of_nothing(other_sqlite: str) -> None:
    """As by systemd, which sends SIGTERM to each of them."""
    with started(other_sqlite, models=1) as (url, process):
        with Client(url) as client:
            client.create_study("s", {"x": Float(0, 1)}, direction="minimize").suggest()
        os.killpg(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode in (0, -signal.SIGTERM)

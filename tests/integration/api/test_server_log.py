"""The log of a server that starts with a wrong clock, and of one that stops."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import studies
from adabkb_service.study.clock import utc_now
from tests.integration.api.conftest import DEFINITION
from tests.servers import ADABKB, server_on
from tests.waiting import TIMEOUT_SECONDS


@pytest.mark.parametrize(("ahead", "is_warned"), [(timedelta(hours=1), True), (timedelta(seconds=10), False)])
def test_clock_behind_the_database_is_logged(
    database_url: str, caplog: pytest.LogCaptureFixture, ahead: timedelta, is_warned: bool
) -> None:
    with server_on(database_url) as address:
        assert httpx.post(f"{address}/v1/studies", json=DEFINITION).status_code == 201
    with closing(Database(database_url)) as database, database.writing() as connection:
        connection.execute(sa.update(studies), {"updated_at": utc_now() + ahead})
    caplog.clear()
    with server_on(database_url):
        pass
    warnings = [record.getMessage() for record in caplog.records if "clock" in record.getMessage()]
    assert len(warnings) == is_warned
    for line in warnings:
        assert "behind the newest change in the database" in line
        assert "Set the clock of the database's machine. The server's clock follows gradually, or at once" in line


@pytest.mark.long
def test_incomplete_requests_are_refused_when_the_server_stops(sqlite_template: Path, tmp_path: Path) -> None:
    """Immediately, and without a traceback in the log."""
    path, log = tmp_path / "adabkb.db", tmp_path / "log"
    path.write_bytes(sqlite_template.read_bytes())
    command = [*ADABKB, "serve", "--port", "0", "--database", f"sqlite:///{path}"]
    environment = {**os.environ, "ADABKB_MODEL_PROCESSES": "0"}
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as server,
    ):
        assert server.stdout is not None
        host, port = server.stdout.readline().split("//")[1].strip().split(":")
        halves = [socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS) for _ in range(3)]
        for each in halves:
            head = f"POST /v1/studies HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            each.sendall(f'{head}Content-Length: 1000\r\n\r\n{{"id": '.encode())
        assert httpx.get(f"http://{host}:{port}/healthz").status_code == 200
        server.send_signal(signal.SIGTERM)
        answers = [_answer(each) for each in halves]
        server.wait(TIMEOUT_SECONDS)
    assert [answer.split()[1] for answer in answers] == ["503"] * 3, answers
    assert all("send it again" in answer for answer in answers)
    assert log.read_text() == ""


def _answer(connection: socket.socket) -> str:
    """Return all bytes from a connection until its end."""
    parts = []
    with connection, suppress(ConnectionResetError):
        while part := connection.recv(4096):
            parts.append(part)
    return b"".join(parts).decode()

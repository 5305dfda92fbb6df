"""``adabkb server``: its output for a server that is ready, and for one that is not; metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from adabkb_client import Client
from adabkb_service.storage.database import Database
from adabkb_service.storage.migration import HEAD
from tests.integration.cli.shell import adabkb
from tests.servers import server_on
from tests.waiting import wait_for


def test_the_state_of_a_server_has_its_versions_and_what_does_not_work(other_sqlite: str) -> None:
    with server_on(other_sqlite, sweep_seconds=0.1, sweep_late_seconds=0.1) as address:
        at = ("--url", address)
        wait_for(lambda: _readiness(address) == 200)
        assert adabkb("server", "status", *at).startswith(f"{address} has version ")
        database = Database(other_sqlite)
        with database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE trials RENAME TO elsewhere")
        try:
            # on a busy machine, a check may be a little late without an error
            wait_for(lambda: re.search(r"([2-9]|\d\d+) s late", httpx.get(f"{address}/readyz").text))
            shown = adabkb("server", "status", *at, code=1)
            found = json.loads(adabkb("server", "status", *at, "--json", code=1))
        finally:
            with database.writing() as connection:
                connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO trials")
            database.close()
        assert "\nsweeper: the check for expired leases is" in shown
        assert (found["server"], found["schema"], found["ready"]) == (address, HEAD, False)
        assert found["errors"][0]["pointer"] == "/sweeper"


@pytest.mark.long
def test_the_server_of_a_file_is_named_by_the_file(tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    with Client.local(database) as client:
        wait_for(lambda: _readiness(client.url) == 200)
        assert adabkb("server", "status", "--local", str(database)).startswith(f"{database.resolve()} has version ")
        assert repr(client) == f"<Client of {str(database.resolve())!r}>"


def _readiness(address: str) -> int:
    return httpx.get(f"{address}/readyz").status_code


def test_metrics_are_printed_as_the_server_sends_them(address: str) -> None:
    assert "adabkb_suggest_seconds" in adabkb("server", "metrics", "--url", address)
    assert adabkb("--json", "server", "metrics", "--url", address).startswith('{"metrics": "# HELP ')

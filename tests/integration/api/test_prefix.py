"""The path prefix that a proxy adds (the setting ``root_path``)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.servers import ADABKB, server_on

PAGE = {"Accept": "text/html"}


@pytest.mark.parametrize("prefix", ["", "/lab/bo"])
def test_paths_with_and_without_the_prefix_are_the_same(database_url: str, prefix: str) -> None:
    """So a proxy may remove the prefix or leave it."""
    with (
        server_on(database_url, root_path="/lab/bo") as address,
        httpx.Client(base_url=f"{address}{prefix}", timeout=60) as client,
    ):
        assert client.get("/v1/studies").json()["items"] == []
        page = client.get("/", headers=PAGE)
        assert page.status_code == 200
        assert 'href="/lab/bo/new"' in page.text
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/lab/bo"}]
        assert "url: '/lab/bo/openapi.json'" in client.get("/api", headers=PAGE).text


def test_the_start_with_a_prefix_prints_no_warning(sqlite_template: Path, tmp_path: Path) -> None:
    path = tmp_path / "adabkb.db"
    path.write_bytes(sqlite_template.read_bytes())
    command = [*ADABKB, "serve", "--port", "0", "--database", f"sqlite:///{path}"]
    environment = {**os.environ, "ADABKB_MODEL_PROCESSES": "0", "ADABKB_ROOT_PATH": "/bo"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert "listening on http://" in server.stdout.readline()
        server.terminate()
        _, errors = server.communicate(timeout=60)
    assert [line for line in errors.splitlines() if "Warning" in line] == []

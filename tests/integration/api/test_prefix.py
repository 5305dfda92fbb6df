"""The path prefix that a proxy adds (the setting ``root_path``)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError
from starlette.routing import Mount, Route

from adabkb_service.app import create_app
from adabkb_service.settings import OWN_PATHS, Settings
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
        calls = client.get("/api", headers=PAGE).text
        assert "url: '/lab/bo/openapi.json'" in calls
        for file in re.findall(r'(?:href|src)="(/lab/bo/[^"]+)"', page.text + calls):
            assert client.get(file.removeprefix("/lab/bo"), headers=PAGE, follow_redirects=True).status_code == 200
        assert client.get("/docs/guides/by-hand.html").status_code == 200
        assert "did you mean /lab/bo/v1/studies?" in client.get("/v1/studys").json()["detail"]


def test_a_retry_may_take_another_way(database_url: str) -> None:
    """A request with a key that is repeated without the prefix is the same request."""
    with server_on(database_url, root_path="/lab/bo") as address:
        study = {
            "id": "a",
            "direction": "minimize",
            "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}],
        }
        httpx.post(f"{address}/v1/studies", json=study).raise_for_status()
        key = {"Idempotency-Key": "one"}
        answers = [
            httpx.post(f"{address}{prefix}/v1/studies/a/suggest", json={"count": 1}, headers=key).json()["trials"]
            for prefix in ("/lab/bo", "")
        ]
        assert answers[0] == answers[1]


def test_a_prefix_cannot_begin_like_the_paths_of_the_server(tmp_path: Path) -> None:
    """Otherwise a path with and one without the prefix could not be told apart."""
    app = create_app(Settings(database=f"sqlite:///{tmp_path}/a.db", root_path="/v2/api"))
    assert {route.path.split("/")[1] for route in app.routes if isinstance(route, Route | Mount)} - {""} <= OWN_PATHS
    for prefix in ("/v1", "/api", "/docs/adabkb"):
        with pytest.raises(ValidationError, match=r"choose another prefix, such as /adabkb"):
            Settings(root_path=prefix)


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

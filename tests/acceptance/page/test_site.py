"""/docs/: the files of the built site, answers for people and programs at /docs, and the message without an installed
site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi_offline import FastAPIOffline

from adabkb_service.api import problems
from adabkb_service.api.middleware import RequestMiddleware
from adabkb_service.api.parts import parts_of, set_parts
from adabkb_service.app import create_app
from adabkb_service.page import site
from adabkb_service.settings import Settings
from adabkb_service.telemetry.metrics import Metrics
from tests.servers import serving

BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def api(folder: Path) -> Iterator[httpx.Client]:
    """A server whose site is in a folder of the tests."""
    app = FastAPIOffline(docs_url="/api", redoc_url=None, redirect_slashes=False)
    parts = parts_of(create_app(Settings(database="sqlite:///never-opened.db")))
    set_parts(app, replace(parts, routes=[]))
    problems.install(app)
    site.install(app, "/api", folder)
    app.add_middleware(RequestMiddleware, metrics=Metrics())
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as api:
        yield api


def test_a_site_that_is_not_installed_says_how_to_get_it(api: httpx.Client) -> None:
    answer = api.get("/docs/", headers=BROWSER)
    assert answer.status_code == 404
    assert "pip install adabkb-docs" in answer.text
    assert 'href="/"' in answer.text


def test_the_site_is_files_under_the_policy_of_the_page(api: httpx.Client, folder: Path) -> None:
    (folder / "guides").mkdir()
    (folder / "index.html").write_text("<p>home")
    (folder / "guides/noise.html").write_text("<p>noise")
    (folder / "speed.json").write_text("{}")
    (folder.parent / "secret.txt").write_text("not for you")
    for path, kind in {"": "text/html", "guides/noise.html": "text/html", "speed.json": "application/json"}.items():
        answer = api.get(f"/docs/{path}")
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].startswith(kind)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = api.get(f"/docs/{path}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304, path
    for path in ("nothing.html", "guides", "..%2Fsecret.txt", "%2Fetc%2Fpasswd", "a%00b", "x" * 300):
        answer = api.get(f"/docs/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    assert api.post("/docs/index.html").json()["detail"] == "/docs/index.html takes GET, HEAD."


def test_people_are_led_to_the_site_and_programs_get_the_calls(api: httpx.Client) -> None:
    led = api.get("/docs", headers=BROWSER)
    assert (led.is_redirect, led.headers["location"], led.headers["vary"]) == (True, "docs/", "Accept")
    assert "swagger" in api.get("/docs").text
    assert api.get("/docs").text == api.get("/api", headers=BROWSER).text

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.acceptance.page.browser import launching
from tests.conftest import BACKENDS
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS

expect.set_options(timeout=1000 * TIMEOUT_SECONDS)

on_both = pytest.mark.parametrize("database", BACKENDS, indirect=True)
"""Run a test of the page on PostgreSQL, too. ``make test`` runs it on one of the two, ``make proof`` on both. These few
create a study by its form, enter, correct and exclude results, log in, follow others and print a report."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A Chromium for this folder. While Playwright runs, no other test of the process can have an event loop."""
    with sync_playwright() as playwright, playwright.chromium.launch(**launching()) as browser:
        yield browser


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with the present schema, for all tests of a module: SQLite, or PostgreSQL for ``on_both``."""
    if getattr(request, "param", "sqlite") == "postgresql":
        with request.getfixturevalue("database_pool").borrowed() as url:
            yield url
        return
    path = tmp_path_factory.mktemp("page") / "adabkb.db"
    path.write_bytes(request.getfixturevalue("sqlite_template").read_bytes())
    yield f"sqlite:///{path}"


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    """The address of a server without studies."""
    with server_on(database) as address:
        yield address


@pytest.fixture(scope="module")
def api(site: str) -> Iterator[httpx.Client]:
    """A client of the server."""
    with httpx.Client(base_url=site, timeout=60) as api:
        yield api

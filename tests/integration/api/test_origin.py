"""Pages of other sites cannot use a server through a user's browser: neither by cross-site requests, nor by DNS
rebinding.

The requests are those that Chromium sends for a page of another origin; see docs/security.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.api.conftest import DEFINITION, pointers
from tests.integration.api.test_openapi import operations
from tests.samples import some
from tests.servers import server_on

NOTEBOOK = "https://notebook.lab.example"
EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
OLD = {"Origin": "https://evil.example"}
"""Headers of a browser without Sec-Fetch-Site, or for a server that is neither on loopback nor behind TLS."""
NEIGHBOUR = {"Origin": "http://127.0.0.1:8888", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
"""Headers for a page of another server on the same machine, such as Jupyter."""
FRAMED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
SANDBOXED = {"Origin": "null"}
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
TYPED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture(scope="module")
def site(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server with a study, whose settings name a host and an origin."""
    file = tmp_path_factory.mktemp("site") / "adabkb.db"
    shutil.copy(sqlite_template, file)
    settings = {"hosts": "optimizer.lab.example", "origins": NOTEBOOK}
    with server_on(f"sqlite:///{file}", **settings) as address, httpx.Client(base_url=address) as client:
        assert client.post("/v1/studies", json=DEFINITION).status_code == 201
        yield client


def code(response: httpx.Response) -> str:
    pointers(response)
    return str(response.json()["code"])


@pytest.mark.parametrize(
    "page",
    some([EVIL, OLD, NEIGHBOUR, FRAMED, SANDBOXED], [EVIL, FRAMED]),
    ids=["evil", "old", "near", "frame", "null"],
)
def test_cross_site_calls_are_refused(site: httpx.Client, page: dict[str, str]) -> None:
    before = site.get("/v1/studies/s").json()
    for method, path in operations():
        filled = path.replace("{study_id}", "s").replace("{number}", "1").replace("{seq}", "1")
        refused = site.request(method, filled, headers=page)
        assert (refused.status_code, code(refused)) == (403, "cross_site")
        assert "access-control-allow-origin" not in refused.headers
    assert site.get("/v1/studies/s").json() == before


@pytest.mark.parametrize(
    "name", ["evil.example", "EVIL.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "[::1"]
)
def test_foreign_host_names_are_refused(site: httpx.Client, name: str) -> None:
    for method, path in (("GET", "/v1/studies"), ("DELETE", "/v1/studies/s"), ("POST", "/v1/studies/s/suggest")):
        refused = site.request(method, path, headers={"Host": name, **OWN})
        assert (refused.status_code, code(refused)) == (421, "foreign_host")


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST:80", "127.9.9.9:8000", "[::1]:8000", "192.0.2.7", "Optimizer.lab.example"]
)
def test_addresses_and_configured_host_names_are_accepted(site: httpx.Client, name: str) -> None:
    assert site.get("/v1/studies/s", headers={"Host": name}).status_code == 200


@pytest.mark.parametrize("headers", [{}, OWN, TYPED], ids=["program", "own", "typed"])
def test_programs_and_same_origin_pages_are_accepted(site: httpx.Client, headers: dict[str, str]) -> None:
    own = {"Origin": str(site.base_url).rstrip("/"), **headers} if headers == OWN else headers
    assert site.post("/v1/studies/s/predict", json={"points": [{"x": 0, "n": 1}]}, headers=own).status_code == 200
    assert site.get("/docs", headers=own).status_code == 200


def test_old_browsers_are_checked_by_their_origin_header(site: httpx.Client) -> None:
    host = site.base_url.netloc.decode()
    assert site.get("/v1/studies", headers={"Origin": f"http://{host}"}).status_code == 200
    assert site.get("/v1/studies", headers={"Origin": f"http://{host}0"}).status_code == 403


def test_links_from_other_sites_can_only_read(site: httpx.Client) -> None:
    assert site.get("/docs", headers=LINK).status_code == 200
    assert site.post("/v1/studies/s/suggest", headers=LINK).status_code == 403


def test_configured_origin_can_use_the_server(site: httpx.Client) -> None:
    page = {**EVIL, "Origin": NOTEBOOK}
    asked = {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization"}
    allowed = site.options("/v1/studies/s", headers={**page, **asked})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, NOTEBOOK)
    answer = site.post("/v1/studies/s/predict", json={"points": [{"x": 0, "n": 1}]}, headers=page)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, NOTEBOOK)
    other = site.options("/v1/studies/s", headers={**EVIL, **asked})
    assert "access-control-allow-origin" not in other.headers

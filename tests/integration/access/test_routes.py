"""Every route of the OpenAPI document with every kind of insufficient token. New routes are included automatically."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.routing import APIRoute
from openpyxl import Workbook

from adabkb_service import app
from adabkb_service.access import secrets
from adabkb_service.access.caller import Need
from adabkb_service.api.admission import GuardedRoute
from adabkb_service.storage import people
from adabkb_service.storage.database import Database
from adabkb_service.study.clock import utc_now
from tests.conftest import on_either
from tests.integration.access.conftest import Guarded, give_token
from tests.integration.api.conftest import DEFINITION, pointers
from tests.integration.storage.rows import person
from tests.samples import OF_ATTACKS
from tests.servers import server_on
from tools.http_examples import CALLS

ROUTES = [route for route in app.ROUTES if isinstance(route, APIRoute)]
OPEN = {
    "/healthz",
    "/readyz",
    "/version",
    "/login",
    "/login/oidc",
    "/login/oidc/callback",
    "/logout",
    "/assets/{version}/{name}",
}
SUFFICIENT: dict[Need, str] = {"read": "read", "work": "work", "own": "work", "admin": "admin"}
NARROWER: dict[Need, str] = {"work": "read", "own": "read", "admin": "work"}

Call = tuple[str, str]


def calls(*needs: Need) -> list[Call]:
    """Method and path of each route that needs one of these rights, for the study "s"."""
    values = {
        "study_id": "s",
        "number": "1",
        "seq": "1",
        "token_id": "0" * 12,
        "webhook_id": "0" * 12,
        "file": "1",
        "deletion": "1",
        "user": "ann",
    }
    return [
        (method, route.path.format(**values))
        for route in ROUTES
        if isinstance(route, GuardedRoute) and route.access.need in needs
        for method in sorted(route.methods or ())
    ]


GUARDED = calls("read", "work", "own", "admin")
OF_STUDY = [(method, path) for method, path in GUARDED if "/studies/s" in path and "restore" not in path]


def _altered(token: str) -> str:
    """The token with another last digit."""
    return f"{token[:-1]}{(int(token[-1], 16) + 1) % 16:x}"


def test_every_route_declares_its_scope_and_few_are_public() -> None:
    assert all(isinstance(route, GuardedRoute) for route in ROUTES)
    assert {route.path for route in ROUTES if isinstance(route, GuardedRoute) and route.access.need is None} == OPEN
    assert len(GUARDED) > 35


def sample(calls: list[Call], kind: str, kinds: list[str], *, is_sample: bool) -> list[Call]:
    """All calls, or those of a kind if a sample deals each call to one kind."""
    return calls[kinds.index(kind) :: len(kinds)] if is_sample else calls


INVALID = ["none", "wrong", "foreign", "expired", "revoked"]


@OF_ATTACKS
@pytest.mark.parametrize("kind", INVALID)
def test_invalid_tokens_are_rejected_on_every_route(guarded: Guarded, kind: str, is_sample: bool) -> None:
    """The response reveals nothing else, and does not contain the token. The sample has one kind per route."""
    past = utc_now() - timedelta(seconds=1)
    tokens: dict[str, str | None] = {
        "none": None,
        "wrong": _altered(guarded.token("ann", "admin")),
        "foreign": secrets.mint().token,
        "expired": guarded.token("ann", "admin", expires_at=past),
        "revoked": guarded.token("ann", "admin", revoked_at=past),
    }
    token = tokens[kind]
    with guarded.client(token) as client:
        for method, path in sample(GUARDED, kind, INVALID, is_sample=is_sample):
            refused = client.request(method, path)
            pointers(refused)
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), (method, path)
            challenge = 'Bearer realm="adabkb"' + ("" if token is None else ', error="invalid_token"')
            assert refused.headers["www-authenticate"] == challenge
            assert token is None or token not in refused.text
        assert all(client.get(path).status_code == 200 for path in ("/healthz", "/readyz", "/version", "/login"))


@pytest.mark.parametrize("need", NARROWER)
def test_refusal_names_the_missing_scope(guarded: Guarded, need: Need) -> None:
    lacking = "admin" if need == "admin" else "work"
    with guarded.client(guarded.token("ann", NARROWER[need])) as client:
        for method, path in calls(need):
            refused = client.request(method, path)
            pointers(refused)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), (method, path)
            assert f"the scope {lacking}" in refused.json()["detail"]
            assert f'error="insufficient_scope", scope="{lacking}"' in refused.headers["www-authenticate"]


OTHERS = ["another user", "another study", "another beginning"]


@OF_ATTACKS
@pytest.mark.parametrize("kind", OTHERS)
def test_studies_of_others_are_reported_as_missing(guarded: Guarded, kind: str, is_sample: bool) -> None:
    """The sample has one kind per route."""
    tokens = {
        "another user": guarded.token("bob", "work"),
        "another study": guarded.token("ann", "work", studies=["t"]),
        "another beginning": guarded.token("ann", "work", studies=["s-*", "t*"]),
    }
    with guarded.client(tokens[kind]) as client:
        for method, path in sample(OF_STUDY, kind, OTHERS, is_sample=is_sample):
            hidden = client.request(method, path)
            missing = client.request(method, path.replace("/studies/s", "/studies/nowhere"))
            assert (hidden.status_code, hidden.json()["code"]) == (404, "study_not_found"), (method, path)
            assert hidden.json()["detail"].replace("'s'", "'nowhere'") == missing.json()["detail"]
        assert client.get("/v1/studies").json()["items"] == []


def sheet() -> bytes:
    """An Excel file."""
    file = BytesIO()
    Workbook().save(file)
    return file.getvalue()


PAGES = ["", "/sharing", "/webhooks", "/trials/1", "/results", "/results/1", "/report", "/edit"]
DATA = [
    "/results/1/stored.json",
    "/results/1/now.json",
    "/unusual.json?seq=1",
    "/history.json",
    "/density.json",
    "/progress.json",
    "/curves.json",
    "/timeline.json",
    "/template.json",
    "/feed",
]
REQUESTS: list[tuple[str, str, Any]] = [
    *CALLS,
    *(("GET", path, None) for path in ("/v1/studies/svm/export", "/v1/studies/svm/report", "/metrics")),
    *(("GET", path, None) for path in ("/", "/studies", "/new", "/account", "/compare", "/trash")),
    ("GET", "/v1/studies/svm/trials/1/files/1", None),
    ("GET", "/v1/studies/svm/observations/2/files/2", None),
    *(("GET", f"/studies/svm{rest}", None) for rest in (*PAGES, *DATA)),
    ("POST", "/v1/studies", DEFINITION | {"constraints": ["x <= 1"]}),
    ("GET", "/studies/s/forbidden.json?parameter=x&parameter=n", None),
    ("GET", "/studies/s/excluded.json?parameter=x&parameter=n&across=0&across=1&up=0&up=9", None),
    ("GET", "/studies/s/tried.json?parameter=x&parameter=n&across=0&across=1&up=0&up=9", None),
    ("GET", "/studies/s/past.json?results=1", None),
    ("POST", "/studies/svm/sheet", sheet()),
    ("POST", "/studies/svm/preview", {"budget": 99}),
    ("POST", "/studies/svm/known", {"rows": [{"trial": 1, "parameters": {"x": 0.5}}]}),
    ("POST", "/studies/svm/undo-import", {"observations": [1]}),
    ("POST", "/login", None),
    ("DELETE", "/v1/studies/svm/trials/1/files/1", None),
    ("DELETE", "/v1/studies/svm/observations/2/files/2", None),
    ("DELETE", "/v1/studies/svm/links/{link}", None),
    ("DELETE", "/v1/tokens/{token}", None),
    ("DELETE", "/v1/studies/forest", None),
    ("GET", "/v1/people", None),
    ("DELETE", "/v1/people/zoe/sessions", None),
    ("POST", "/logout/everywhere", None),
    ("GET", "/v1/trash", None),
    ("DELETE", "/v1/trash/{deletion}", None),
]
"""A valid request for each route, in an order in which all succeed: those of the OpenAPI examples come first."""

KEPT = {
    "/v1/tokens": "token",
    "/v1/studies/{study_id}/links": "link",
    "/v1/studies/{study_id}/webhooks": "webhook",
}
"""Calls whose answers have ids that later requests need."""


def route_of(method: str, path: str) -> GuardedRoute:
    [route] = [each for each in ROUTES if method in (each.methods or ()) and each.path_regex.fullmatch(path)]
    assert isinstance(route, GuardedRoute)
    return route


@on_either("scope", ["narrowest", "admin"], ["narrowest"])
def test_sufficient_token_is_accepted_on_every_route(migrated_url: str, scope: str) -> None:
    """Each route accepts a valid request: from the owner with the narrowest sufficient scope, and from an administrator
    who does not own the studies.
    """
    with closing(Database(migrated_url)) as database:
        with database.writing() as connection:
            people.add(connection, person("zoe"))
        tokens = {str(need): give_token(database, "ann", SUFFICIENT[need]) for need in SUFFICIENT}
        if scope == "admin":
            tokens = {"create": tokens["work"], **dict.fromkeys(tokens, give_token(database, "eve", "admin"))}
    ids, sent = {"own": tokens["admin"].split("_")[1]}, set[Call]()
    with server_on(migrated_url) as address, httpx.Client(base_url=address, timeout=60) as client:
        for method, path, body in REQUESTS:
            line = path.format(**ids)
            route = route_of(method, urlsplit(line).path)
            sent.add((method, route.path))
            is_new_study = (method, route.path) == ("POST", "/v1/studies")
            token = tokens.get("create" if is_new_study else "", tokens[route.access.need or "read"])
            accepted = "application/json" if line.startswith("/v1") else "text/html"
            headers = {"Authorization": f"Bearer {token}", "Accept": accepted}
            sends = {"content": body} if isinstance(body, bytes) else {"json": body}
            answer = client.request(method, line, headers=headers, **sends)
            assert answer.is_success, (method, line, answer.text)
            if route.path in KEPT and method != "GET":
                ids[KEPT[route.path]] = answer.json()["id"]
            if route.path == "/v1/trash":
                ids["deletion"] = answer.json()["items"][0]["deletion"]
    guarded_routes = [route for route in ROUTES if isinstance(route, GuardedRoute) and route.access.need is not None]
    assert sent >= {(method, route.path) for route in guarded_routes for method in route.methods or ()}


def test_endpoint_without_a_declared_scope_is_rejected() -> None:
    with pytest.raises(TypeError, match="declare"):
        GuardedRoute("/new", lambda: None)


def test_browser_stores_its_token_in_an_http_only_cookie(guarded: Guarded) -> None:
    token = guarded.token("ann", "work")
    page = {"Accept": "text/html"}
    with guarded.client(None) as browser:
        asked = browser.get("/studies/s", headers=page)
        assert (asked.status_code, "Log in" in asked.text) == (401, True)
        assert browser.post("/login", headers={"Authorization": f"Bearer {_altered(token)}"}).status_code == 401
        cookie = browser.post("/login", headers={"Authorization": f"Bearer {token}"}).headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert "/studies/s" in browser.get("/", headers=page).text
        assert browser.get("/studies/s", headers=page).status_code == 200
        assert browser.post("/v1/studies/s/suggest").status_code == 200
        foreign = {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}
        assert browser.post("/v1/studies/s/suggest", headers=foreign).status_code == 403
        browser.post("/logout")
        assert browser.get("/studies/s", headers=page).status_code == 401
    with guarded.client(guarded.token("bob", "work")) as bob:
        assert "/studies/s" not in bob.get("/", headers=page).text

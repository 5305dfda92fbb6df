"""Any byte at any place of a request to any route never causes a server error, on both databases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from adabkb_service import app
from adabkb_service.api.admission import GuardedRoute
from tests.integration.access.conftest import Guarded, guarded
from tests.integration.api.conftest import DEFINITION
from tests.samples import OF_ATTACKS

__all__ = ["guarded"]

VALUES = {
    "study_id": "bytes",
    "number": "1",
    "seq": "1",
    "token_id": "0" * 12,
    "user": "nobody",
    "webhook_id": "0" * 12,
    "file": "1",
    "deletion": "1",
    "version": "x",
}
IN_PATHS = ["%00", "a%00b", "%ED%A0%80", "%FF", "%E2%80%AE", "%F0%9F%92%A9", "x" * 3000, "..%2f..", "%0D%0A", "%2500"]
IN_QUERIES = ["%00", "%ED%A0%80", "%E2%80%AE", "9" * 400, "-1", "1e999", "nan", "x" * 3000]
IN_HEADERS = [b"\xed\xa0\x80", b"\xe2\x80\xae", b'"', b"9" * 400, b"-1", b"x" * 3000]
IN_BODIES = [r"\u0000", r"\ud800", r"\u202e", r"\uffff", "x" * 3000]
UNSTORABLE = (b"%00", b"%ED%A0%80", b"\xed\xa0\x80")
"""Strings that PostgreSQL refuses and SQLite stores."""
MARK = "hostile"


class Call(NamedTuple):
    """A request with a hostile string in one place."""

    method: str
    address: str
    headers: tuple[tuple[str, bytes], ...] = ()

    def has(self, hostile: Iterable[bytes]) -> bool:
        """Whether the request contains any of these."""
        sent = b" ".join([self.address.encode(), *(value for _, value in self.headers)])
        return any(each in sent for each in hostile)


def of_route(route: APIRoute, method: str) -> Iterator[Call]:
    """All hostile calls of a route, except for bodies."""
    queries, headers = set(), set()
    todo: list[Dependant] = [route.dependant]
    while todo:
        each = todo.pop()
        queries |= {field.alias for field in each.query_params}
        headers |= {field.alias for field in each.header_params}
        todo += each.dependencies
    names = [name for name in (*VALUES, "name") if f"{{{name}}}" in route.path]
    values = {"name": "x", **VALUES}
    for name in names:
        yield from (Call(method, route.path.format(**values | {name: value})) for value in IN_PATHS)
    path = route.path.format(**values)
    for name in sorted(queries):
        yield from (Call(method, f"{path}?{name}={value}&{name}={value}") for value in IN_QUERIES)
    for name in sorted(headers | {"X-Request-ID", "Cookie", "Traceparent"}):
        yield from (Call(method, path, ((name, value),)) for value in IN_HEADERS)


CALLS = [
    call
    for route in app.ROUTES
    if isinstance(route, GuardedRoute)
    for method in sorted(route.methods or ())
    if (method, route.path) != ("GET", "/v1/studies/{study_id}/events")  # a stream does not end
    for call in of_route(route, method)
]


@pytest.fixture(scope="module")
def root(guarded: Guarded) -> Iterator[httpx.Client]:
    """An administrator."""
    with guarded.client(guarded.token("root", "admin")) as client:
        client.headers["Accept"] = "text/html, application/json"
        yield client


@pytest.fixture(scope="module")
def ann(guarded: Guarded) -> Iterator[httpx.Client]:
    """The owner of a study with a result."""
    with guarded.client(guarded.token("ann", "work")) as client:
        client.headers["Accept"] = "text/html, application/json"
        renewed(client)
        yield client


def renewed(ann: httpx.Client) -> None:
    """Restore the study, whatever a call has done."""
    if ann.post("/v1/studies", json={**DEFINITION, "id": "bytes"}).status_code == 201:
        ann.post("/v1/studies/bytes/suggest", json={})
        ann.post("/v1/studies/bytes/observe", json={"trial": 1, "value": 1})


def sample(*, on_sqlite: bool) -> list[Call]:
    """Every 17th call, since routes have more than 17, and 17 is coprime to the numbers of kinds.

    On PostgreSQL also every seventh of those with strings that it cannot store.
    """
    unstorable = [] if on_sqlite else [call for call in CALLS if call.has(UNSTORABLE)][::7]
    return [*CALLS[::17], *unstorable]


@OF_ATTACKS
def test_no_byte_in_an_address_or_header_causes_a_server_error(
    guarded: Guarded, ann: httpx.Client, root: httpx.Client, is_sample: bool
) -> None:
    assert len(CALLS) > 1500
    for method, address, headers in sample(on_sqlite=guarded.database.is_sqlite) if is_sample else CALLS:
        if method == "DELETE":
            renewed(ann)
        client = root if address.startswith(("/v1/tokens", "/v1/audit")) else ann
        raw = [(name.encode(), value) for name, value in headers]
        answer = client.request(method, address, headers=[*client.headers.raw, *raw])
        assert answer.status_code < 500, (method, address[:200], headers, answer.text[:300])
        assert answer.status_code < 400 or "\u202e" not in answer.text, (method, address)
        assert answer.headers["x-content-type-options"] == "nosniff", (method, address)


def leaves(value: Any, put: Any) -> Iterator[Any]:
    """Yield the value with one string or name replaced, for each of them."""
    if isinstance(value, str):
        yield put
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in leaves(item, put))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield {**{key: each for key, each in value.items() if key != name}, put: item}
            yield from ({**value, name: changed} for changed in leaves(item, put))


BODIES: list[tuple[str, str, Any]] = [
    (
        "POST",
        "/v1/studies",
        {
            **DEFINITION,
            "id": "new",
            "tags": {"a": "b"},
            "title": "t",
            "description": "d",
            "constraints": ["x + n <= 9"],
            "parameters": [*DEFINITION["parameters"], {"name": "c", "kind": "categorical", "choices": ["u", "v"]}],
        },
    ),
    ("POST", "/v1/studies", {**DEFINITION, "id": "new", "prior": {"x": {"around": 1, "spread": 1}}, "metrics": ["m"]}),
    ("PATCH", "/v1/studies/bytes", {"tags": {"a": "b"}, "title": "t", "description": "d", "state": "running"}),
    ("POST", "/v1/studies/bytes/suggest", {"worker": "w", "fixed": {"n": 1}, "fallback": True}),
    ("POST", "/v1/studies/bytes/trials", {"parameters": {"x": 1, "n": 1}, "attributes": {"a": "b"}}),
    ("POST", "/v1/studies/bytes/observe", {"parameters": {"x": 1, "n": 1}, "value": 1, "attributes": {"a": "b"}}),
    ("PATCH", "/v1/studies/bytes/observations/1", {"value": 2, "reason": "because"}),
    ("PATCH", "/v1/studies/bytes/access", {"owner": "ann", "shared_with": {"bob": "read"}}),
    ("POST", "/v1/tokens", {"name": "n", "user": "u", "scopes": ["read"], "studies": ["s*"]}),
    ("POST", "/v1/studies/bytes/predict", {"points": [{"x": 1, "n": 1}]}),
    ("POST", "/v1/studies/bytes/observations", {"items": [{"parameters": {"x": 1, "n": 1}, "value": 1}]}),
    ("POST", "/v1/studies/bytes/trials/repeat", {"parameters": {"x": 1, "n": 1}, "times": 1}),
    ("PATCH", "/v1/studies/bytes/trials/1", {"attributes": {"a": "b", "c": ["d", {"e": "f"}]}}),
    ("POST", "/v1/studies/bytes/trials/1/heartbeat", {"attempt": 1, "lease_seconds": 60}),
    ("POST", "/v1/studies/bytes/trials/1/reports", {"reports": [{"step": 1, "value": 1}], "attempt": 1}),
    ("POST", "/v1/studies/bytes/trials/1/release", {"attempt": 1}),
    ("POST", "/v1/studies/bytes/trials/1/withdraw", {"reason": "because", "attempt": 1}),
    ("POST", "/v1/studies/bytes/trials/1/retry", {"reason": "because"}),
    ("POST", "/v1/studies/bytes/links", {"expires_at": "2099-12-31T00:00:00Z"}),
    ("POST", "/v1/studies/bytes/webhooks", {"url": "https://lab.example/", "notifications": ["trial.done"]}),
    ("PATCH", f"/v1/studies/bytes/webhooks/{'0' * 12}", {"url": "https://lab.example/", "is_on": True}),
    ("POST", "/v1/studies/bytes/restore", {"deletion": 1}),
    ("PATCH", f"/v1/tokens/{'0' * 12}", {"quotas": {"studies": 50}}),
]


@OF_ATTACKS
def test_no_character_in_a_body_causes_a_server_error(ann: httpx.Client, root: httpx.Client, is_sample: bool) -> None:
    """The sample has one string per place, in turn."""
    paths = {path.format(**VALUES): calls for path, calls in root.get("/openapi.json").json()["paths"].items()}
    take = {
        (method.upper(), path)
        for path, calls in paths.items()
        for method in calls
        if "application/json" in calls[method].get("requestBody", {}).get("content", {})
    }
    assert {(method, path) for method, path, _ in BODIES} == take
    renewed(ann)
    sent, turns = 0, cycle(IN_BODIES)
    for method, path, body in BODIES:
        for changed in leaves(body, MARK):
            for text in islice(turns, 1 if is_sample else len(IN_BODIES)):
                raw = json.dumps(changed).replace(MARK, text)
                answer = root.request(method, path, content=raw, headers={"Content-Type": "application/json"})
                assert answer.status_code < 500, (method, path, raw, answer.text[:300])
                assert answer.status_code in (200, 201, 400, 404, 409, 422), (method, path, raw)
                sent += 1
    assert sent > (60 if is_sample else 200)
    assert root.get("/v1/studies/bytes").status_code == 200


def test_duplicate_json_names_are_rejected(ann: httpx.Client) -> None:
    """Different parsers may use different ones of the two values."""
    body = json.dumps({**DEFINITION, "id": "twice"}).replace('"seed": 3', '"seed": 3, "seed": 4')
    refused = ann.post("/v1/studies", content=body, headers={"Content-Type": "application/json"})
    assert (refused.status_code, "'seed' twice" in refused.json()["detail"]) == (400, True)


def test_responses_never_contain_a_token_from_the_address(
    guarded: Guarded, ann: httpx.Client, root: httpx.Client
) -> None:
    renewed(ann)
    token = guarded.token("eve", "read")
    secret = token.rpartition("_")[2]
    for place in (f"/v1/studies/{token}", f"/{token}", f"/v1/studies/bytes?{token}=1", f"/v1/studies?cursor={token}"):
        for accept in ("application/json", "text/html"):
            answer = root.get(place, headers={"Accept": accept})
            assert answer.status_code in (404, 422), place
            assert secret not in answer.text, place
    assert secret not in root.get(f"/v1/studies/bytes/{quote(token)}/x").text

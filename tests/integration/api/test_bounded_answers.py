"""On every route, the response is small and the work linear in the size of the request.

Requests go through the ASGI app in this process. The tests compare the processor times of a body and of one four times
as large, so the load of the machine does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import pytest

from adabkb_service.errors import (
    MAX_ERRORS,
    MAX_MESSAGE_LENGTH,
    MAX_POINTER_LENGTH,
)
from tests.integration.api.hostile import JSON, STUDY, App, app, names
from tests.integration.api.test_openapi import DOCUMENT
from tests.samples import OF_ATTACKS, rotated, some

__all__ = ["app"]

SMALL, GROWTH = 2_000, 4
SLACK = 3.0
"""Allowed factor beyond linear growth; quadratic work takes ``GROWTH`` times more than linear work."""
NOISE_SECONDS = 0.15
FIXED_BYTES = 150_000
"""The maximum size of an answer: 100 errors with pointer, detail and code, in non-ASCII characters."""
BATCH_BYTES = 1_500_000
"""The same for a batch: 1,000 items with a detail and an error each, and 1,000 more errors."""

SOUND: dict[str, dict[str, Any]] = {
    "createStudy": STUDY,
    "changeStudy": {},
    "suggest": {},
    "queueTrial": {"parameters": {"x": 0}},
    "repeatPoint": {"parameters": {"x": 0}},
    "annotateTrial": {"attributes": {}},
    "heartbeat": {},
    "addWebhook": {"url": "https://lab.example/"},
    "changeWebhook": {},
    "report": {"step": 1, "value": 0.5},
    "release": {},
    "withdraw": {},
    "retryTrial": {},
    "observe": {"trial": 1, "value": 1},
    "observeBatch": {"items": [{"trial": 1, "value": 1}]},
    "correctObservation": {},
    "predict": {"points": [{"x": 0}]},
    "createToken": {
        "name": "a",
        "scopes": ["read"],
        "expires_at": "2020-01-01T00:00:00Z",
    },  # expired; otherwise it would close the server
    "changeToken": {"quotas": {"studies": 1}},
    "changeAccess": {"shared_with": {"bob": "read"}},
    "createLink": {},
    "restoreStudy": {"deletion": 1},
}
"""A valid body for each operation, into which or beside which a hostile field is put."""


OPERATIONS = [
    pytest.param(method.upper(), path, operation, id=operation["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
TAKING_A_BODY = [made for made in OPERATIONS if made.id in SOUND]


def fields(operation: dict[str, Any]) -> list[str]:
    """The names of all fields that its body can have."""
    found: dict[str, None] = {}

    def collect(schema: dict[str, Any]) -> None:
        if "$ref" in schema:
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        found.update(dict.fromkeys(schema.get("properties", {})))
        for branch in (*schema.get("anyOf", []), *schema.get("oneOf", [])):
            collect(branch)

    collect(operation["requestBody"]["content"]["application/json"]["schema"])
    return list(found)


VALUES: dict[str, Callable[[int], Any]] = {
    "a text": lambda n: "t" * 10 * n,
    "no ASCII": lambda n: "é\u0001" * n,
    "an integer": lambda n: 10 ** min(n, 4000),
    "nulls": lambda n: [None] * n,
    "objects": lambda n: [{}] * n,
    "lists": lambda n: [[]] * n,
    "at most 1,000 texts": lambda n: ["t" * (n // 500)] * 1000,
    "at most 1,000 objects": lambda n: [names(n // 500)] * 1000,
    "at most 100 lists": lambda n: [{"name": "c", "kind": "categorical", "choices": [None] * (n // 20)}] * 100,
    "names": names,
    "wrong values": lambda n: {f"t{i}": {} for i in range(n)},
    "long names": lambda n: {f"{i:04}".ljust(400, "~"): 0 for i in range(n // 10)},
    "a long kind": lambda n: [{"name": "x", "kind": "k" * 10 * n}],
}
BODIES: dict[str, Callable[[int], bytes]] = {
    "nesting": lambda n: b"[" * n + b"]" * n,
    "half a text": lambda n: b'"' + b'\\"' * n,
    "quotes": lambda n: b'"' * n,
    "digits": lambda n: b"9" * 10 * n,
    "many beneath a long name": lambda n: b'{"' + b"n" * 10 * n + b'":[' + b"0," * n + b"0]}",
    "infinities beneath a long name": lambda n: b'{"' + b"n" * 10 * n + b'":[' + b"1e999," * n + b"0]}",
    "no names": lambda n: b"[" + b"{}," * n + b"{}]",
    "too many values": lambda n: b"[" + b"0," * (n * 100) + b"0]",
    "commas in texts": lambda n: b'["' + b"," * (n * 100) + b'"]',
}


def excesses(
    app: App, method: str, path: str, request: Callable[[int], dict[str, Any]], most: int = FIXED_BYTES
) -> list[str]:
    """Return in which ways the answers to a request and to one four times as large are too large or too slow.

    Args:
        app: the service.
        method: the method of the request.
        path: the path of the request.
        request: returns the rest of the request for a size.
        most: the maximum number of bytes of an answer, beyond twice those of the request.

    Returns:
        A sentence for each excess; none if the answers are small and the work is linear in the size.
    """
    found: list[str] = []
    too_large: list[int] = []

    def seconds(n: int) -> float:
        sent = request(n)
        answer, taken = app.send(method, path, **sent)
        if answer.status_code == 413:
            too_large.append(n)
        if answer.status_code >= 500:
            found.append(f"{path}: the service failed: {answer.text[:1000]}")
            return taken
        sizes: dict[str, tuple[int, int]] = {}
        if method != "GET" or answer.status_code >= 400:  # other answers depend on the stored data
            sizes["content"] = len(answer.content), most + 2 * len(sent.get("content", b""))
        if answer.status_code >= 400:
            limits = {"errors": MAX_ERRORS, "detail": MAX_MESSAGE_LENGTH, "instance": MAX_POINTER_LENGTH}
            sizes |= {name: (len(answer.json()[name]), limit) for name, limit in limits.items()}
        found.extend(f"{path}: {name} of {size}" for name, (size, limit) in sizes.items() if size > limit)
        return taken

    large = seconds(GROWTH * SMALL)
    if large <= NOISE_SECONDS and not too_large:  # fast enough, whatever the small one takes
        return found
    small = seconds(SMALL)
    if large > GROWTH * SLACK * small + NOISE_SECONDS:  # again: the first time may include other work
        small, large = seconds(SMALL), seconds(GROWTH * SMALL)
    if large > GROWTH * SLACK * small + NOISE_SECONDS:
        found.append(f"{path}: {small:.2f} s, then {large:.2f} s")
    return found


def path_of(path: str, study: str) -> str:
    return path.format(study_id=study, number=1, seq=1, token_id="0" * 12, webhook_id="0" * 12, file=1, deletion=1)


def as_json(body: Any) -> dict[str, Any]:
    return {"content": body if isinstance(body, bytes) else json.dumps(body).encode(), "headers": JSON}


def test_every_operation_with_a_body_is_attacked() -> None:
    """As JSON; the content of a file is not processed."""
    calls = [call for methods in DOCUMENT["paths"].values() for call in methods.values()]
    in_json = {
        call["operationId"] for call in calls if "application/json" in call.get("requestBody", {}).get("content", {})
    }
    assert in_json == SOUND.keys()


@OF_ATTACKS
@pytest.mark.parametrize(("method", "path", "operation"), TAKING_A_BODY)
def test_hostile_body_gets_a_small_response_quickly(
    app: App, method: str, path: str, operation: dict[str, Any], is_sample: bool
) -> None:
    """The hostile value replaces the whole body, an additional field, and each known field. The sample has one
    kind of body per operation, and one kind of value per field.
    """
    sound = SOUND[operation["operationId"]]
    most = BATCH_BYTES if operation["operationId"] == "observeBatch" else FIXED_BYTES
    target = path_of(path, "narrow")
    for kind in rotated(list(BODIES), operation["operationId"])[: 1 if is_sample else len(BODIES)]:
        assert excesses(app, method, target, lambda n, made=BODIES[kind]: as_json(made(n)), most) == [], kind  # type: ignore[misc]
    assert excesses(app, method, target, lambda n: as_json(sound | names(n)), most) == []
    assert excesses(app, method, target, lambda n: as_json(sound | {"n" * 10 * n: {}}), most) == []
    known, kinds = fields(operation), rotated(list(VALUES), operation["operationId"])
    turns = cycle(kinds)
    for name in known:
        for kind in islice(turns, 1 if is_sample else len(kinds)):
            value = VALUES[kind]
            request: Callable[[int], Any] = lambda n, v=value, f=name: as_json(sound | {f: v(n)})  # type: ignore[misc]  # noqa: E731
            assert excesses(app, method, target, request, most) == [], f"{name}: {kind}"


POINTS: dict[str, Callable[[int], Any]] = {
    **{name: VALUES[name] for name in ("names", "wrong values", "long names")},
    "nothing": lambda _: {},
    "wrong choices": lambda _: {"c": "t" * 1000, "d": []},
}


STUDIES = ["narrow", "wide", "vast"]
EACH = [(study, kind) for study in STUDIES for kind in POINTS]


@OF_ATTACKS
@pytest.mark.parametrize(("study", "kind"), some(EACH, EACH[::3]))
def test_hostile_point_gets_a_small_response_quickly(app: App, study: str, kind: str, is_sample: bool) -> None:
    """Also for studies with many long names or choices. The sample has each study, each kind of point, and
    each request.
    """
    root, point = f"/v1/studies/{study}", POINTS[kind]
    several: Callable[[int], list[Any]] = lambda n: [point(n // 100)] * (n // 10)  # noqa: E731
    items: Callable[[int], Any] = lambda n: [{"parameters": found, "value": 1} for found in several(n)]  # noqa: E731
    requests: list[tuple[str, Callable[[int], Any]]] = [
        ("observe", lambda n: {"parameters": point(n), "value": 1}),
        ("trials", lambda n: {"parameters": point(n)}),
        ("predict", lambda n: {"points": several(n)}),
        ("observations", lambda n: {"items": items(n)}),
        ("observations", lambda n: {"items": items(n), "dry_run": True}),
    ]
    if is_sample:
        requests = [requests[list(POINTS).index(kind)]]
    for end, body in requests:
        most = BATCH_BYTES if end == "observations" else FIXED_BYTES
        assert excesses(app, "POST", f"{root}/{end}", lambda n, b=body: as_json(b(n)), most) == []  # type: ignore[misc]


TEXTS: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "9" * n,
    "letters": lambda n: "a" * n,
    "quotes": lambda n: '"1",' * (n // 4),
    "percents": lambda n: "%41" * (n // 3),
}


@OF_ATTACKS
@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_hostile_parameters_get_a_small_response_quickly(
    app: App, method: str, path: str, operation: dict[str, Any], is_sample: bool
) -> None:
    """In path, query and headers. The sample has one value per parameter."""
    given = [(known["name"], known["in"]) for known in operation.get("parameters", [])]
    always = [("x-request-id", "header"), ("content-type", "header"), ("accept", "header"), ("more", "query")]
    given += rotated(always, operation["operationId"])[:1] if is_sample else always
    sound = {
        "study_id": "nowhere",
        "number": "1",
        "seq": "1",
        "token_id": "0" * 12,
        "user": "nobody",
        "webhook_id": "0" * 12,
        "file": "1",
        "deletion": "1",
    }
    turns = cycle(rotated(list(TEXTS.values()), operation["operationId"]))
    for name, place in given:
        for text in islice(turns, 1 if is_sample else len(TEXTS)):

            def request(n: int, name: str = name, place: str = place, text: Callable[[int], str] = text) -> Any:
                body: dict[str, Any] = {"content": b"{}", "headers": dict(JSON)} if method != "GET" else {"headers": {}}
                if place == "query":
                    body["params"] = {name: text(n)}
                elif place == "header":
                    body["headers"][name] = text(n)
                return body

            if place != "path":
                assert excesses(app, method, path.format(**sound), request) == []
                continue
            answer, _ = app.send(method, path.format(**sound | {name: text(SMALL)}), **request(SMALL))
            assert answer.status_code in (404, 422)
            assert len(answer.content) <= FIXED_BYTES


@pytest.mark.parametrize("length", ["9" * 5000, "9" * 19, "-1", "1.5", "\u00b2", "ten", ""])
def test_invalid_content_length_is_rejected(app: App, length: str) -> None:
    headers = {**JSON, "content-length": length.encode("latin-1")}
    answer, _ = app.send("POST", "/v1/studies/narrow/suggest", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_content_length_may_have_leading_zeros(app: App) -> None:
    headers = {**JSON, "content-length": "0" * 5000 + "2"}
    answer, _ = app.send("POST", "/v1/studies/narrow/suggest", content=b"{}", headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("seconds", [5e-324, 1e-9, 4e-7, 1e-6])
def test_shortest_lease_can_be_renewed(app: App, seconds: float) -> None:
    """It ends after it begins, and then expires like any other."""
    (trial,) = app.post("/v1/studies/narrow/suggest", {"lease_seconds": seconds}).json()["trials"]
    assert trial["leased_until"] > trial["started_at"]
    renewed = app.post(f"/v1/studies/narrow/trials/{trial['number']}/heartbeat", {"lease_seconds": seconds})
    assert renewed.status_code == 200, renewed.text
    assert renewed.json()["trial"]["lease_seconds"] == seconds
    kept = app.post(f"/v1/studies/narrow/trials/{trial['number']}/heartbeat", {"lease_seconds": 60})
    assert kept.json()["trial"]["state"] == "active"

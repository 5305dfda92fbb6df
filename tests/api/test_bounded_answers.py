"""Whatever is sent, the answer stays small and the work is linear in the bytes sent: on every route.

Requests go through the ASGI app in this process, and what is measured is processor time, of a body of some size and
of one four times as large: the load of the machine does not matter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from adabkb_service.api.body import MAX_DEPTH, MAX_VALUES
from adabkb_service.app import create_app
from adabkb_service.contract.parameters import MOST_CHOICES, MOST_PARAMETERS, MOST_TAGS
from adabkb_service.contract.requests import MOST_ITEMS
from adabkb_service.errors import (
    LONGEST_DETAIL,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    LONGEST_POINTER,
    LONGEST_VALUE,
    MOST_BATCH_ERRORS,
    MOST_ERRORS,
    FieldError,
    json_pointer,
    shown,
)
from adabkb_service.settings import Settings
from tests.api.test_openapi import DOCUMENT

JSON = {"content-type": "application/json"}
DOCS = Path(__file__).parents[2] / "docs" / "http.md"

SMALL, GROWTH = 2_000, 4
SLACK = 3.0
"""How much more than linear the larger request may take: quadratic work takes ``GROWTH`` times more than linear."""
NOISE_SECONDS = 0.15
FIXED_BYTES = 150_000
"""Of an answer: 100 errors of a pointer, a detail and a code, in more bytes than characters."""
BATCH_BYTES = 1_500_000
"""The same, of 1,000 items with a detail and an error each, and 1,000 errors more."""

FLOAT = {"name": "x", "kind": "float", "low": 0, "high": 1}
STUDY: dict[str, Any] = {"direction": "minimize", "parameters": [FLOAT]}
NARROW = {"id": "narrow", **STUDY}
WIDE: dict[str, Any] = {
    "id": "wide",
    "direction": "minimize",
    "parameters": [{**FLOAT, "name": f"{i:03}".ljust(200, "n")} for i in range(100)],
}
VAST = {
    "id": "vast",
    "direction": "minimize",
    "parameters": [
        {"name": "c", "kind": "categorical", "choices": [f"{i:04}".ljust(990, "c") for i in range(1000)]},
        {"name": "d", "kind": "ordinal", "values": [f"{i:04}".ljust(990, "d") for i in range(1000)]},
    ],
}
SOUND: dict[str, dict[str, Any]] = {
    "createStudy": STUDY,
    "changeStudy": {},
    "suggest": {},
    "queueTrial": {"parameters": {"x": 0}},
    "annotateTrial": {"attributes": {}},
    "heartbeat": {},
    "report": {"step": 1, "value": 0.5},
    "release": {},
    "retryTrial": {},
    "observe": {"trial": 1, "value": 1},
    "observeBatch": {"items": [{"trial": 1, "value": 1}]},
    "correctObservation": {},
    "predict": {"points": [{"x": 0}]},
    "createToken": {"name": "a", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"},  # or it closes the server
    "changeToken": {"quotas": {"studies": 1}},
    "changeAccess": {"shared_with": {"bob": "read"}},
    "createLink": {},
    "restoreStudy": {"deletion": 1},
}
"""A body that each operation takes: a hostile field stands in or beside it."""


class App:
    """The service in this process."""

    def __init__(self, portal: BlockingPortal, client: httpx.AsyncClient) -> None:
        self._portal = portal
        self._client = client

    def send(self, method: str, path: str, **request: Any) -> tuple[httpx.Response, float]:
        """The answer, and the processor seconds that it took, of all threads."""
        before = time.process_time()
        answer = self._portal.call(partial(self._client.request, method, path, **request))
        return answer, time.process_time() - before

    def post(self, path: str, body: Any) -> httpx.Response:
        return self.send("POST", path, content=json.dumps(body), headers=JSON)[0]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """With three studies, each with a trial and two results."""
    database = f"sqlite:///{tmp_path_factory.mktemp('bounded')}/adabkb.db"
    made = create_app(Settings(database=database, model_processes=0, sweep_seconds=3600))
    transport = httpx.ASGITransport(app=made, raise_app_exceptions=False)
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(made.router.lifespan_context(made)):
        app = App(portal, client)
        for study in (NARROW, WIDE, VAST):
            assert app.post("/v1/studies", study).status_code == 201
            assert app.post(f"/v1/studies/{study['id']}/suggest", {}).status_code == 200
            assert app.post(f"/v1/studies/{study['id']}/observe", {"trial": 1, "value": 1}).status_code == 200
        yield app


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


def names(n: int) -> dict[str, Any]:
    return {f"unknown{i}": 0 for i in range(n)}


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
    """What is too large or too slow about the answers to a request of some size and to one four times as large.

    Args:
        app: the service.
        method: of the request.
        path: of the request.
        request: the rest of it, by its size.
        most: bytes of an answer, beyond twice those that were sent.

    Returns:
        A sentence for each excess; none if the answers are small and the work is linear in the size.
    """
    found: list[str] = []

    def seconds(n: int) -> float:
        sent = request(n)
        answer, taken = app.send(method, path, **sent)
        if answer.status_code >= 500:
            found.append(f"{path}: the service failed: {answer.text[:1000]}")
            return taken
        sizes: dict[str, tuple[int, int]] = {}
        if method != "GET" or answer.status_code >= 400:  # else it is as long as what is stored
            sizes["content"] = len(answer.content), most + 2 * len(sent.get("content", b""))
        if answer.status_code >= 400:
            limits = {"errors": MOST_ERRORS, "detail": LONGEST_MESSAGE, "instance": LONGEST_POINTER}
            sizes |= {name: (len(answer.json()[name]), limit) for name, limit in limits.items()}
        found.extend(f"{path}: {name} of {size}" for name, (size, limit) in sizes.items() if size > limit)
        return taken

    small, large = seconds(SMALL), seconds(GROWTH * SMALL)
    if large > GROWTH * SLACK * small + NOISE_SECONDS:  # once more: the first time, something else may have been done
        small, large = seconds(SMALL), seconds(GROWTH * SMALL)
    if large > GROWTH * SLACK * small + NOISE_SECONDS:
        found.append(f"{path}: {small:.2f} s, then {large:.2f} s")
    return found


def path_of(path: str, study: str) -> str:
    return path.format(study_id=study, number=1, seq=1, token_id="0" * 12, deletion=1)


def as_json(body: Any) -> dict[str, Any]:
    return {"content": body if isinstance(body, bytes) else json.dumps(body).encode(), "headers": JSON}


def test_every_operation_that_takes_a_body_is_attacked() -> None:
    calls = [call for methods in DOCUMENT["paths"].values() for call in methods.values()]
    assert {call["operationId"] for call in calls if "requestBody" in call} == SOUND.keys()


@pytest.mark.parametrize(("method", "path", "operation"), TAKING_A_BODY)
def test_a_hostile_body_gets_a_small_answer_soon(app: App, method: str, path: str, operation: dict[str, Any]) -> None:
    """As a whole, beside the known fields, and in each of them."""
    sound = SOUND[operation["operationId"]]
    most = BATCH_BYTES if operation["operationId"] == "observeBatch" else FIXED_BYTES
    target = path_of(path, "narrow")
    for kind, body in BODIES.items():
        assert excesses(app, method, target, lambda n, made=body: as_json(made(n)), most) == [], kind  # type: ignore[misc]
    assert excesses(app, method, target, lambda n: as_json(sound | names(n)), most) == []
    assert excesses(app, method, target, lambda n: as_json(sound | {"n" * 10 * n: {}}), most) == []
    for name in fields(operation):
        for kind, value in VALUES.items():
            request: Callable[[int], Any] = lambda n, v=value, f=name: as_json(sound | {f: v(n)})  # type: ignore[misc]  # noqa: E731
            assert excesses(app, method, target, request, most) == [], f"{name}: {kind}"


POINTS: dict[str, Callable[[int], Any]] = {
    **{name: VALUES[name] for name in ("names", "wrong values", "long names")},
    "nothing": lambda _: {},
    "wrong choices": lambda _: {"c": "t" * 1000, "d": []},
}


@pytest.mark.parametrize("study", ["narrow", "wide", "vast"])
@pytest.mark.parametrize("kind", POINTS)
def test_a_hostile_point_gets_a_small_answer_soon(app: App, study: str, kind: str) -> None:
    """Also where the study has many long names, or many long choices."""
    root, point = f"/v1/studies/{study}", POINTS[kind]
    several: Callable[[int], list[Any]] = lambda n: [point(n // 100)] * (n // 10)  # noqa: E731
    bodies: dict[str, Callable[[int], Any]] = {
        "observe": lambda n: {"parameters": point(n), "value": 1},
        "trials": lambda n: {"parameters": point(n)},
        "predict": lambda n: {"points": several(n)},
        "observations": lambda n: {"items": [{"parameters": found, "value": 1} for found in several(n)]},
    }
    for end, body in bodies.items():
        most = BATCH_BYTES if end == "observations" else FIXED_BYTES
        assert excesses(app, "POST", f"{root}/{end}", lambda n, b=body: as_json(b(n)), most) == []  # type: ignore[misc]
    trial_run: Callable[[int], Any] = lambda n: bodies["observations"](n) | {"dry_run": True}  # noqa: E731
    assert excesses(app, "POST", f"{root}/observations", lambda n: as_json(trial_run(n)), BATCH_BYTES) == []


TEXTS: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "9" * n,
    "letters": lambda n: "a" * n,
    "quotes": lambda n: '"1",' * (n // 4),
    "percents": lambda n: "%41" * (n // 3),
}


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_hostile_parameters_get_a_small_answer_soon(
    app: App, method: str, path: str, operation: dict[str, Any]
) -> None:
    """Those of path, query and headers, and headers that all routes have."""
    given = [(known["name"], known["in"]) for known in operation.get("parameters", [])]
    given += [("x-request-id", "header"), ("content-type", "header"), ("accept", "header"), ("more", "query")]
    sound = {"study_id": "nowhere", "number": "1", "seq": "1", "token_id": "0" * 12, "deletion": "1"}
    for name, place in given:
        for text in TEXTS.values():

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
def test_a_content_length_that_cannot_be_is_refused(app: App, length: str) -> None:
    headers = {**JSON, "content-length": length.encode("latin-1")}
    answer, _ = app.send("POST", "/v1/studies/narrow/suggest", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_content_length_may_begin_with_noughts(app: App) -> None:
    headers = {**JSON, "content-length": "0" * 5000 + "2"}
    answer, _ = app.send("POST", "/v1/studies/narrow/suggest", content=b"{}", headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize("seconds", [5e-324, 1e-9, 4e-7, 1e-6])
def test_the_shortest_lease_is_a_lease(app: App, seconds: float) -> None:
    """It ends after it begins, and is then expired like any other."""
    (trial,) = app.post("/v1/studies/narrow/suggest", {"lease_seconds": seconds}).json()["trials"]
    assert trial["leased_until"] > trial["started_at"]
    renewed = app.post(f"/v1/studies/narrow/trials/{trial['number']}/heartbeat", {"lease_seconds": seconds})
    assert renewed.status_code == 200, renewed.text
    assert renewed.json()["trial"]["lease_seconds"] == seconds
    kept = app.post(f"/v1/studies/narrow/trials/{trial['number']}/heartbeat", {"lease_seconds": 60})
    assert kept.json()["trial"]["state"] == "active"


@pytest.mark.parametrize("count", [1, 2, MOST_ERRORS, MOST_ERRORS + 1, 50_000])
@pytest.mark.parametrize("beside", ["observe", "trials"])
def test_so_many_errors_are_listed_and_the_others_counted(app: App, count: int, beside: str) -> None:
    """Unknown parameters are found by the study, unknown fields by the shape of the body."""
    point = {"parameters": {"x": 0.5, **names(count)}, "value": 1}
    body = point if beside == "observe" else {"parameters": {"x": 0.5}, **names(count)}
    problem = app.post(f"/v1/studies/narrow/{beside}", body).json()
    listed = min(count, MOST_ERRORS)
    prefix = "/parameters" if beside == "observe" else ""
    assert [error["pointer"] for error in problem["errors"]] == [f"{prefix}/unknown{i}" for i in range(listed)]
    assert (f"(and {listed - 1} more" in problem["detail"]) == (listed > 1)
    assert (f"{count - listed:,} more not listed)" in problem["detail"]) == (count > listed)


def test_the_faults_of_lists_in_lists_are_counted(app: App) -> None:
    wrong = {"name": "c", "kind": "categorical", "choices": [{}] * 900}
    body = {"direction": "minimize", "parameters": [{**wrong, "name": f"c{i}"} for i in range(100)]}
    problem = app.post("/v1/studies", body).json()
    assert len(problem["errors"]) == MOST_ERRORS
    assert problem["errors"][-1]["pointer"] == f"/parameters/0/choices/{MOST_ERRORS - 1}"
    assert f"{100 * 900 - MOST_ERRORS:,} more not listed" in problem["detail"]


def test_each_item_of_a_batch_lists_its_first_error_and_all_together_some_more(app: App) -> None:
    items = [{"parameters": {"y": 0, "z": 0}, "value": 1}] * MOST_ITEMS  # x is missing
    answer = app.post("/v1/studies/narrow/observations", {"items": items, "dry_run": True}).json()["items"]
    assert all((item["status"], item["code"]) == (422, "invalid") for item in answer)
    assert all(item["detail"] == "/parameters/x: is missing (and 2 more)" for item in answer)
    listed = [len(item["errors"]) for item in answer]
    assert sum(listed) == MOST_ITEMS + MOST_BATCH_ERRORS
    assert set(listed) == {1, 3}
    few = app.post("/v1/studies/narrow/observations", {"items": items[: MOST_BATCH_ERRORS // 2]}).json()["items"]
    assert all(len(item["errors"]) == 3 for item in few)


@pytest.mark.parametrize(
    ("body", "most", "pointer"),
    [
        (lambda n: {"tags": {f"t{i}": "" for i in range(n)}}, MOST_TAGS, "/tags"),
        (lambda n: {"parameters": [{**FLOAT, "name": f"x{i}"} for i in range(n)]}, MOST_PARAMETERS, "/parameters"),
        (
            lambda n: {"parameters": [{"name": "c", "kind": "categorical", "choices": list(range(n))}]},
            MOST_CHOICES,
            "/parameters/0/choices",
        ),
        (
            lambda n: {
                "parameters": [{**FLOAT, "name": f"x{i}"} for i in range(100)],
                "algorithm": {"kind": "bkb", "points_per_axis": None, "lengthscale": [1] * n},
            },
            MOST_PARAMETERS,
            "/algorithm/lengthscale",
        ),
    ],
)
def test_a_list_may_have_so_many_items(app: App, body: Callable[[int], Any], most: int, pointer: str) -> None:
    longest = app.post("/v1/studies", STUDY | body(most))
    assert "too_long" not in longest.text
    problem = app.post("/v1/studies", STUDY | body(most + 1)).json()
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(pointer, "too_long")]


@pytest.mark.parametrize(
    ("path", "name", "item"), [("predict", "points", {"x": 0}), ("observations", "items", {"trial": 1, "value": 1})]
)
def test_a_call_may_have_so_many_items(app: App, path: str, name: str, item: Any) -> None:
    assert app.post(f"/v1/studies/narrow/{path}", {name: [item] * MOST_ITEMS}).status_code == 200
    problem = app.post(f"/v1/studies/narrow/{path}", {name: [item] * (MOST_ITEMS + 1)}).json()
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(f"/{name}", "too_long")]


def test_a_body_may_have_so_many_values(app: App) -> None:
    """The list is one of them, and commas in texts are none."""
    most = '[",,\\",",' + "0," * (MAX_VALUES - 3) + "0]"
    for body, code in ((most, "model_attributes_type"), (most.replace("[", "[0,"), "too_many_values")):
        answer, _ = app.send("POST", "/v1/studies", content=body, headers=JSON)
        assert [error["code"] for error in answer.json()["errors"]] == [code]


def test_texts_of_an_error_have_so_many_characters() -> None:
    longest = FieldError("/" + "p" * (LONGEST_POINTER - 1), "d" * LONGEST_DETAIL, "c")
    assert (len(longest.pointer), len(longest.detail)) == (LONGEST_POINTER, LONGEST_DETAIL)
    assert "..." not in longest.pointer + longest.detail
    longer = FieldError(longest.pointer + "p", longest.detail + "d", "c")
    assert (len(longer.pointer), len(longer.detail)) == (LONGEST_POINTER, LONGEST_DETAIL)
    assert longer.pointer.endswith("p...")
    assert longer.detail.endswith("d...")
    assert json_pointer("a/b~c", 0, "n" * LONGEST_NAME) == "/a~1b~0c/0/" + "n" * LONGEST_NAME
    assert json_pointer("n" * (LONGEST_NAME + 1)) == "/" + "n" * (LONGEST_NAME - 3) + "..."


def test_the_sentence_about_a_request_has_so_many_characters(app: App) -> None:
    sentence = "Send the body with the header Content-Type: application/json, not ."
    for length, cut in ((LONGEST_MESSAGE - len(sentence), False), (LONGEST_MESSAGE - len(sentence) + 1, True)):
        headers = {"content-type": "t" * length}
        detail = app.send("POST", "/v1/studies", content=b"{}", headers=headers)[0].json()["detail"]
        assert len(detail) == LONGEST_MESSAGE
        assert detail.endswith("...") == cut


def test_what_differs_is_named_in_few_words(app: App) -> None:
    """Down to the fields of parameters; of many differences, the first ones."""
    axis = {**FLOAT, "name": WIDE["parameters"][0]["name"], "high": 2}
    one = app.post("/v1/studies", WIDE | {"parameters": [axis, *WIDE["parameters"][1:]]})
    assert one.status_code == 409
    assert one.json()["detail"].endswith(" exists with another definition: parameters.0.high is 1.0, not 2.0.")
    all_of_them = app.post("/v1/studies", WIDE | {"parameters": WIDE["parameters"][::-1]})
    assert "definition: the order of parameters is [" in all_of_them.json()["detail"]
    assert len(all_of_them.json()["detail"]) <= LONGEST_MESSAGE
    tags = app.post("/v1/studies", NARROW | {"tags": {f"t{i}": "" for i in range(12)}})
    assert tags.json()["detail"].endswith("tags.t7 is absent, not '', and 2 more.")


def test_a_value_is_shown_in_few_characters() -> None:
    assert shown({"x": 0.5}) == "{'x': 0.5}"
    assert all(
        len(shown(value)) <= LONGEST_VALUE for value in ("t" * 10**6, ["t" * 1000] * 1000, {"t" * 1000: "t" * 1000})
    )


def test_every_limit_is_documented() -> None:
    text = DOCS.read_text().partition("## Limits")[2].partition("\n## ")[0]
    limits = [MOST_ERRORS, MOST_BATCH_ERRORS, LONGEST_NAME, LONGEST_POINTER, LONGEST_DETAIL, LONGEST_MESSAGE]
    limits += [LONGEST_VALUE, MAX_VALUES, MAX_DEPTH, MOST_PARAMETERS, MOST_CHOICES, MOST_TAGS, MOST_ITEMS]
    assert [limit for limit in limits if f"{limit:,}" not in text] == []

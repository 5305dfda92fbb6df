"""Limits of requests, and of the number and length of listed errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adabkb_service.api.body import MAX_VALUES
from adabkb_service.contract.attributes import MAX_ATTRIBUTES, MAX_BYTES, MAX_LEVELS
from adabkb_service.contract.parameters import MAX_CHOICES, MAX_PARAMETERS, MAX_TAGS
from adabkb_service.contract.plates import MAX_NUMBER
from adabkb_service.contract.reports import MAX_REPORTS
from adabkb_service.contract.requests import MAX_ITEMS
from adabkb_service.contract.strict import MAX_DEPTH
from adabkb_service.engine.early_stopping import MAX_STEPS
from adabkb_service.errors import (
    MAX_BATCH_ERRORS,
    MAX_DETAIL_LENGTH,
    MAX_ERRORS,
    MAX_MESSAGE_LENGTH,
    MAX_NAME_LENGTH,
    MAX_POINTER_LENGTH,
    MAX_VALUE_LENGTH,
    FieldError,
    json_pointer,
    shown,
)
from adabkb_service.study.owner import MAX_QUEUED
from tests.integration.api.hostile import FLOAT, JSON, NARROW, STUDY, WIDE, App, app, names
from tools.docs.tables import tables

__all__ = ["app"]

DOCS = Path(__file__).parents[3] / "docs" / "http.md"


@pytest.mark.parametrize("count", [1, 2, MAX_ERRORS, MAX_ERRORS + 1, pytest.param(50_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("beside", ["observe", "trials"])
def test_errors_beyond_the_limit_are_counted_but_not_listed(app: App, count: int, beside: str) -> None:
    """The study detects unknown parameters; the schema of the body detects unknown fields."""
    point = {"parameters": {"x": 0.5, **names(count)}, "value": 1}
    body = point if beside == "observe" else {"parameters": {"x": 0.5}, **names(count)}
    problem = app.post(f"/v1/studies/narrow/{beside}", body).json()
    listed = min(count, MAX_ERRORS)
    prefix = "/parameters" if beside == "observe" else ""
    assert [error["pointer"] for error in problem["errors"]] == [f"{prefix}/unknown{i}" for i in range(listed)]
    assert (f"(and {listed - 1} more" in problem["detail"]) == (listed > 1)
    assert (f"{count - listed:,} more not listed)" in problem["detail"]) == (count > listed)


@pytest.mark.long
def test_errors_in_nested_lists_are_counted(app: App) -> None:
    wrong = {"name": "c", "kind": "categorical", "choices": [{}] * 900}
    body = {"direction": "minimize", "parameters": [{**wrong, "name": f"c{i}"} for i in range(100)]}
    problem = app.post("/v1/studies", body).json()
    assert len(problem["errors"]) == MAX_ERRORS
    assert problem["errors"][-1]["pointer"] == f"/parameters/0/choices/{MAX_ERRORS - 1}"
    assert f"{100 * 900 - MAX_ERRORS:,} more not listed" in problem["detail"]


def test_batch_items_list_their_first_error_and_a_shared_number_of_others(app: App) -> None:
    items = [{"parameters": {"y": 0, "z": 0}, "value": 1}] * MAX_ITEMS  # x is missing
    answer = app.post("/v1/studies/narrow/observations", {"items": items, "dry_run": True}).json()["items"]
    assert all((item["status"], item["code"]) == (422, "invalid") for item in answer)
    assert all(item["detail"] == "/parameters/x: is missing (and 2 more errors)" for item in answer)
    listed = [len(item["errors"]) for item in answer]
    assert sum(listed) == MAX_ITEMS + MAX_BATCH_ERRORS
    assert set(listed) == {1, 3}
    few = app.post("/v1/studies/narrow/observations", {"items": items[: MAX_BATCH_ERRORS // 2]}).json()["items"]
    assert all(len(item["errors"]) == 3 for item in few)


@pytest.mark.parametrize(
    ("body", "most", "pointer"),
    [
        (lambda n: {"tags": {f"t{i}": "" for i in range(n)}}, MAX_TAGS, "/tags"),
        (lambda n: {"parameters": [{**FLOAT, "name": f"x{i}"} for i in range(n)]}, MAX_PARAMETERS, "/parameters"),
        (
            lambda n: {"parameters": [{"name": "c", "kind": "categorical", "choices": list(range(n))}]},
            MAX_CHOICES,
            "/parameters/0/choices",
        ),
        (
            lambda n: {
                "parameters": [{**FLOAT, "name": f"x{i}"} for i in range(100)],
                "algorithm": {"kind": "bkb", "points_per_axis": None, "lengthscale": [1] * n},
            },
            MAX_PARAMETERS,
            "/algorithm/lengthscale",
        ),
    ],
)
def test_length_of_lists_is_limited(app: App, body: Callable[[int], Any], most: int, pointer: str) -> None:
    longest = app.post("/v1/studies", STUDY | body(most))
    assert "too_long" not in longest.text
    problem = app.post("/v1/studies", STUDY | body(most + 1)).json()
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(pointer, "too_long")]


@pytest.mark.parametrize(
    ("path", "name", "item"), [("predict", "points", {"x": 0}), ("observations", "items", {"trial": 1, "value": 1})]
)
def test_number_of_items_per_call_is_limited(app: App, path: str, name: str, item: Any) -> None:
    assert app.post(f"/v1/studies/narrow/{path}", {name: [item] * MAX_ITEMS}).status_code == 200
    problem = app.post(f"/v1/studies/narrow/{path}", {name: [item] * (MAX_ITEMS + 1)}).json()
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(f"/{name}", "too_long")]


def test_number_of_values_per_body_is_limited(app: App) -> None:
    """The list counts as one, and commas in strings do not count."""
    most = '[",,\\",",' + "0," * (MAX_VALUES - 3) + "0]"
    for body, code in ((most, "model_attributes_type"), (most.replace("[", "[0,"), "too_many_values")):
        answer, _ = app.send("POST", "/v1/studies", content=body, headers=JSON)
        assert [error["code"] for error in answer.json()["errors"]] == [code]


def test_length_of_error_texts_is_limited() -> None:
    longest = FieldError("/" + "p" * (MAX_POINTER_LENGTH - 1), "d" * MAX_DETAIL_LENGTH, "c")
    assert (len(longest.pointer), len(longest.detail)) == (MAX_POINTER_LENGTH, MAX_DETAIL_LENGTH)
    assert "..." not in longest.pointer + longest.detail
    longer = FieldError(longest.pointer + "p", longest.detail + "d", "c")
    assert (len(longer.pointer), len(longer.detail)) == (MAX_POINTER_LENGTH, MAX_DETAIL_LENGTH)
    assert longer.pointer.endswith("p...")
    assert longer.detail.endswith("d...")
    assert json_pointer("a/b~c", 0, "n" * MAX_NAME_LENGTH) == "/a~1b~0c/0/" + "n" * MAX_NAME_LENGTH
    assert json_pointer("n" * (MAX_NAME_LENGTH + 1)) == "/" + "n" * (MAX_NAME_LENGTH - 3) + "..."


def test_length_of_request_error_messages_is_limited(app: App) -> None:
    sentence = "Send the body with the header Content-Type: application/json, not ."
    for length, cut in ((MAX_MESSAGE_LENGTH - len(sentence), False), (MAX_MESSAGE_LENGTH - len(sentence) + 1, True)):
        headers = {"content-type": "t" * length}
        detail = app.send("POST", "/v1/studies", content=b"{}", headers=headers)[0].json()["detail"]
        assert len(detail) == MAX_MESSAGE_LENGTH
        assert detail.endswith("...") == cut


def test_definition_conflicts_list_few_differences(app: App) -> None:
    """Down to the fields of parameters; only the first of many differences."""
    axis = {**FLOAT, "name": WIDE["parameters"][0]["name"], "high": 2}
    one = app.post("/v1/studies", WIDE | {"parameters": [axis, *WIDE["parameters"][1:]]})
    assert one.status_code == 409
    difference = f"parameter {shown(axis['name'])}: high is 1.0, not 2.0"
    assert one.json()["detail"].endswith(f" exists with another definition: {difference}.")
    all_of_them = app.post("/v1/studies", WIDE | {"parameters": WIDE["parameters"][::-1]})
    assert "definition: the order of parameters is [" in all_of_them.json()["detail"]
    assert len(all_of_them.json()["detail"]) <= MAX_MESSAGE_LENGTH
    tags = app.post("/v1/studies", NARROW | {"tags": {f"t{i}": "" for i in range(12)}})
    assert tags.json()["detail"].endswith("tags.t7 is absent, not '', and 2 more.")


def test_length_of_shown_values_is_limited() -> None:
    assert shown({"x": 0.5}) == "{'x': 0.5}"
    assert all(
        len(shown(value)) <= MAX_VALUE_LENGTH for value in ("t" * 10**6, ["t" * 1000] * 1000, {"t" * 1000: "t" * 1000})
    )


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (lambda n: {"parameters": [{**FLOAT, "name": "n" * (200 + n)}]}, "/parameters/0/name"),
        (lambda n: {"lease_seconds": 2_592_000 + n}, "/lease_seconds"),
        (lambda n: {"max_runtime_seconds": 2_592_000 + n}, "/max_runtime_seconds"),
    ],
    ids=["name", "lease", "runtime"],
)
def test_length_of_names_and_leases_is_limited(app: App, change: Callable[[int], Any], pointer: str) -> None:
    assert app.post("/v1/studies", STUDY | change(0)).status_code == 201
    problem = app.post("/v1/studies", STUDY | change(1)).json()
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


def test_each_limit_is_documented_in_a_table_row() -> None:
    """Rows that name a setting instead of a number are excluded."""
    text = DOCS.read_text().partition("## Limits")[2].partition("\n## ")[0]
    requests, connections, refusals = tables(text)
    numbers = {row[0]: row[1] for row in (*requests[2:], *refusals[2:])}
    assert numbers.pop("bytes of a body").startswith("`body_limit`")
    assert numbers == {
        "JSON values in a body, including lists and objects (empty ones count twice)": f"{MAX_VALUES:,}",
        "nesting levels of a body": f"{MAX_DEPTH}",
        "parameters of a study, and `lengthscale`s": f"{MAX_PARAMETERS}",
        "characters of a parameter's name": "200",
        "values or choices of a parameter": f"{MAX_CHOICES:,}",
        "tags": f"{MAX_TAGS}",
        "attributes of a trial": f"{MAX_ATTRIBUTES}, together {MAX_BYTES:,} bytes as JSON, "
        f"each with {MAX_LEVELS} nesting levels; a name has 1 to 200 characters and no colon",
        "items of a batch, reports of a request, points to predict at": f"{MAX_ITEMS:,}",
        "reports of an attempt": f"{MAX_REPORTS:,}",
        "the number of a `plate`": f"{MAX_NUMBER:,}",
        "the `step` of a report": f"{MAX_STEPS:,}",
        "`lease_seconds` and `max_runtime_seconds`": (
            "2,592,000 (30 days). A lease of less than a microsecond is extended to a microsecond"
        ),
        "errors that are listed": f"{MAX_ERRORS}",
        "listed errors of the items of a batch": (
            f"the first error of each item, and {MAX_BATCH_ERRORS:,} more in total"
        ),
        "characters of `detail`": f"{MAX_MESSAGE_LENGTH:,}",
        "characters of an error's `detail`": f"{MAX_DETAIL_LENGTH}",
        "characters of an error's `pointer`": f"{MAX_POINTER_LENGTH}, of a name in it {MAX_NAME_LENGTH}",
        "characters of a stored value that a sentence shows": f"{MAX_VALUE_LENGTH}",
    }
    assert ["requests that wait for one study", f"{MAX_QUEUED} (fixed)", "503 `busy`"] in connections

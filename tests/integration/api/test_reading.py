"""Reads: lists, model, events, export, health."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from typing import Any

import httpx
import pytest

from adabkb_service.storage import migration
from tests.integration.api.conftest import DEFINITION
from tests.samples import some

POISON = ["ünïcode ✓ 日本語", "'; DROP TABLE studies; --", "=1+1", 'a,"b";', "{{7*7}}", "%s%n", "שלום\ufeff"]
REASON = 'a,"b"\r\n\u202ec\t'
"""A text that may have any characters."""


@pytest.fixture
def study_with_results(api: httpx.Client, study: str) -> str:
    """The path of a study with four results, one of them at a user-supplied point, and two pending trials."""
    for number in range(1, 4):
        [trial] = api.post(f"{study}/suggest").json()["trials"]
        value = trial["parameters"]["x"] ** 2 + trial["parameters"]["n"]
        api.post(f"{study}/observe", json={"trial": number, "value": value})
    api.post(f"{study}/observe", json={"parameters": {"x": 0.5, "n": 2}, "value": 2.25})
    api.post(f"{study}/suggest", json={"count": 2})
    return study


def pages(api: httpx.Client, path: str, limit: int) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        query = {"limit": limit, **({"cursor": cursor} if cursor else {})}
        page = api.get(path, params=query).json()
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


@pytest.mark.parametrize("name", some(["trials", "observations", "events", "tree", "dictionary"], ["trials", "tree"]))
def test_lists_are_the_same_in_pages_of_any_size(api: httpx.Client, study_with_results: str, name: str) -> None:
    whole = pages(api, f"{study_with_results}/{name}", 1000)
    assert len(whole) > 3
    assert pages(api, f"{study_with_results}/{name}", 2) == whole


def test_studies_are_listed_newest_first_in_pages(api: httpx.Client) -> None:
    for i in range(5):
        api.post("/v1/studies", json={**DEFINITION, "id": f"s{i}"})
    assert [study["id"] for study in pages(api, "/v1/studies", 2)] == ["s4", "s3", "s2", "s1", "s0"]


def test_recommendation_has_a_modelled_and_an_observed_point(api: httpx.Client, study_with_results: str) -> None:
    found = api.get(f"{study_with_results}/recommendation").json()
    results = api.get(f"{study_with_results}/observations").json()["items"]
    best = min(results, key=lambda result: result["value"])
    assert found["observed"] == {key: best[key] for key in ("parameters", "value", "trial")}
    assert {"parameters", "mean"} <= set(found["model"])
    assert (found["reason"], found["gap"]) == ("too_few_results", None)
    for _ in range(5):
        [trial] = api.post(f"{study_with_results}/suggest").json()["trials"]
        value = trial["parameters"]["x"] ** 2 + trial["parameters"]["n"]
        api.post(f"{study_with_results}/observe", json={"trial": trial["number"], "value": value})
    found = api.get(f"{study_with_results}/recommendation").json()
    results = api.get(f"{study_with_results}/observations").json()["items"]
    assert found["model"]["mean"] == pytest.approx(found["observed"]["value"], abs=0.5)
    assert found["model"]["parameters"] in [result["parameters"] for result in results]


def test_predictions_of_a_minimized_study_keep_its_sign(api: httpx.Client, study_with_results: str) -> None:
    """The engine always maximizes, which must not be visible."""
    results = api.get(f"{study_with_results}/observations").json()["items"]
    body = {"points": [result["parameters"] for result in results]}
    predictions = api.post(f"{study_with_results}/predict", json=body).json()["predictions"]
    for result, prediction in zip(results, predictions, strict=True):
        assert prediction["mean"] == pytest.approx(result["value"], abs=0.5)
        assert prediction["lcb"] < prediction["mean"] < prediction["ucb"]
    outside = api.post(f"{study_with_results}/predict", json={"points": [{"x": 0, "n": 1}, {"x": 9, "n": 1}]})
    assert [error["pointer"] for error in outside.json()["errors"]] == ["/points/1/x"]


def test_model_statistics_match_tree_and_dictionary(api: httpx.Client, study_with_results: str) -> None:
    model = api.get(f"{study_with_results}/model").json()
    assert (model["status"], model["points"], model["observations"]) == ("ok", 4, 4)
    leaves = [cell for cell in api.get(f"{study_with_results}/tree").json()["items"] if cell["status"] == "leaf"]
    assert model["leaves"] == len(leaves)
    assert model["dictionary"] == len(api.get(f"{study_with_results}/dictionary").json()["items"])


def test_study_without_results_predicts_the_prior(api: httpx.Client, study: str) -> None:
    assert api.get(f"{study}/recommendation").json() == {
        "model": None,
        "observed": None,
        "gap": None,
        "reason": "no_results",
    }
    assert api.get(f"{study}/model").json()["status"] == "empty"
    [prediction] = api.post(f"{study}/predict", json={"points": [{"x": 0, "n": 1}]}).json()["predictions"]
    assert prediction["mean"] == 0.0


def test_events_are_streamed_as_they_happen(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/suggest")
    with api.stream("GET", f"{study}/events", headers={"accept": "text/event-stream", "last-event-id": "1"}) as stream:
        lines = (line.split(".")[0] for line in stream.iter_lines() if line.startswith(("id:", "event:")))
        assert list(itertools.islice(lines, 2)) == ["id: 2", "event: suggested"]
        api.post(f"{study}/observe", json={"trial": 1, "value": 1.0})
        assert list(itertools.islice(lines, 2)) == ["id: 3", "event: observed"]


def test_stream_begins_at_the_start_if_the_log_has_no_such_event(api: httpx.Client, study: str) -> None:
    """The id is that of an event that a restored database lacks."""
    refused = api.get(f"{study}/events", params={"kind": "paused"}, headers={"accept": "text/event-stream"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "?kind")
    with api.stream("GET", f"{study}/events", headers={"accept": "text/event-stream", "last-event-id": "99"}) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("id:"))
        assert next(lines).startswith("id: 1.")


STREAMED = {"accept": "text/event-stream"}


@pytest.mark.parametrize("accept", [STREAMED, {}])
def test_client_that_continues_the_events_of_a_deleted_study_gets_an_error(
    api: httpx.Client, study: str, accept: dict[str, str]
) -> None:
    """It would miss the first events of the new study, or wait forever."""
    with api.stream("GET", f"{study}/events", headers=STREAMED) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("id:"))
        event_id = next(lines).removeprefix("id: ")
        api.delete(study)
        assert not list(lines)  # and it ends
    continued = {**accept, "last-event-id": event_id}
    gone = api.get(f"{study}/events", headers=continued)
    assert (gone.status_code, gone.json()["code"], gone.json()["detail"]) == (
        404,
        "study_deleted",
        "Study 's' was deleted.",
    )
    api.post("/v1/studies", json=DEFINITION)
    another = api.get(f"{study}/events", headers=continued)
    assert (another.status_code, another.json()["code"]) == (404, "study_deleted")
    assert another.json()["detail"] == "Study 's' was deleted; another study has its id now."
    [deleted] = api.get("/v1/trash").json()["items"]
    api.delete(study, params={"purge": True})
    api.post(f"{study}/restore", json={"deletion": deleted["deletion"]})
    with api.stream("GET", f"{study}/events", headers={**STREAMED, "last-event-id": event_id}) as stream:
        # It has no further event, but its id comes again: the client reconnects with it.
        assert next(line for line in stream.iter_lines() if line.startswith("id:")) == f"id: {event_id}"


def test_stream_ends_if_its_study_is_replaced_at_once(api: httpx.Client, study: str) -> None:
    with api.stream("GET", f"{study}/events", headers=STREAMED) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("id:"))
        first = next(lines)
        api.delete(study)
        api.post("/v1/studies", json=DEFINITION)
        api.post(f"{study}/suggest")
        assert {line.split(".")[1] for line in lines} <= {first.split(".")[1]}


def test_event_id_without_the_form_of_one_is_refused(api: httpx.Client, study: str) -> None:
    for given in ("last", "-1", "1.x", "9999999999"):
        refused = api.get(f"{study}/events", headers={"last-event-id": given})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "header:Last-Event-ID"), given


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json, text/event-stream;q=0.1", "application/json"),
        ("application/json, text/event-stream;q=0", "application/json"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("text/event-stream, */*;q=0.5", "text/event-stream"),
    ],
)
def test_client_that_prefers_json_gets_no_stream(api: httpx.Client, study: str, accept: str, kind: str) -> None:
    with api.stream("GET", f"{study}/events", headers={"accept": accept}) as answer:
        assert answer.headers["content-type"].startswith(kind)


def test_stream_of_a_deleted_study_ends(api: httpx.Client, study: str) -> None:
    with api.stream("GET", f"{study}/events", headers={"accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        next(lines)
        api.delete(study)
        assert "event: created" in list(lines)


def test_export_contains_everything(api: httpx.Client, study_with_results: str) -> None:
    lines = [json.loads(line) for line in api.get(f"{study_with_results}/export").text.splitlines()]
    assert [line["id"] for line in lines if line["type"] == "study"] == ["s"]
    for kind in ("trial", "observation", "event"):
        items = api.get(f"{study_with_results}/{kind}s").json()["items"]
        assert [line for line in lines if line["type"] == kind] == [{"type": kind, **item} for item in items]
    rows = list(csv.DictReader(io.StringIO(api.get(f"{study_with_results}/export", params={"format": "csv"}).text)))
    results = api.get(f"{study_with_results}/observations").json()["items"]
    told_rows = [row for row in rows if row["observation"]]
    assert [(float(row["value"]), float(row["parameters.x"])) for row in told_rows] == [
        (result["value"], result["parameters"]["x"]) for result in results
    ]
    trials = api.get(f"{study_with_results}/trials").json()["items"]
    assert [(row["trial"], row["state"]) for row in rows if row["trial"]] == [
        (str(trial["number"]), trial["state"]) for trial in trials
    ]
    assert api.get("/v1/studies/nowhere/export").status_code == 404


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("export", "s.jsonl"),
        ("export?format=csv&bom=true&decimal=comma&titles=true", "s.csv"),
        ("export?format=curves&bom=true", "s-curves.csv"),
        ("export?format=xlsx", "s.xlsx"),
        ("report", "s.md"),
    ],
)
def test_a_download_has_a_name(api: httpx.Client, study_with_results: str, query: str, name: str) -> None:
    answer = api.get(f"{study_with_results}/{query}").raise_for_status()
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'


@pytest.mark.parametrize(
    ("query", "pointers"),
    [
        ("bom=true&titles=true", ["?bom", "?titles"]),
        ("format=xlsx&decimal=comma", ["?decimal"]),
        ("format=curves&bom=true&titles=true", ["?titles"]),
    ],
)
def test_options_without_an_effect_on_an_export_are_refused(
    api: httpx.Client, study_with_results: str, query: str, pointers: list[str]
) -> None:
    refused = api.get(f"{study_with_results}/export?{query}")
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == pointers


def test_text_is_returned_as_it_was_sent(api: httpx.Client) -> None:
    parameters = [
        {"name": POISON[0], "kind": "categorical", "choices": POISON},
        {"name": POISON[3], "kind": "bool"},
    ]
    body = {**DEFINITION, "parameters": parameters, "tags": {text: text for text in POISON}}
    created = api.post("/v1/studies", json=body).json()
    assert created["parameters"] == parameters
    assert created["tags"] == body["tags"]
    for choice in POISON:
        point = {POISON[0]: choice, POISON[3]: True}
        response = api.post("/v1/studies/s/observe", json={"parameters": point, "value": 1}).json()
        assert response["observation"]["parameters"] == point
    [trial] = api.post("/v1/studies/s/suggest", json={"worker": POISON[0]}).json()["trials"]
    assert trial["worker"] == POISON[0]
    failed = {"trial": 1, "state": "failed", "reason": REASON}
    assert api.post("/v1/studies/s/observe", json=failed).json()["trial"]["reason"] == REASON
    row, *rows = csv.DictReader(io.StringIO(api.get("/v1/studies/s/export?format=csv").text, newline=""))
    # Spreadsheets would execute it.
    escaped = [f"'{text}" if text.startswith("=") else text for text in POISON]
    assert [row[f"parameters.{POISON[0]}"] for row in rows] == escaped
    assert (row["worker"], row["reason"]) == (POISON[0], REASON)


def test_every_kind_of_parameter_is_issued_in_its_own_type(api: httpx.Client) -> None:
    parameters = [
        {"name": "f", "kind": "float", "low": 1e-5, "high": 1.0, "scale": "log"},
        {"name": "i", "kind": "int", "low": 1, "high": 1024, "scale": "log"},
        {"name": "s", "kind": "int", "low": 0, "high": 100, "step": 25},
        {"name": "o", "kind": "ordinal", "values": [0.5, 1, 2.5]},
        {"name": "c", "kind": "categorical", "choices": ["a", 1, True, 0.5]},
        {"name": "b", "kind": "bool"},
    ]
    api.post("/v1/studies", json={**DEFINITION, "parameters": parameters})
    for number, trial in enumerate(api.post("/v1/studies/s/suggest", json={"count": 12}).json()["trials"]):
        point = trial["parameters"]
        assert list(point) == ["f", "i", "s", "o", "c", "b"]
        assert 1e-5 <= point["f"] <= 1
        assert type(point["i"]) is int
        assert point["s"] in (0, 25, 50, 75, 100)
        assert point["o"] in (0.5, 1, 2.5)
        assert point["c"] in ("a", 1, True, 0.5)
        assert type(point["b"]) is bool
        result = {"trial": trial["number"], "value": number, "parameters": point}
        response = api.post("/v1/studies/s/observe", json=result)
        assert response.json()["observation"]["parameters"] == point


def test_stale_if_match_is_rejected(api: httpx.Client, study: str) -> None:
    tag = api.get(study).headers["etag"]
    assert api.patch(study, json={"tags": {"a": "b"}}, headers={"if-match": tag}).status_code == 200
    stale = api.patch(study, json={"budget": 1}, headers={"if-match": tag})
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
    assert api.delete(study, headers={"if-match": tag}).status_code == 412
    assert api.delete(study, headers={"if-match": "*"}).status_code == 204
    assert api.get(study).status_code == 404


def test_study_recreated_under_its_old_id_starts_empty(api: httpx.Client, study_with_results: str) -> None:
    api.delete(study_with_results)
    api.post("/v1/studies", json=DEFINITION)
    assert api.get(f"{study_with_results}/recommendation").json()["observed"] is None
    [trial] = api.post(f"{study_with_results}/suggest").json()["trials"]
    assert (trial["number"], trial["cell"]) == (1, {"key": "0", "depth": 0})


def test_server_expires_leases_without_requests(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/suggest", json={"lease_seconds": 0.2})
    with api.stream("GET", f"{study}/events", headers={"accept": "text/event-stream", "last-event-id": "2"}) as stream:
        assert "event: expired" in itertools.islice(stream.iter_lines(), 20)
    assert api.get(f"{study}/trials/1").json()["state"] == "expired"


@pytest.mark.usefixtures("study_with_results")
def test_health_version_and_metrics(api: httpx.Client) -> None:
    assert api.get("/healthz").json() == {"status": "ok"}
    assert api.get("/readyz").json() == {"status": "ok"}
    version = api.get("/version").json()
    assert (version["api"], version["schema"]) == ("v1", migration.HEAD)
    metrics = api.get("/metrics").text
    assert 'adabkb_observations_total{status="completed"} 4.0' in metrics
    route = 'method="POST",route="/v1/studies/{study_id}/suggest",status="200"'
    assert f"adabkb_http_requests_total{{{route}}} 4.0" in metrics
    assert "adabkb_suggest_seconds_count 4.0" in metrics


def test_valid_request_ids_are_kept(server: str) -> None:
    assert httpx.get(f"{server}/healthz", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert httpx.get(f"{server}/healthz", headers={"x-request-id": "a b"}).headers["x-request-id"] != "a b"


def test_api_page_needs_no_other_host(api: httpx.Client) -> None:
    """Labs may be offline, so the page loads everything from the server itself."""
    page = api.get("/docs").text
    loaded = re.findall(r"""(?:src|href)=["']([^"']+)["']""", page)
    assert len(loaded) >= 3
    assert all(url.startswith("/") and not url.startswith("//") for url in loaded)
    assert [api.get(url).status_code for url in loaded] == [200] * len(loaded)


def test_head_is_supported_wherever_get_is(server: str) -> None:
    """With the same status and headers, without a body. An event stream does not block it."""
    with httpx.Client(base_url=server, timeout=60) as client:
        client.post("/v1/studies", json=DEFINITION)
        for path in ("/", "/docs", "/healthz", "/metrics", "/v1/studies", "/v1/studies/s", "/v1/studies/nowhere"):
            asked, got = client.head(path), client.get(path)
            assert (asked.status_code, asked.content) == (got.status_code, b""), path
            assert asked.headers.get("content-type") == got.headers.get("content-type")
        assert client.head("/v1/studies/s").headers["etag"] == client.get("/v1/studies/s").headers["etag"]
        stream = client.head("/v1/studies/s/events", headers={"Accept": "text/event-stream"})
        assert (stream.status_code, stream.content) == (200, b"")
        assert client.get("/healthz").json() == {"status": "ok"}  # on the same connection
        assert 'method="HEAD",route="/v1/studies/{study_id}"' in client.get("/metrics").text
        assert client.head("/v1/studies/s/suggest").status_code == 405


def test_start_page_redirects_to_the_documentation(server: str) -> None:
    led = httpx.get(f"{server}/", follow_redirects=True)
    assert (led.status_code, led.url.path) == (200, "/docs")


@pytest.mark.parametrize("number", ["01", "+1", "1.0", "%201", "one"])
def test_a_number_in_a_path_has_one_form(api: httpx.Client, study: str, number: str) -> None:
    api.post(f"{study}/suggest").raise_for_status()
    refused = api.get(f"{study}/trials/{number}")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "path:number")
    assert api.get(f"{study}/trials/1").status_code == 200

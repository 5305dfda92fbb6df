"""Known responses are not sent again, and large ones are compressed."""

from __future__ import annotations

import itertools

import httpx
import pytest

from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on


@pytest.mark.parametrize("path", ["", "/trials", "/trials/1", "/trials?state=active"])
def test_known_response_is_not_sent_again(api: httpx.Client, study: str, path: str) -> None:
    api.post(f"{study}/suggest")
    first = api.get(f"{study}{path}")
    for known in (
        first.headers["etag"],
        f'"other", {first.headers["etag"]}',
        f"W/{first.headers['etag'].removeprefix('W/')}",
        "*",
    ):
        again = api.get(f"{study}{path}", headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    api.post(f"{study}/trials/1/heartbeat", json={"lease_seconds": 77})  # this is not in the log
    api.patch(study, json={"tags": {"a": "b"}})
    changed = api.get(f"{study}{path}", headers={"If-None-Match": first.headers["etag"]})
    assert (changed.status_code, changed.headers["etag"] != first.headers["etag"]) == (200, True)
    assert changed.json() != first.json()


def test_study_etag_works_for_if_match_and_if_none_match(api: httpx.Client, study: str) -> None:
    tag = api.get(study).headers["etag"]
    assert api.patch(study, json={"budget": 9}, headers={"If-Match": tag}).status_code == 200
    assert api.patch(study, json={"budget": 8}, headers={"If-Match": tag}).status_code == 412


def test_changed_study_has_the_etag_of_a_get(api: httpx.Client, study: str) -> None:
    created = api.post("/v1/studies", json={**DEFINITION, "id": "t"})
    for path, answer in (("/v1/studies/t", created), (study, api.patch(study, json={"budget": 9}))):
        assert api.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_etag_of_a_deleted_study_does_not_fit_a_new_one_with_its_id(api: httpx.Client, study: str, method: str) -> None:
    tag = api.get(study).headers["etag"]
    api.delete(study)
    api.post(f"{study}/restore")
    assert api.patch(study, json={}, headers={"If-Match": tag}).status_code == 200, "it is the same study"
    tag = api.get(study).headers["etag"]
    api.delete(study, params={"purge": True})
    assert api.post("/v1/studies", json=DEFINITION).json()["revision"] == 1
    body = {"budget": 7} if method == "PATCH" else None
    assert api.request(method, study, json=body, headers={"If-Match": tag}).status_code == 412
    assert api.get(study).json()["budget"] != 7


def test_change_of_a_trial_is_refused_if_the_trial_has_changed(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/suggest", json={"count": 2})
    tag = {"If-Match": api.get(f"{study}/trials/1").headers["etag"]}
    assert not tag["If-Match"].startswith("W/"), "a weak tag never matches"
    api.patch(f"{study}/trials/2", json={"attributes": {"note": "other"}})  # another trial
    assert api.patch(f"{study}/trials/1", json={"attributes": {"note": "A"}}, headers=tag).status_code == 200
    refused = api.patch(f"{study}/trials/1", json={"attributes": {"note": "B"}}, headers=tag)
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
    assert api.get(f"{study}/trials/1").json()["attributes"] == {"note": "A"}
    assert api.patch(f"{study}/trials/1", json={"attributes": {}}, headers={"If-Match": '"stale"'}).status_code == 412
    present = {"If-Match": f'"stale", {api.get(f"{study}/trials/1").headers["etag"]}'}
    assert api.patch(f"{study}/trials/1", json={"attributes": {"note": "B"}}, headers=present).status_code == 200


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_correction_is_refused_if_the_study_has_changed(api: httpx.Client, study: str, method: str) -> None:
    api.post(f"{study}/observe", json={"parameters": {"x": 0.5, "n": 2}, "value": 1})
    tag = api.get(study).headers["etag"]
    path, body = f"{study}/observations/1", {"value": 2} if method == "PATCH" else None
    assert api.patch(path, json={"std_error": 0.5}, headers={"If-Match": tag}).status_code == 200
    assert api.request(method, path, json=body, headers={"If-Match": tag}).status_code == 412
    assert api.request(method, path, json=body, headers={"If-Match": "1"}).status_code == 422
    (result,) = api.get(f"{study}/observations").json()["items"]
    assert (result["value"], result["excluded"]) == (1, False)
    present = {"If-Match": api.get(study).headers["etag"]}
    assert api.request(method, path, json=body, headers=present).status_code == 200


def test_compressed_study_has_a_weak_etag_that_matches(api: httpx.Client, study: str) -> None:
    """A strong ETag is that of the bytes, which differ."""
    api.patch(study, json={"description": "x" * 4500})
    packed = api.get(study)
    assert (packed.headers["content-encoding"], packed.headers["etag"][:2]) == ("gzip", "W/")
    assert packed.headers["etag"] == f"W/{api.get(study, headers={'Accept-Encoding': 'identity'}).headers['etag']}"
    tag = packed.headers["etag"]
    known = api.get(study, headers={"If-None-Match": tag})
    assert (known.status_code, known.headers["vary"]) == (304, "Accept-Encoding")
    assert api.patch(study, json={"budget": 9}, headers={"If-Match": tag}).status_code == 200
    assert api.patch(study, json={"budget": 8}, headers={"If-Match": tag}).status_code == 412


def test_large_responses_are_compressed_on_request_but_event_streams_are_not(other_sqlite: str) -> None:
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as api:
        api.post("/v1/studies", json=DEFINITION)
        items = [{"parameters": {"x": 0.1, "n": 1}, "value": float(value)} for value in range(60)]
        api.post("/v1/studies/s/observations", json={"items": items})
        large = "/v1/studies/s/observations"
        plain = api.get(large, headers={"Accept-Encoding": "identity"})
        packed = api.get(large)
        assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert packed.json() == plain.json()
        assert int(packed.headers["content-length"]) < len(plain.content) / 4
        assert "content-encoding" not in plain.headers
        assert "content-encoding" not in api.get("/v1/studies/s").headers
        export = api.get("/v1/studies/s/export")
        assert (export.headers["content-encoding"], len(export.text.splitlines()) > 60) == ("gzip", True)
        with api.stream("GET", "/v1/studies/s/events", headers={"Accept": "text/event-stream"}) as stream:
            assert "content-encoding" not in stream.headers
            assert any(line.startswith("event: ") for line in itertools.islice(stream.iter_lines(), 9))
        head = api.head(large)
        assert (head.status_code, head.content) == (200, b"")

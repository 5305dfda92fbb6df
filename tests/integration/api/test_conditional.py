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

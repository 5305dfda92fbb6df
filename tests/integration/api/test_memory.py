"""A server that cannot allocate more memory refuses some requests, loses no data, and serves other requests."""

from __future__ import annotations

import resource
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from adabkb_service.operations.data.doctor import examine
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_process
from tests.waiting import TIMEOUT_SECONDS, wait_for

MARGIN = 16 * 2**20
"""Bytes that the server may allocate in addition. The batches together need more."""
ITEMS = 1000
"""Number of items of a batch."""
RESULT = {"parameters": {"x": 0.5, "n": 3}, "value": 1.0}
LARGE, SMALL = "/v1/studies/large/observations", "/v1/studies/small/observe"
REQUESTS: list[tuple[str, dict[str, Any], int]] = [
    (LARGE, {"items": [RESULT] * ITEMS}, ITEMS),
    (SMALL, RESULT, 1),
    (LARGE, {"items": [RESULT] * ITEMS}, ITEMS),
] * 3
"""Path, body, and number of results stored by the request."""


@pytest.mark.long
def test_requests_are_refused_temporarily_when_memory_runs_out(other_sqlite: str) -> None:
    """Concurrent batches fill the memory, together with small requests to another study. Refused results are stored
    when their request is repeated, and every result is stored exactly once.
    """
    answers = Counter[tuple[str, int]]()
    with server_process(other_sqlite) as server, ThreadPoolExecutor(8) as pool:
        for name in ("large", "small", "warm"):
            assert httpx.post(f"{server.address}/v1/studies", json={**DEFINITION, "id": name}).status_code == 201

        def is_accepted(key: int) -> bool:
            """Send a request, and return whether it was acknowledged. If not, the server asks for a retry, or closes a
            connection for lack of memory."""
            path, body, _ = REQUESTS[key]
            try:
                answer = httpx.post(
                    server.address + path, json=body, headers={"Idempotency-Key": str(key)}, timeout=TIMEOUT_SECONDS
                )
            except (httpx.NetworkError, httpx.RemoteProtocolError):
                return False
            answers[path, answer.status_code] += 1
            assert answer.status_code in (200, 503), answer.text
            if answer.status_code == 503:
                assert answer.json()["retryable"], answer.text
                assert answer.headers["Retry-After"]
            return answer.status_code == 200

        def is_stored(_: int) -> bool:
            body = {"items": [RESULT]}
            return httpx.post(
                f"{server.address}/v1/studies/warm/observations", json=body, timeout=TIMEOUT_SECONDS
            ).is_success

        # Threads and late imports also need memory, so they are created before the limit is set.
        assert all(pool.map(is_stored, range(40)))
        pid, keys = server.process.pid, range(len(REQUESTS))
        before = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (size_of(pid) + MARGIN, before[1]))
        taken = list(pool.map(is_accepted, keys))
        assert answers[SMALL, 200], answers
        assert answers[LARGE, 503], answers
        resource.prlimit(pid, resource.RLIMIT_AS, before)
        for key in keys:
            if not taken[key]:
                wait_for(lambda: is_accepted(key))  # noqa: B023 - it is called at once
        for name, path in (("large", LARGE), ("small", SMALL)):
            expected = sum(count for each, _, count in REQUESTS if each == path)
            found = httpx.get(f"{server.address}/v1/studies/{name}", timeout=TIMEOUT_SECONDS).json()["counts"]
            assert found["observations"] == expected
    database = Database(other_sqlite)
    assert list(examine(database)) == []
    database.close()


def size_of(pid: int) -> int:
    """Bytes of the address space of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()

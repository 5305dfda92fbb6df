"""Slow and oversized headers and bodies, too many connections and streams: each is refused with a remedy, while others
are answered.

The limits are small, so that the tests are short.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from adabkb_service.api.connections import ConnectionLimits
from adabkb_service.api.parts import parts_of, set_parts
from adabkb_service.api.problem_types import CONNECTIONS
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.integration.api.conftest import DEFINITION
from tests.integration.attack.wire import Answer, answer, connection, get, rest
from tests.servers import server_on, serving

HEADER, CONNECTIONS_ALLOWED, BODIES, STREAMS = 4096, 8, 100_000, 2
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with long timeouts for headers, bodies and idle connections."""
    limits = {"header_limit": HEADER, "connections": CONNECTIONS_ALLOWED, "bodies_limit": BODIES, "streams": STREAMS}
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('wire')}/adabkb.db", **limits) as found:
        assert httpx.post(f"{found}/v1/studies", json={**DEFINITION, "id": "s"}).status_code == 201
        yield found


@pytest.fixture(scope="module")
def short_timeouts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with short timeouts."""
    limits = {"header_seconds": 0.2, "body_seconds": 0.3, "idle_seconds": 0.2}
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('short_timeouts')}/adabkb.db", **limits) as found:
        yield found


def refused(found: Answer, status: int) -> str:
    """Return the detail of a refused connection, after checking that the problem is complete."""
    kind = CONNECTIONS[status]
    assert found.status == found.problem["status"] == status
    assert (found.problem["code"], found.problem["remedy"]) == (kind.code, kind.remedy)
    detail: str = found.problem["detail"]
    return detail


def test_header_size_is_limited(address: str) -> None:
    room = HEADER - len(get("/healthz", "X: ")) - 100
    with connection(address) as sock:
        sock.sendall(get("/healthz", "X: " + "a" * room))
        assert answer(sock).status == 200
    for extra in (200, HEADER, 60 * HEADER):
        with connection(address) as sock:
            sock.sendall(get("/healthz", "X: " + "a" * (room + extra)))
            assert "4,096 bytes" in refused(answer(sock), 431)
        with connection(address) as sock:
            sock.sendall(get("/" + "a" * (room + extra)))
            refused(answer(sock), 431)


def test_endless_header_is_refused_at_the_limit(address: str) -> None:
    """Whatever its content is; the server stores no more of it."""
    for endless in (b"X: " + b"a" * HEADER, b"X: a\r\n" * HEADER, b"a" * HEADER):
        with connection(address) as sock:
            sock.sendall(get(ending="\r\n") + endless)
            refused(answer(sock), 431)


def test_header_limit_applies_to_each_request_of_a_connection(address: str) -> None:
    with connection(address) as sock:
        for _ in range(5):
            sock.sendall(get("/healthz", "X: " + "a" * (HEADER // 2)))
            assert answer(sock).status == 200


def test_slow_headers_and_bodies_time_out_and_idle_connections_are_closed(short_timeouts: str) -> None:
    with connection(short_timeouts) as sock:
        sock.sendall(get(ending="\r\n"))
        assert "header" in refused(answer(sock), 408)
    for body in (b"", b'{"direction": '):
        with connection(short_timeouts) as sock:
            head = get("/v1/studies", "Content-Type: application/json", "Content-Length: 100")
            sock.sendall(head.replace(b"GET", b"POST") + body)
            assert "body" in refused(answer(sock), 408)
    with connection(short_timeouts) as sock:
        assert rest(sock) == b""
    with connection(short_timeouts) as sock:
        sock.sendall(get())
        assert rest(sock).startswith(b"HTTP/1.1 200")


def test_header_in_many_pieces_is_accepted_within_the_timeout(address: str) -> None:
    with connection(address) as sock:
        for byte in get():
            sock.sendall(bytes([byte]))
        assert answer(sock).status == 200


def test_idle_clients_do_not_block_others(address: str) -> None:
    """Half a header, half a body, an idle connection: a new connection replaces the one that has waited longest."""
    half = get("/v1/studies", "Content-Type: application/json", "Content-Length: 9", ending="\r\n\r\n{")
    with ExitStack() as stack:
        idle = []
        for opening in [b"", get(ending="\r\n"), half.replace(b"GET", b"POST"), get()] * CONNECTIONS_ALLOWED:
            sock = stack.enter_context(connection(address))
            with suppress(ConnectionError):
                sock.sendall(opening)
            idle.append(sock)
            assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200
        assert rest(idle[0]) == b""


def test_connection_that_fails_at_startup_is_closed() -> None:
    """Whatever the error is, so that its client does not wait in vain."""
    app = FastAPI()
    parts = parts_of(create_app(Settings(database="sqlite:///never-opened.db")))
    limits = ConnectionLimits(header_seconds="soon")  # type: ignore[arg-type]
    set_parts(app, replace(parts, connection_limits=limits))
    with serving(app) as address, pytest.raises((httpx.NetworkError, httpx.RemoteProtocolError)):
        httpx.get(address, timeout=60)


def test_number_of_event_streams_is_limited(address: str) -> None:
    stream = {"Accept": "text/event-stream"}
    with httpx.Client(base_url=address, timeout=60) as client, ExitStack() as stack:
        lines = []
        for _ in range(STREAMS):
            opened = stack.enter_context(client.stream("GET", "/v1/studies/s/events", headers=stream))
            lines.append(opened.iter_lines())
            assert next(lines[-1]) == "retry: 1000"
        refusal = client.get("/v1/studies/s/events", headers=stream)
        assert (refusal.status_code, refusal.json()["code"]) == (503, "busy")
        assert "2 event streams" in refusal.json()["detail"]
        assert client.get("/v1/studies/s/events").status_code == 200
        client.patch("/v1/studies/s", json={"state": "paused"})
        for each in lines:
            assert any(line == "event: paused" for line in each)


def test_bytes_of_pending_bodies_are_limited(address: str) -> None:
    """Including those of clients that do not finish; when they disconnect, new bodies are accepted."""
    head = get("/v1/studies", "Content-Type: application/json", "Content-Length: 90000").replace(b"GET", b"POST")
    body = json.dumps({**DEFINITION, "id": "b", "tags": {"a": "t" * 50_000}})
    with connection(address) as sock:
        sock.sendall(head + b" " * 80_000)
        with httpx.Client(base_url=address, timeout=60) as client:
            while (found := client.post("/v1/studies", content=body, headers=JSON)).status_code == 422:
                pass  # the server has not read the other one yet
            assert (found.status_code, found.json()["code"]) == (503, "busy")
            assert client.post("/v1/studies", json={**DEFINITION, "id": "small"}).status_code == 201
    with httpx.Client(base_url=address, timeout=60) as client:
        while (found := client.post("/v1/studies", content=body, headers=JSON)).status_code == 503:
            pass  # the server has not noticed yet
        assert found.status_code == 422


@pytest.mark.parametrize(
    "smuggled",
    [
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\nhello",
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nContent-Length: " + b"9" * 4000 + b"\r\n\r\nhello",
        b"POST /v1/studies HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\nX-Y: b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: h\r\nX\0: a\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 30,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: h\r\n\r\n",
    ],
    ids=range(14),
)
def test_ambiguous_request_gets_at_most_one_response(address: str, smuggled: bytes) -> None:
    """A smuggled request is not performed: its response would be a 404 with its path."""
    hidden = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connection(address) as sock:
        sock.sendall(smuggled + hidden)
        sock.shutdown(1)
        found = rest(sock)
    assert b"smuggled" not in found
    assert found.count(b"HTTP/1.1 ") <= 1
    assert httpx.get(f"{address}/healthz").status_code == 200


def test_path_traversal_is_not_possible(address: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a-secret")
    up = ["..", "%2e%2e", "..%2f", "%252e%252e", "..\\", "..%5c", "%c0%ae%c0%ae", "....//"]
    for each in up:
        for begin in ("/assets/", "/v1/studies/", "/studies/", "/docs/", "/static-offline-docs/", "/"):
            climbing = begin + "/".join([each] * 12) + str(secret)
            with connection(address) as sock:
                sock.sendall(get(climbing, "Connection: close"))
                found = rest(sock)
            assert b"a-secret" not in found
            assert found.split()[1] in (b"404", b"405"), climbing

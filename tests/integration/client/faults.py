"""A real HTTP proxy that spoils some of the answers it forwards, and notes what passed."""

import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import httpx

from tests.waiting import TIMEOUT_SECONDS

Fault = Literal[
    "lose request",
    "lose answer",
    "stall",
    "late",
    "slow",
    "busy",
    "not ours",
    "no route",
    "too large",
    "token",
    "internal",
]

PLAIN, PROBLEM = {"Content-Type": "text/plain"}, {"Content-Type": "application/problem+json"}
INSTEAD: dict[Fault, tuple[int, dict[str, str], bytes]] = {
    "busy": (503, {"Retry-After": "1"}, b""),
    "not ours": (200, {"Content-Type": "text/html"}, b"<p>Welcome to the hotel's wireless network"),
    "no route": (404, PLAIN, b"default backend - 404"),
    "too large": (413, PLAIN, b"Request Entity Too Large"),
    "token": (401, PROBLEM, b'{"code": "unauthorized", "detail": "The token is unknown."}'),
    "internal": (500, PROBLEM, b'{"code": "internal", "detail": "Internal error"}'),
}
"""Answers of the proxy's own; the request is not forwarded."""


@dataclass
class Proxy:
    url: str
    upstream: str
    """Where requests are forwarded to."""
    faults: deque[Fault | None] = field(default_factory=deque)
    """What befalls the next requests, None for nothing; those after them are forwarded faithfully."""
    sent: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and idempotency key of every request that came."""
    go_on: threading.Event = field(default_factory=threading.Event)
    """Until which a request that is "late" is not forwarded, and an answer that is "slow" is not. Each request has that
    of its arrival."""

    def keys(self, path_end: str) -> list[str | None]:
        return [key for _, path, key in self.sent if path.endswith(path_end)]


@contextmanager
def proxy(upstream: str) -> Iterator[Proxy]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            state.sent.append((self.command, self.path, self.headers.get("Idempotency-Key")))
            fault = state.faults.popleft() if state.faults else None
            go_on = state.go_on
            if fault == "lose request":
                self.hang_up()
                return
            if fault in INSTEAD:
                self.answer(*INSTEAD[fault])
                return
            headers = {k: v for k, v in self.headers.items() if k not in {"Host", "Connection"}}
            if fault == "late":
                go_on.wait(TIMEOUT_SECONDS)
            try:
                answer = http.request(self.command, state.upstream + self.path, content=body, headers=headers)
            except httpx.TransportError:
                self.hang_up()
                return
            if fault == "slow":
                go_on.wait(TIMEOUT_SECONDS)
            if fault == "stall":
                self.connection.recv(1, socket.MSG_PEEK)  # returns when the client has given up
            if fault in ("lose answer", "stall"):
                self.hang_up()
            else:
                self.answer(answer.status_code, dict(answer.headers), answer.content)

        do_GET = do_POST = do_PATCH = do_DELETE = forward  # noqa: N815 (the names http.server calls)

        def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() in {"content-type", "retry-after"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def hang_up(self) -> None:
            self.close_connection = True
            with suppress(OSError):  # the client was faster
                self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with httpx.Client(timeout=TIMEOUT_SECONDS) as http, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state = Proxy(f"http://127.0.0.1:{server.server_port}", upstream)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield state
        finally:
            state.go_on.set()
            server.shutdown()
            thread.join()

"""A receiver of webhooks: a real HTTP server on loopback whose answers a test sets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.0/8"


@dataclass
class Receiver:
    """Received requests, and statuses of answers: first ``statuses`` in order, then 204."""

    address: str
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of the answers."""
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    """Headers and body of each request, including failed ones."""
    accepted: list[dict[str, Any]] = field(default_factory=list)
    """The messages that were answered with success."""
    guard: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def receiving(**answers: Any) -> Iterator[Receiver]:
    """A receiver on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with receiver.guard:
                receiver.received.append((dict(self.headers), body))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                if 200 <= status < 300:
                    receiver.accepted.append(json.loads(body))
            self.send_response(status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    receiver = Receiver("", **answers)
    with serving(Handler) as receiver.address:
        yield receiver


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run a server in a thread, on a free port of loopback. Yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Raw bytes on a connection, which no HTTP library would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """The answer of the server."""

    status: int
    problem: Any
    """The problem document, if it is one."""


@contextmanager
def connection(address: str) -> Iterator[socket.socket]:
    """A connection to the server."""
    url = urlsplit(address)
    with socket.create_connection((url.hostname, url.port), timeout=60) as made:
        yield made


def get(path: str = "/healthz", *headers: str, ending: str = "\r\n\r\n") -> bytes:
    """A request."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers]).encode("latin-1") + ending.encode()


def rest(sock: socket.socket) -> bytes:
    """Return all bytes up to the end of the connection, however it ends."""
    found = b""
    try:
        while piece := sock.recv(65536):
            found += piece
    except ConnectionError:
        pass
    return found


def answer(sock: socket.socket) -> Answer:
    """Read one answer with a Content-Length."""
    with sock.makefile("rb") as file:
        status = int(file.readline().split()[1])
        headers = dict(line.lower().split(b": ", 1) for line in iter(file.readline, b"\r\n"))
        body = file.read(int(headers[b"content-length"]))
    return Answer(status, json.loads(body) if b"problem+json" in headers[b"content-type"] else None)

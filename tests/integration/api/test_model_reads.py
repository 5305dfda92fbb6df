"""Reads of models that do not reply do not block other requests, and end at their deadline or when the client
disconnects.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPResponse
from types import FrameType
from typing import Any

import httpx
import pytest

from adabkb_service.api import model_reads
from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.calls import watching
from tests.integration.api.conftest import DEFINITION
from tests.servers import serving
from tests.waiting import wait_for

READS = 200
POINT = {"points": [{"x": 0.5, "n": 3}]}
OWN = {"parameters": {"x": 0.5, "n": 3}, "value": 1.0}
STOPPED, SOUND = "stopped", "a"
"""Studies whose models are in different processes."""


def answers(api: httpx.Client, study: str) -> bool:
    """Whether the model of a study answers."""
    return api.post(f"/v1/studies/{study}/predict", json=POINT).status_code == 200


@pytest.fixture
def begun() -> Iterator[set[FrameType]]:
    """The reads that the server has begun to answer or to refuse."""
    frames = set[FrameType]()
    with watching({model_reads.ModelReads.answer: lambda frame, _: frames.add(frame)}):
        yield frames


@pytest.fixture
def server(
    other_sqlite: str,
    request: pytest.FixtureRequest,
    begun: set[FrameType],  # noqa: ARG001 - observes threads that start later
) -> Iterator[tuple[str, int]]:
    """A server with two model processes. Yields its address, and the model process of the study to stop. The parameter
    is the timeout of requests."""
    number = zlib.crc32(STOPPED.encode()) % 2
    assert zlib.crc32(SOUND.encode()) % 2 != number
    waits = {"request_seconds": request.param} if hasattr(request, "param") else {}
    app = create_app(Settings(database=other_sqlite, model_processes=2, **waits))
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as api:
        for name in (STOPPED, SOUND):
            assert api.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
            wait_for(partial(answers, api, name))
        pid = parts_of(app).service.inference.load.pids[number]
        os.kill(pid, signal.SIGSTOP)
        yield address, pid
        os.kill(pid, signal.SIGCONT)


@contextmanager
def readers(address: str, path: str, count: int) -> Iterator[list[socket.socket]]:
    """Clients that have sent a request each without reading the answer."""
    host, port = address.removeprefix("http://").split(":")
    opened = []
    try:
        for _ in range(count):
            opened.append(socket.create_connection((host, int(port)), timeout=60))
            opened[-1].sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        yield opened
    finally:
        for each in opened:
            each.close()


def answered(each: socket.socket) -> dict[str, Any] | None:
    """Return the problem in the answer to a client; None if there is no complete answer yet."""
    each.setblocking(False)
    try:
        head, _, body = each.recv(65536, socket.MSG_PEEK).partition(b"\r\n\r\n")
    except BlockingIOError:
        return None
    length = re.search(rb"content-length: (\d+)", head.lower())
    if length is None or len(body) < int(length[1]):
        return None
    assert head.startswith(b"HTTP/1.1 503"), head
    assert b"retry-after: 1" in head.lower()
    found: dict[str, Any] = json.loads(body)
    return found


def waiting_messages(api: httpx.Client) -> float:
    lines = api.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("adabkb_model_messages_waiting "))


@pytest.mark.long
def test_reads_of_an_unresponsive_model_block_no_other_requests(server: tuple[str, int], begun: set[FrameType]) -> None:
    """They do not block readiness, admission, lists, suggestions, results or reads of other models."""
    address, pid = server
    most = model_reads.MAX_RUNNING_PER_STUDY + model_reads.MAX_WAITING_PER_STUDY
    with httpx.Client(base_url=address, timeout=30) as api:
        with readers(address, f"/v1/studies/{STOPPED}/importance", READS) as clients:
            refused: dict[int, dict[str, Any]] = {}

            def too_many() -> bool:
                for number, each in enumerate(clients):
                    if number not in refused and (problem := answered(each)):
                        refused[number] = problem
                return len(refused) == READS - most

            wait_for(too_many)
            assert {(each["code"], each["retryable"]) for each in refused.values()} == {("busy", True)}
            assert api.get("/readyz").status_code == 200
            suggested = api.post(f"/v1/studies/{SOUND}/suggest").json()
            assert suggested["trials"][0]["origin"] == "policy"
            result = {"trial": suggested["trials"][0]["number"], "value": 1.0}
            assert api.post(f"/v1/studies/{SOUND}/observe", json=result).status_code == 200
            assert api.post(f"/v1/studies/{SOUND}/predict", json=POINT).status_code == 200
            assert api.get(f"/v1/studies/{SOUND}/trials").status_code == 200
            assert api.post(f"/v1/studies/{STOPPED}/observe", json=OWN).status_code == 200
            assert len(refused) == READS - most
            assert waiting_messages(api) > 0
        # Disconnected clients free their slots, although the model has not replied yet ...

        def all_wait() -> bool:
            before = len(begun)
            with readers(address, f"/v1/studies/{STOPPED}/importance", most) as clients:
                wait_for(lambda: len(begun) == before + most)
                assert api.get("/readyz").status_code == 200  # its answer comes after refusals
                return not any(answered(each) for each in clients)

        wait_for(all_wait)
        os.kill(pid, signal.SIGCONT)  # ... and no work is left for them
        wait_for(lambda: waiting_messages(api) == 0)
        assert api.get(f"/v1/studies/{STOPPED}/importance").status_code == 200


@pytest.mark.parametrize("server", [3.0], indirect=True)
def test_reads_end_at_their_deadline(server: tuple[str, int]) -> None:
    """Also a read that waits for earlier reads."""
    address, _ = server
    path = f"/v1/studies/{STOPPED}/importance"
    with readers(address, path, model_reads.MAX_RUNNING_PER_STUDY + 1) as clients:
        codes = []
        for each in clients:
            each.settimeout(30)
            answer = HTTPResponse(each)
            answer.begin()
            codes.append(json.loads(answer.read())["code"])
    assert set(codes) <= {"busy", "unavailable"}

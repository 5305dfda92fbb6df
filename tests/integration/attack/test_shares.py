"""No user and no client without a token can use up a server's streams, waits, requests or connections."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from adabkb_service.storage.database import Database
from tests.integration.access.conftest import Guarded, give_token
from tests.integration.api.conftest import DEFINITION, pointers
from tests.integration.attack.wire import answer, get
from tests.servers import server_on

STREAM = {"Accept": "text/event-stream"}
LIMITS = {"user_streams": 2, "user_waits": 1, "user_requests": 4, "quota_requests_per_second": None}
CONNECTIONS = 8


@pytest.fixture(scope="module")
def guarded(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with small limits and two users: ann's study "s" is shared with bob, and its only trial is issued."""
    path = tmp_path_factory.mktemp("shares") / "adabkb.db"
    path.write_bytes(sqlite_template.read_bytes())
    url = f"sqlite:///{path}"
    with closing(Database(url)) as database:
        ann = give_token(database, "ann", "work")
        with server_on(url, **LIMITS) as address:
            server = Guarded(address, database)
            server.send(ann, "POST", "/v1/studies", {**DEFINITION, "pending_limit": 1})
            server.send(ann, "PATCH", "/v1/studies/s/access", {"shared_with": {"bob": "work"}})
            assert server.send(ann, "POST", "/v1/studies/s/suggest", {}).json()["trials"]
            yield server


def opened(stack: ExitStack, client: httpx.Client) -> httpx.Response:
    """Open an event stream that ends with the stack."""
    found = stack.enter_context(client.stream("GET", "/v1/studies/s/events", headers=STREAM))
    if found.status_code == 200:
        lines = found.iter_lines()
        assert next(lines) == "retry: 1000"
        stack.callback(list, (lines,))  # keeps a reference, since the stream would end without one
    else:
        found.read()
    return found


def refused(answer: httpx.Response, setting: str) -> None:
    pointers(answer)
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_at_once")
    assert setting in answer.json()["detail"]
    assert answer.json()["retryable"]
    assert "retry-after" in answer.headers


def test_streams_per_user_are_limited_over_all_tokens_and_links(guarded: Guarded) -> None:
    ann, bob = guarded.token("ann", "work"), guarded.token("bob", "read")
    link = guarded.send(ann, "POST", "/v1/studies/s/links").json()["token"]
    with ExitStack() as stack:
        clients = [
            stack.enter_context(guarded.client(token)) for token in (ann, link, guarded.token("ann", "read"), bob)
        ]
        streams = [opened(stack, client) for client in clients]
        assert [stream.status_code for stream in streams] == [200, 200, 429, 200]
        refused(streams[2], "user_streams")


def test_concurrent_requests_per_user_are_limited(guarded: Guarded) -> None:
    """Here two streams and a wait; a request beyond the fourth is refused."""
    ann = guarded.token("ann", "work")
    with ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        client = stack.enter_context(guarded.client(ann))
        for _ in range(2):
            opened(stack, client)
        wait = {"Prefer": "wait=3"}
        asked = [threads.submit(client.post, "/v1/studies/s/suggest", headers=wait, json={}) for _ in range(2)]
        answers = [each.result(60) for each in asked]
        assert {answer.status_code for answer in answers} == {200}
        waited = ["preference-applied" in answer.headers for answer in answers]
        assert sorted(waited) == [False, True], "one waiting request per user; the other is answered immediately"
    with ExitStack() as stack:
        client = stack.enter_context(guarded.client(ann))
        others = [stack.enter_context(guarded.client(ann)) for _ in range(2)]
        held = [opened(stack, each) for each in others]
        assert {each.status_code for each in held} == {200}
        with ThreadPoolExecutor(2) as threads:
            slow = threads.submit(client.post, "/v1/studies/s/suggest", headers={"Prefer": "wait=3"}, json={})
            codes: set[int] = set()
            with guarded.client(guarded.token("bob", "work")) as bob, ThreadPoolExecutor(8) as many:
                while not slow.done():
                    sent = [many.submit(guarded.send, ann, "GET", "/v1/studies/s/export") for _ in range(8)]
                    codes |= {each.result(60).status_code for each in sent}
                    assert bob.get("/v1/studies/s").status_code == 200
            assert codes == {200, 429}


def test_link_uses_up_the_rate_of_its_owner(guarded: Guarded) -> None:
    token = guarded.token("cid", "work", quotas={"requests_per_second": 0.5})
    with guarded.client(token) as cid:
        assert cid.post("/v1/studies", json={**DEFINITION, "id": "cids"}).status_code == 201
        link = cid.post("/v1/studies/cids/links").json()["token"]
        with guarded.client(link) as reader:
            codes = [reader.get("/v1/studies/cids").status_code for _ in range(10)]
        assert codes[0] == 200
        assert codes[-1] == 429
        assert cid.get("/v1/studies/cids").status_code == 429


def test_processor_time_is_limited_by_default_but_not_for_administrators(guarded: Guarded) -> None:
    quotas = guarded.send(guarded.token("ann", "work"), "GET", "/v1/tokens/self").json()["quotas"]
    assert quotas["model_seconds_per_minute"] == 45
    quotas = guarded.send(guarded.token("root", "admin"), "GET", "/v1/tokens/self").json()["quotas"]
    assert quotas["model_seconds_per_minute"] is None


def test_long_constraints_use_up_the_processor_time_of_their_user(guarded: Guarded) -> None:
    token = guarded.token("eve", "work", quotas={"model_seconds_per_minute": 0.001})
    long = {**DEFINITION, "constraints": ["+".join(["x"] * 90) + " <= -900"]}
    codes = [guarded.send(token, "POST", "/v1/studies", {**long, "id": f"e{k}"}).status_code for k in range(3)]
    assert codes == [422, 429, 429]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = f"sqlite:///{tmp_path_factory.mktemp('few')}/adabkb.db"
    with server_on(url, connections=CONNECTIONS, stall_seconds=3600, header_seconds=3600) as found:
        yield found


def client_at(stack: ExitStack, server: str, source: str) -> socket.socket:
    """A connection from one of the addresses of loopback."""
    url = urlsplit(server)
    made = socket.create_connection((url.hostname, url.port), timeout=60, source_address=(source, 0))
    return stack.enter_context(made)


def is_served(sock: socket.socket) -> bool:
    sock.sendall(get())
    return answer(sock).status == 200


def test_many_connections_from_one_address_do_not_end_those_of_another(address: str) -> None:
    """Although the victim's connection has been idle longest."""
    with ExitStack() as stack:
        victim = client_at(stack, address, "127.0.0.2")
        assert is_served(victim)
        for _ in range(3 * CONNECTIONS):
            attacker = client_at(stack, address, "127.0.0.3")
            assert is_served(attacker)
        assert is_served(victim)


@pytest.mark.long
def test_unread_responses_do_not_block_others(address: str) -> None:
    large = get("/openapi.json", ending="\r\n\r\n") * 100
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            sock = client_at(stack, address, "127.0.0.3")
            sock.sendall(large)
        health, deadline = {503}, time.monotonic() + 30
        while health != {200}:  # at first, the server can still write to all of them
            assert time.monotonic() < deadline
            health = {httpx.get(f"{address}/healthz", timeout=60).status_code for _ in range(2 * CONNECTIONS)}

"""Long tests of ``make attack``: the latency of a victim's requests during attacks."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.integration.api.conftest import DEFINITION
from tests.integration.attack.wire import connection, get, rest
from tests.servers import server_process

pytestmark = pytest.mark.long

ROUNDS = 150
FACTOR, SLACK_SECONDS = 3.0, 0.25
"""The victim's 99% quantile may be this factor times its baseline, plus a slack for a busy machine."""
JSON = {"Content-Type": "application/json"}
STREAM = {"Accept": "text/event-stream"}

Attack = Callable[[str], object]


def victim(address: str, study: str) -> float:
    """The 99% quantile of the seconds of a pair of suggest and observe."""
    seconds = []
    with httpx.Client(base_url=address, timeout=60, transport=httpx.HTTPTransport(retries=5)) as client:
        client.post("/v1/studies", json={**DEFINITION, "id": study, "algorithm": {"profile": "auto"}})
        for _ in range(ROUNDS):
            started = time.monotonic()
            while (asked := _patient(client, f"/v1/studies/{study}/suggest", {})).status_code == 503:
                pass
            (trial,) = asked.json()["trials"]
            response = _patient(client, f"/v1/studies/{study}/observe", {"trial": trial["number"], "value": 1.0})
            assert response.status_code == 200
            seconds.append(time.monotonic() - started)
    return statistics.quantiles(seconds, n=100)[98]


def _patient(client: httpx.Client, path: str, body: object) -> httpx.Response:
    """Send a request, again if its idle connection was closed."""
    while True:
        with suppress(httpx.RemoteProtocolError, httpx.ReadError):
            return client.post(path, json=body)


@contextmanager
def attacking(address: str, attack: Attack, threads: int) -> Iterator[None]:
    """Repeat the attack in several threads within the block."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            with suppress(OSError, httpx.HTTPError):
                attack(address)

    attackers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for each in attackers:
        each.start()
    yield
    ended.set()
    for each in attackers:
        each.join(120)


def idle(address: str, opening: bytes = b"", count: int = 500) -> None:
    """Open stalled connections, in two threads more than the limit."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(connection(address)).sendall(opening)
        time.sleep(1.0)


def wrong(address: str, body: bytes) -> None:
    """A request that is refused."""
    httpx.post(f"{address}/v1/studies", content=body, headers=JSON, timeout=60)


def endless(address: str) -> None:
    """A header without an end."""
    with connection(address) as sock:
        sock.sendall(get(ending="\r\n") + b"X: " + b"a" * 10**6)
        rest(sock)


def streams(address: str) -> None:
    """Open the maximum number of event streams."""
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(base_url=address, limits=httpx.Limits(max_connections=None)))
        for _ in range(100):
            stack.enter_context(client.stream("GET", "/v1/studies/baseline/events", headers=STREAM))
        time.sleep(1.0)


HALF = get("/v1/studies", "Content-Type: application/json", "Content-Length: 9000000").replace(b"GET", b"POST")
ATTACKS: dict[str, tuple[Attack, int]] = {
    "idle connections": (idle, 2),
    "half headers": (partial(idle, opening=get(ending="\r\n")), 2),
    "half bodies": (partial(idle, opening=HALF + b" " * 50_000), 2),
    "endless headers": (endless, 2),
    "event streams": (streams, 2),
    "deep nesting": (partial(wrong, body=b"[" * 10**6), 1),
    "many parameters": (
        partial(
            wrong,
            body=json.dumps(
                {**DEFINITION, "parameters": [{"name": f"p{i}", "kind": "bool"} for i in range(100_000)]}
            ).encode(),
        ),
        1,
    ),
    "unknown fields": (partial(wrong, body=json.dumps({f"u{i}": 0 for i in range(50_000)}).encode()), 1),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, float]]:
    """The server's address, and the victim's latency without an attack."""
    file: Path = tmp_path_factory.mktemp("victim") / "adabkb.db"
    with server_process(f"sqlite:///{file}", model_processes=1) as process:
        victim(process.address, "warm")
        yield process.address, victim(process.address, "baseline")


@pytest.mark.parametrize("name", ATTACKS)
def test_latency_of_other_users_is_bounded_during_attacks(server: tuple[str, float], name: str) -> None:
    address, baseline = server
    attack, threads = ATTACKS[name]
    with attacking(address, attack, threads):
        attacked = victim(address, f"v-{name.replace(' ', '-')}")
    print(f"{name}: 99% {attacked * 1000:.0f} ms, {baseline * 1000:.0f} ms without")
    assert attacked <= FACTOR * baseline + SLACK_SECONDS

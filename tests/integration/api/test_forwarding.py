"""Exactly one server on a PostgreSQL database follows each study, and any server forwards requests to it. If it is
dead, stopped or unreachable, the others perform them.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from adabkb_service.api.forwarding import Forwarding, follower_of
from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.operations.data.importing import import_study
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import idempotency_keys
from tests.acceptance.chaos.databases import empty
from tests.integration.api.conftest import DEFINITION, pointers
from tests.servers import server_on, server_process, serving
from tests.waiting import TIMEOUT_SECONDS, wait_for

NAMES = st.text("0123456789abcdef", min_size=4, max_size=4)


@given(study=NAMES, servers=st.sets(NAMES, min_size=1, max_size=6), gone=NAMES)
def test_study_keeps_its_follower_when_another_server_leaves(study: str, servers: set[str], gone: str) -> None:
    follower = follower_of(study, frozenset(servers))
    assert follower in servers
    if left := servers - {gone, follower}:
        assert follower_of(study, frozenset({*left, follower})) == follower


def test_studies_are_distributed_over_the_servers() -> None:
    servers = frozenset(f"{index:032x}" for index in range(4))
    counts = [sum(follower_of(f"s{k}", servers) == each for k in range(1000)) for each in servers]
    assert min(counts) > 200


@dataclass
class RunningServer:
    """A server in this process."""

    app: FastAPI
    client: httpx.Client

    @property
    def forwarding(self) -> Forwarding:
        forwarding = parts_of(self.app).forwarding
        assert forwarding is not None
        return forwarding

    @property
    def model_bytes(self) -> int:
        return int(parts_of(self.app).service.inference.load.cache_bytes)

    def sees(self, count: int) -> bool:
        """Whether it sees this number of servers; a single or disconnected server performs everything itself."""
        return len(self.forwarding.servers) == count


@pytest.fixture
def two(other_postgresql: str) -> Iterator[list[RunningServer]]:
    """Two servers on one database that see each other."""
    with ExitStack() as stack:
        servers = [started(stack, other_postgresql) for _ in range(2)]
        wait_for_discovery(servers)
        yield servers


def started(stack: ExitStack, url: str, **settings: Any) -> RunningServer:
    app = create_app(Settings(database=url, model_processes=0, **settings))
    address = stack.enter_context(serving(app))
    return RunningServer(app, stack.enter_context(httpx.Client(base_url=address, timeout=TIMEOUT_SECONDS)))


def wait_for_discovery(servers: list[RunningServer]) -> None:
    wait_for(lambda: all(each.sees(len(servers)) for each in servers))


def one_for_each(servers: list[RunningServer], **definition: Any) -> list[str]:
    """Create a study for each of two servers, which follows it."""
    names = [f"s{number}" for number in range(64)]
    found = [next(name for name in names if each.forwarding.other(name) is None) for each in servers]
    for name in found:
        made = servers[0].client.post("/v1/studies", json={**DEFINITION, **definition, "id": name})
        assert made.status_code == 201
    return found


def pairs(clients: list[httpx.Client], study: str, count: int) -> list[dict[str, Any]]:
    """Perform a number of pairs, alternating between the servers, and return their points."""
    points, url = [], f"/v1/studies/{study}"
    for index in range(count):
        asked = clients[index % len(clients)].post(f"{url}/suggest", json={})
        assert asked.status_code == 200
        assert not asked.json()["degraded"]
        (trial,) = asked.json()["trials"]
        points.append(trial["parameters"])
        result = {"trial": trial["number"], "value": trial["parameters"]["x"] ** 2 + trial["parameters"]["n"]}
        assert clients[(index + 1) % len(clients)].post(f"{url}/observe", json=result).status_code == 200
    return points


def check_once(client: httpx.Client, study: str, count: int) -> None:
    """Check that each pair is stored once."""
    counts = client.get(f"/v1/studies/{study}").json()["counts"]
    assert counts["trials"] == counts["completed"] == counts["observations"] == count


@pytest.mark.long
def test_only_the_follower_has_a_model_and_suggestions_are_unchanged(two: list[RunningServer], server: str) -> None:
    clients = [each.client for each in two]
    with httpx.Client(base_url=server, timeout=TIMEOUT_SECONDS) as alone:
        for name in one_for_each(two):
            assert alone.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
            before = [each.model_bytes for each in two]
            assert pairs(clients, name, 8) == pairs([alone], name, 8)
            grown = [each.model_bytes > had for each, had in zip(two, before, strict=True)]
            assert grown == [each.forwarding.other(name) is None for each in two]
            assert clients[0].get(f"/v1/studies/{name}").text == clients[1].get(f"/v1/studies/{name}").text
            check_once(clients[0], name, 8)


@pytest.mark.long
def test_explanations_of_a_study_whose_trials_fail_use_the_model_of_the_follower(two: list[RunningServer]) -> None:
    """They contain the probability that the trial finishes, which the model computes."""
    for name in one_for_each(two):
        follower, other = sorted(two, key=lambda each: each.forwarding.other(name) is not None)
        for index in range(8):
            (trial,) = follower.client.post(f"/v1/studies/{name}/suggest", json={}).json()["trials"]
            outcome = {"value": 1.0} if index < 3 else {"state": "failed"}
            result = {"trial": trial["number"], **outcome}
            assert follower.client.post(f"/v1/studies/{name}/observe", json=result).status_code == 200
        before, url = other.model_bytes, f"/v1/studies/{name}/trials/8/why"
        found = other.client.get(url).json()
        assert found == follower.client.get(url).json()
        assert 0.0 < found["decision"]["finish_probability"] < 1.0
        assert other.model_bytes == before


PAGES = ("", "/results", "/results/1", "/trials/1", "/edit", "/sharing", "/webhooks")
DATA = ("/history.json", "/past.json?results=2", "/unusual.json?seq=8", "/results/8/stored.json")


def test_pages_and_exports_do_not_compute_the_model_again(two: list[RunningServer], other_sqlite: str) -> None:
    """A page is read again after each event, so each server that shows one would compute the model of the study."""
    (name, _) = one_for_each(two)
    follower, other = sorted(two, key=lambda each: each.forwarding.other(name) is not None)
    pairs([each.client for each in two], name, 8)
    before = other.model_bytes
    for path in PAGES:
        shown = other.client.get(f"/studies/{name}{path}", headers={"Accept": "text/html"})
        assert (shown.status_code, path, other.model_bytes) == (200, path, before)
    for path in DATA:
        found = other.client.get(f"/studies/{name}{path}")
        assert (found.status_code, path, other.model_bytes) == (200, path, before)
        assert found.json() == follower.client.get(f"/studies/{name}{path}").json()
    exported = other.client.get(f"/v1/studies/{name}/export")
    assert (exported.status_code, other.model_bytes) == (200, before)
    with closing(Database(other_sqlite)) as database:
        assert import_study(database, exported.text.splitlines()).counts.observations == 8
    undone = other.client.post(f"/studies/{name}/undo-import", json={"observations": [3]})
    assert (undone.status_code, other.model_bytes) == (200, before)
    assert follower.client.get(f"/v1/studies/{name}").json()["revision"] == undone.json()["revision"]


@pytest.mark.parametrize("padding", ["", pytest.param(" " * 2**20, marks=pytest.mark.long)], ids=["short", "long"])
def test_long_refused_and_non_ascii_requests_are_forwarded_unchanged(two: list[RunningServer], padding: str) -> None:
    for name in one_for_each(two):
        url = f"/v1/studies/{name}"
        for each in two:
            asked = each.client.post(f"{url}/suggest", json={"count": 9, "worker": "Zoë ✓"})
            assert [trial["worker"] for trial in asked.json()["trials"]] == ["Zoë ✓"] * 9
            points = json.dumps({"items": [{"parameters": {"x": k / 20, "n": 1}, "value": 1.0} for k in range(20)]})
            response = each.client.post(
                f"{url}/observations", content=padding + points, headers={"Content-Type": "application/json"}
            )
            assert [item["status"] for item in response.json()["items"]] == [200] * 20
            assert "/valeu" in pointers(each.client.post(f"{url}/observe", json={"trial": 1, "valeu": 2}))
            assert pointers(each.client.post(f"{url}/suggest", content=b"\xff\x00")) is not None
            assert each.client.post("/v1/studies/none/suggest", json={}).status_code == 404
            answer = each.client.get(url, headers={"X-Request-ID": "mine"})
            assert answer.headers["x-request-id"] == "mine"
            unchanged = each.client.get(url, headers={"If-None-Match": answer.headers["etag"]})
            assert unchanged.status_code == 304


def test_idempotency_key_has_one_effect_on_any_servers(two: list[RunningServer]) -> None:
    for name in one_for_each(two):
        url, key = f"/v1/studies/{name}/suggest", {"Idempotency-Key": "k"}
        answers = [each.client.post(url, json={}, headers=key) for each in (*two, *two)]
        assert len({answer.text for answer in answers}) == 1
        assert [answer.headers.get("Idempotent-Replayed") for answer in answers] == [None, "true", "true", "true"]


def test_forwarded_requests_without_a_key_are_performed_once(two: list[RunningServer]) -> None:
    """The server forwards them with a key, in case the follower performs them and dies before it answers."""
    asked, follower = two
    path = f"/v1/studies/{one_for_each(two)[1]}"
    point = {"parameters": {"x": 0.5, "n": 3}, "value": 1.0}
    assert asked.client.post(f"{path}/observe", json=point).status_code == 200
    assert again(follower, "POST", f"{path}/observe", json=point).status_code == 200
    assert follower.client.get(path).json()["counts"]["observations"] == 1
    budget: dict[str, Any] = {"json": {"budget": 7}, "headers": {"If-Match": follower.client.get(path).headers["ETag"]}}
    assert asked.client.patch(path, **budget).status_code == 200
    assert again(follower, "PATCH", path, **budget).status_code == 200
    assert asked.client.post(f"{path}/predict", json={"points": [point["parameters"]]}).status_code == 200
    assert len(keys(asked)) == 2, "a read needs no key"


def keys(server: RunningServer) -> list[str]:
    """The stored keys, in order."""
    with parts_of(server.app).service.database.reading() as connection:
        table = idempotency_keys.c
        return list(connection.execute(sa.select(table.key).order_by(table.created_at)).scalars())


def again(
    server: RunningServer, method: str, path: str, *, headers: dict[str, str] | None = None, **request: Any
) -> Any:
    """Return a server's answer to a request with the last stored key."""
    return server.client.request(
        method, path, headers={**(headers or {}), "Idempotency-Key": keys(server)[-1]}, **request
    )


@pytest.mark.long
def test_waiting_client_of_any_server_gets_a_trial_unless_disconnected(two: list[RunningServer]) -> None:
    def waits() -> bool:
        return any(parts_of(each.app).service.changes.waiting_for_trial for each in two)

    with ThreadPoolExecutor(1) as workers:
        for name in one_for_each(two, pending_limit=1):
            url = f"/v1/studies/{name}"
            for asking, telling in (two, two[::-1]):
                (trial,) = asking.client.post(f"{url}/suggest", json={}).json()["trials"]
                with pytest.raises(httpx.ReadTimeout):
                    asking.client.post(f"{url}/suggest", json={}, headers={"Prefer": "wait=60"}, timeout=0.5)
                wait_for(lambda: not waits())
                asked = workers.submit(asking.client.post, f"{url}/suggest", json={}, headers={"Prefer": "wait=60"})
                wait_for(waits)
                telling.client.post(f"{url}/observe", json={"trial": trial["number"], "value": 1.0})
                (trial,) = asked.result().json()["trials"]
                telling.client.post(f"{url}/observe", json={"trial": trial["number"], "value": 1.0})
            assert two[0].client.get(url).json()["counts"]["trials"] == 4


def bearer(token: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {token['token']}"}


def first_token(servers: list[RunningServer]) -> dict[str, str]:
    """Create an administrator's token, so that all servers require tokens from now on."""
    made = servers[0].client.post("/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()
    wait_for(lambda: all(each.client.get("/v1/studies").status_code == 401 for each in servers))
    return bearer(made)


@pytest.mark.long
def test_quotas_apply_on_any_server(two: list[RunningServer]) -> None:
    """The server that performs the request has had no request of this user before."""
    root = first_token(two)
    quotas = {"name": "ann", "scopes": ["work"], "quotas": {"trials": 4}}
    ann = bearer(two[0].client.post("/v1/tokens", json=quotas, headers=root).json())
    (asks,) = (each for each in two if each.forwarding.other("s") is not None)
    assert asks.client.post("/v1/studies", json=DEFINITION, headers=ann).status_code == 201
    asked = [asks.client.post("/v1/studies/s/suggest", json={}, headers=ann) for _ in range(5)]
    assert [answer.status_code for answer in asked] == [200] * 4 + [403]
    assert "4 trials" in asked[-1].json()["detail"]
    assert asks.client.post("/v1/studies/s/suggest", json={}).status_code == 401


def test_follower_checks_permissions_again(two: list[RunningServer]) -> None:
    """A token may be revoked while the other server, which admitted the request, still has the grant cached."""
    root = first_token(two)
    (asks,) = (each for each in two if each.forwarding.other("s") is not None)
    (follows,) = (each for each in two if each is not asks)
    ann = asks.client.post("/v1/tokens", json={"name": "ann", "scopes": ["work"]}, headers=root).json()
    definition = {**DEFINITION, "pending_limit": 1}
    assert asks.client.post("/v1/studies", json=definition, headers=bearer(ann)).status_code == 201

    def suggest(**more: str) -> httpx.Response:
        return asks.client.post("/v1/studies/s/suggest", json={}, headers=bearer(ann) | more)

    (trial,) = suggest().json()["trials"]
    with ThreadPoolExecutor(1) as workers:
        waiting = workers.submit(suggest, Prefer="wait=60")
        wait_for(lambda: parts_of(follows.app).service.changes.waiting_for_trial)
        assert follows.client.delete(f"/v1/tokens/{ann['id']}", headers=root).status_code == 204
        assert suggest().status_code == 401
        result = {"trial": trial["number"], "value": 1.0}
        assert follows.client.post("/v1/studies/s/observe", json=result, headers=root).status_code == 200
        assert waiting.result().status_code == 401
    assert asks.client.get("/v1/studies/s", headers=root).json()["counts"]["trials"] == 1


def load(servers: list[httpx.Client], names: list[str], count: int) -> None:
    """Perform a number of pairs of each study, in turn."""
    for _ in range(count):
        for name in names:
            pairs(servers, name, 1)


@pytest.mark.long
def test_stopping_server_hands_its_studies_over_without_a_failure(other_postgresql: str) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(1) as workers:
        stays = started(stack, other_postgresql)
        with ExitStack() as other:
            leaves = started(other, other_postgresql)
            wait_for_discovery([stays, leaves])
            names = one_for_each([stays, leaves])
            running = workers.submit(load, [stays.client], names, 30)
            wait_for(lambda: stays.client.get(f"/v1/studies/{names[1]}").json()["counts"]["observations"] > 1)
        running.result()
        for name in names:
            check_once(stays.client, name, 30)


def test_stopping_server_gets_no_new_requests_and_answers_pending_ones(other_postgresql: str) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(2) as workers:
        stays = started(stack, other_postgresql)
        other = ExitStack()
        leaves = started(other, other_postgresql)
        wait_for_discovery([stays, leaves])
        _, name = one_for_each([stays, leaves], pending_limit=1)
        url = f"/v1/studies/{name}"
        (trial,) = stays.client.post(f"{url}/suggest", json={}).json()["trials"]
        asked = workers.submit(stays.client.post, f"{url}/suggest", json={}, headers={"Prefer": "wait=60"})
        wait_for(lambda: parts_of(leaves.app).service.changes.waiting_for_trial)
        stopping = workers.submit(other.close)
        wait_for(lambda: stays.forwarding.other(name) is None)
        assert stays.sees(2), "it hands the study over before it ends"
        stays.client.post(f"{url}/observe", json={"trial": trial["number"], "value": 1.0})
        assert len(asked.result().json()["trials"]) == 1
        assert stays.client.get(url).json()["counts"]["trials"] == 2
        stopping.result()


def test_stopping_server_ends_the_waits_that_it_has_forwarded(two: list[RunningServer]) -> None:
    """Otherwise it waits for them, drops them after its grace period, and their clients get a 500."""
    asks, follows = two
    _, name = one_for_each(two, pending_limit=1)
    url = f"/v1/studies/{name}"
    (trial,) = asks.client.post(f"{url}/suggest", json={}).json()["trials"]
    with ThreadPoolExecutor(1) as workers:
        waiting = workers.submit(asks.client.post, f"{url}/suggest", json={}, headers={"Prefer": "wait=60"})
        wait_for(lambda: parts_of(follows.app).service.changes.waiting_for_trial)
        parts_of(asks.app).service.stopping.set()  # as on SIGTERM
        wait_for(lambda: not parts_of(follows.app).service.changes.waiting_for_trial, 40)  # sooner than the wait ends
        answer = waiting.result()
    assert (answer.status_code, answer.json()["trials"]) == (200, [])
    follows.client.post(f"{url}/observe", json={"trial": trial["number"], "value": 1.0})
    assert len(follows.client.post(f"{url}/suggest", json={}).json()["trials"]) == 1
    assert follows.client.get(url).json()["counts"]["trials"] == 2


def test_killed_follower_is_replaced_and_every_point_uses_the_model(other_postgresql: str) -> None:
    """Under load on the other server, no call fails, and each result is stored once."""
    with ExitStack() as stack, ThreadPoolExecutor(1) as workers:
        stays = started(stack, other_postgresql, suggestion_seconds=5.0)  # after that, a point would be quasi-random
        killed = stack.enter_context(server_process(other_postgresql))
        wait_for(lambda: stays.sees(2))
        names = followed_by_other(stays)
        running = workers.submit(load, [stays.client], names, 10)
        wait_for(lambda: stays.client.get(f"/v1/studies/{names[0]}").json()["counts"]["observations"] > 1)
        killed.kill()
        running.result()
        assert stays.sees(1)
        for name in names:
            counts = stays.client.get(f"/v1/studies/{name}").json()["counts"]
            assert counts["completed"] == counts["observations"] == 10


def followed_by_other(server: RunningServer) -> list[str]:
    """New studies that another server follows."""
    names = [name for name in map("s{}".format, range(64)) if server.forwarding.other(name) is not None][:3]
    for name in names:
        assert server.client.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
    return names


@pytest.mark.long
def test_suspended_follower_does_not_repeat_requests(
    other_postgresql: str,
) -> None:
    with ExitStack() as stack:
        stays = started(stack, other_postgresql)
        stopped = stack.enter_context(server_process(other_postgresql))
        wait_for(lambda: stays.sees(2))
        names = followed_by_other(stays)
        os.kill(stopped.process.pid, signal.SIGSTOP)
        try:
            for name in names:
                asked = stays.client.post(f"/v1/studies/{name}/suggest", json={})
                assert not asked.json()["degraded"]
        finally:
            os.kill(stopped.process.pid, signal.SIGCONT)
        wait_for(lambda: stays.sees(2))
        with httpx.Client(base_url=stopped.address, timeout=TIMEOUT_SECONDS) as client:
            for name in names:
                assert client.get(f"/v1/studies/{name}").json()["counts"]["trials"] == 1
                pairs([stays.client, client], name, 2)


CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND (query = 'SELECT' OR pid IN (SELECT process FROM servers))
    ORDER BY random() LIMIT 1
"""
"""Close one of the connections for messages between servers."""


@pytest.mark.long
def test_lost_notifications_do_not_delay_requests(two: list[RunningServer], other_postgresql: str) -> None:
    """The connections for notifications are closed repeatedly."""
    names, clients = one_for_each(two), [each.client for each in two]
    engine = sa.create_engine(Database(other_postgresql).url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    cuts = 0
    with ThreadPoolExecutor(2) as workers:
        running = [workers.submit(pairs, clients, name, 20) for name in names]
        while not all(each.done() for each in running) or cuts < 10:
            with engine.connect() as connection:
                cuts += len(connection.execute(sa.text(CUT)).all())
            time.sleep(0.2)
        for each in running:
            each.result()
    wait_for_discovery(two)
    for name in names:
        counts = two[0].client.get(f"/v1/studies/{name}").json()["counts"]
        assert counts["completed"] == counts["observations"] == 20
        pairs(clients, name, 2)


@pytest.mark.long
def test_servers_rediscover_each_other_after_a_database_restart() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="adabkb-restarted-", ignore_cleanup_errors=True) as folder,
        empty("postgresql", Path(folder)) as store,
        ExitStack() as stack,
    ):
        assert store.postgresql is not None
        servers = [started(stack, store.url) for _ in range(2)]
        wait_for_discovery(servers)
        names, clients = one_for_each(servers), [each.client for each in servers]
        for mode in ("fast", "immediate"):
            for name in names:
                pairs(clients, name, 2)
            store.postgresql.restart(mode, 0.2)
            wait_for(lambda: all(each.get("/readyz").status_code == 200 for each in clients))
            wait_for_discovery(servers)
        for name in names:
            pairs(clients, name, 2)
            check_once(clients[0], name, 6)


def test_servers_on_sqlite_do_not_forward(other_sqlite: str) -> None:
    with ExitStack() as stack:
        addresses = [stack.enter_context(server_on(other_sqlite)) for _ in range(2)]
        clients = [stack.enter_context(httpx.Client(base_url=each, timeout=TIMEOUT_SECONDS)) for each in addresses]
        clients[0].post("/v1/studies", json=DEFINITION)
        pairs(clients, "s", 3)

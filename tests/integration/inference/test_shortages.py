"""If system calls fail while a model process starts, the server reports that models are down, and recovers."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from adabkb_service.errors import ModelCannotFold, Unavailable
from adabkb_service.inference.messages import Answered, Ask, Forget, Lost, Reply, Superseded
from adabkb_service.inference.pool import Supervision, WorkerPool
from adabkb_service.inference.store import SAVE_EVENTS
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.model.predict import predict
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from adabkb_service.timeouts import Timeouts
from tests.integration.api.conftest import DEFINITION
from tests.integration.inference.refusals import Refusals
from tests.integration.inference.test_pool import pool_on, post, process_of
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask as Asking
from tests.integration.operations.verbs import Value, observe, suggest
from tests.processes import is_alive, is_stopped
from tests.servers import ADABKB, server_process
from tests.waiting import TIMEOUT_SECONDS, wait_for

DESCRIPTORS = 8
"""More file descriptors than the start of a model process needs."""
MANY = 2_000
"""Number of values along each axis of a slice that needs more memory than a process has left."""
RESULT = {"parameters": {"x": 0.5, "n": 3}, "value": 1.0}
MORE_DESCRIPTORS = 4
"""Additional descriptors that a server may have open: connections to its database. An attempt opens seven."""
SUPERVISION: dict[str, Any] = {"model_processes": 1, "model_restart_seconds": 0.2, "model_down_seconds": 1.0}
"""Settings of the servers, with short pauses between two attempts."""
ATTEMPT_SECONDS = 0.4
"""Seconds within which the server attempts to start a process at least once."""


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def model_processes(server: int) -> list[int]:
    """The running processes forked by the server's fork server."""
    return [pid for child in children(server) for pid in children(child) if is_alive(pid)]


def model_process(server: int) -> int:
    """Wait for a model process, and return it."""
    wait_for(lambda: model_processes(server))
    return model_processes(server)[0]


def allow_descriptors(pid: int, more: int) -> None:
    """Allow a process to open this number of additional files."""
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = set(map(int, os.listdir(f"/proc/{pid}/fd")))
    limit = next(itertools.islice((number for number in itertools.count() if number not in used), more, None))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, most))


def model_answers(api: httpx.Client) -> bool:
    return api.post("/v1/studies/s/predict", json={"points": [{"x": 0.5, "n": 3}]}).status_code == 200


def models_are_down(api: httpx.Client) -> bool:
    answer = api.get("/readyz")
    return answer.status_code == 503 and "/models" in [fault["pointer"] for fault in answer.json()["errors"]]


@pytest.mark.long
def test_server_without_file_descriptors_is_not_ready_and_recovers(other_sqlite: str) -> None:
    """A model process ends while no descriptor is free; then one more is free at each attempt to replace it."""
    with server_process(other_sqlite, **SUPERVISION) as server, httpx.Client(timeout=60) as api:
        api.base_url = httpx.URL(server.address)
        pid = server.process.pid
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        wait_for(lambda: model_answers(api))
        first = model_process(pid)
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        allow_descriptors(pid, 0)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: models_are_down(api))
        for more in range(DESCRIPTORS):
            allow_descriptors(pid, more)
            time.sleep(ATTEMPT_SECONDS)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        wait_for(lambda: api.get("/readyz").status_code == 200)
        wait_for(lambda: model_answers(api))
        assert model_process(pid) != first


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> Refusals:
    return Refusals(tmp_path_factory.mktemp("refusals"))


NO_FILES = (errno.EMFILE, errno.ENFILE)


STARTS = [
    ("model process", "socketpair", (*NO_FILES, errno.ENOMEM)),  # the pipe to the next one
    ("model process", "pipe2", (*NO_FILES, errno.ENOMEM)),  # the pipes for the request to the fork server
    ("model process", "socket", (*NO_FILES, errno.ENOBUFS, errno.ENOMEM)),  # the connection to the fork server
    ("model process", "accept4", (*NO_FILES, errno.ENOBUFS, errno.ENOMEM)),  # in the fork server
    ("model process", "fork", (errno.EAGAIN, errno.ENOMEM)),  # in the fork server
    ("model process", "pthread_create", (errno.EAGAIN,)),  # in the server, and in the model process
    ("fork server", "fork", (errno.EAGAIN, errno.ENOMEM)),
    ("fork server", "execv", (*NO_FILES, errno.ENOMEM)),
    ("fork server", "bind", (errno.ENOSPC, errno.ENOMEM)),  # its socket
]
"""The process that ends, a system call needed to start it, and the call's errors."""


@pytest.mark.long
@pytest.mark.parametrize(("ended", "call", "codes"), STARTS)
def test_model_process_starts_once_system_calls_succeed_again(
    ended: str, call: str, codes: tuple[int, ...], other_sqlite: str, refusals: Refusals
) -> None:
    """The model process ends, and in some cases the fork server, and cannot be replaced for a while: once for each
    error of Linux.

    Results are stored meanwhile, and failed attempts leave nothing behind.
    """
    with (
        server_process(other_sqlite, refusals.program(*ADABKB), **SUPERVISION) as server,
        httpx.Client(base_url=server.address, timeout=60) as api,
    ):
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        wait_for(lambda: model_answers(api))
        pid = server.process.pid
        before = len(os.listdir(f"/proc/{pid}/fd"))
        for number, code in enumerate(codes):
            first = model_process(pid)
            with refusals.of(call, code):
                if ended == "fork server":
                    os.kill(fork_server_of(pid, first), signal.SIGKILL)
                os.kill(first, signal.SIGKILL)
                refusals.wait_for(call)
                assert api.post("/v1/studies/s/observe", json=RESULT).status_code == 200
                if number == 0:  # the server reports it only after some seconds
                    wait_for(lambda: models_are_down(api))
            wait_for(lambda: model_answers(api))
            wait_for(lambda: api.get("/readyz").status_code == 200)
            assert api.get("/v1/studies/s").json()["counts"]["observations"] == number + 1
            wait_for(lambda: len(model_processes(pid)) == 1)
            assert model_process(pid) != first
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + MORE_DESCRIPTORS)


def fork_server_of(pid: int, model: int) -> int:
    """The child of a server that forked a model process."""
    return next(child for child in children(pid) if model in children(child))


REQUESTS: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("POST", "/v1/studies/s/suggest", {}),
    ("POST", "/v1/studies/s/observe", RESULT),
    ("POST", "/v1/studies/s/predict", {"points": [{"x": 0.5, "n": 3}]}),
    ("GET", "/v1/studies", None),
    ("GET", "/v1/studies/s", None),
    ("GET", "/v1/studies/s/importance", None),
    ("GET", "/v1/studies/s/export", None),
    ("GET", "/v1/studies/s/trials", None),
)
"""Requests of all kinds: health checks, changes of a study, questions to a model, database reads and a file."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("pthread_create", (errno.EAGAIN,)),
        ("open", (*NO_FILES, errno.ENOMEM, errno.ENOSPC)),  # the files of the database
    ],
)
def test_every_request_is_answered_while_system_calls_fail(
    call: str, codes: tuple[int, ...], other_sqlite: str, refusals: Refusals
) -> None:
    """Concurrent first requests to a server, which has few threads and connections yet. Each is answered or asked to
    retry; then all are answered.
    """
    with (
        server_process(other_sqlite, refusals.program(*ADABKB), **SUPERVISION) as server,
        ThreadPoolExecutor(len(REQUESTS)) as pool,
        httpx.Client(base_url=server.address, timeout=60) as api,
    ):
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201

        def send(request: tuple[str, str, dict[str, Any] | None]) -> httpx.Response:
            method, path, body = request
            return api.request(method, path, json=body)

        refused = 0
        for code in codes:
            with refusals.of(call, code):
                for answer in pool.map(send, REQUESTS):
                    assert answer.status_code == 200 or is_retryable(answer), (answer.url, answer.text)
                refused += refusals.count(call)
            wait_for(lambda: api.get("/readyz").status_code == 200)
            wait_for(lambda: all(send(request).status_code == 200 for request in REQUESTS))
        assert refused


@pytest.mark.long
def test_server_continues_after_failed_accepts(other_sqlite: str, refusals: Refusals) -> None:
    """Each connection is served later, or closed so that its client retries; none is left hanging."""
    with (
        server_process(other_sqlite, refusals.program(*ADABKB)) as server,
        ThreadPoolExecutor(1) as elsewhere,
    ):
        for code in (errno.EMFILE, errno.ENOBUFS):
            with refusals.of("accept4", code):
                answer = elsewhere.submit(is_healthy, server.address)
                refusals.wait_for("accept4")
            answer.result()
            wait_for(lambda: is_healthy(server.address))


def is_healthy(address: str) -> bool:
    """Return False if the connection is closed before an answer, so that the client retries."""
    try:
        return httpx.get(f"{address}/healthz", timeout=TIMEOUT_SECONDS).status_code == 200
    except (httpx.NetworkError, httpx.RemoteProtocolError):  # but no timeout
        return False


def is_retryable(answer: httpx.Response) -> bool:
    return answer.status_code == 503 and (answer.url.path == "/readyz" or bool(answer.json()["retryable"]))


@pytest.mark.long
def test_server_starts_without_space_for_its_fork_servers_socket(other_sqlite: str, refusals: Refusals) -> None:
    """The folder of the socket cannot be created. The server stores results, and computes models as soon as there is
    space.
    """
    with (
        refusals.of("mkdir", errno.ENOSPC),
        server_process(other_sqlite, refusals.program(*ADABKB), **SUPERVISION) as server,
        httpx.Client(base_url=server.address, timeout=60) as api,
    ):
        refusals.wait_for("mkdir")
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        assert api.post("/v1/studies/s/observe", json=RESULT).status_code == 200
        wait_for(lambda: models_are_down(api))
        refusals.end("mkdir")
        wait_for(lambda: api.get("/readyz").status_code == 200)
        wait_for(lambda: model_answers(api))


@pytest.mark.parametrize("name", ["models-send", "models-receive"])
def test_failed_thread_start_leaves_no_process_behind(
    name: str, other_sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = threading.Thread.start, threading.Event()

    def refuse(self: threading.Thread) -> None:
        if self.name == name and not refused.is_set():
            refused.set()
            raise RuntimeError("can't start new thread")
        start(self)

    before = set(model_processes(os.getpid()))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pool_on(other_sqlite) as pool:
        wait_for(refused.is_set)
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=TIMEOUT_SECONDS), Answered | Lost)
        wait_for(lambda: set(model_processes(os.getpid())) - before == {process_of(pool)})


def test_process_that_ends_immediately_counts_as_down(other_sqlite: str) -> None:
    """It repeatedly lacks the memory to start, so the server reports that models are down."""
    with pool_on(other_sqlite, memory_megabytes=1, supervision=Supervision(restart=0.01, down=0.2)) as pool:
        wait_for(lambda: pool.load.down == 1)


def test_failing_receiver_does_not_affect_the_others(other_sqlite: str) -> None:
    with pool_on(other_sqlite) as pool:
        before = process_of(pool)

        def fail(_: Reply) -> None:
            raise ValueError("no")

        pool.post(Ask("a", "", 0, "model_stats"), fail)
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=TIMEOUT_SECONDS), Answered)
        os.kill(before, signal.SIGSTOP)
        pool.post(Ask("a", "", 0, "model_stats"), fail)
        waiting = post(pool, Ask("s", "", 0, "model_stats"))
        os.kill(before, signal.SIGKILL)
        assert waiting.get(timeout=TIMEOUT_SECONDS) == Lost(1)
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=TIMEOUT_SECONDS), Answered)


def test_message_that_cannot_be_sent_costs_one_process(other_sqlite: str, clock: ManualClock) -> None:
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        process_of(pool)
        assert post(pool, Ask("s", "", 0, "model_stats", (lambda: 0,))).get(timeout=TIMEOUT_SECONDS) == Lost(1)
        pooled = Service(database, clock=clock, inference=pool)
        create(pooled, definition())
        assert suggest(pooled, "s", Asking()).view.trials
    database.close()


def test_model_continues_after_its_log_was_unreadable(other_sqlite: str, clock: ManualClock) -> None:
    """Its process cannot open files. The study is valid, so no error asks to correct a result."""
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        pooled = Service(database, clock=clock, inference=pool, timeouts=Timeouts(suggestion=1.0))
        assert isinstance(post(pool, Forget("none")).get(timeout=TIMEOUT_SECONDS), Superseded)  # the process is ready
        pid = process_of(pool)
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        allow_descriptors(pid, 0)
        create(pooled, definition())
        for _ in range(3):
            assert suggest(pooled, "s", Asking()).view.degraded
        with pytest.raises(Unavailable, match="database") as refused:
            predict(pooled, "s", [{"x": 0.5, "y": 1.0}])
        assert not isinstance(refused.value, ModelCannotFold)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        wait_for(lambda: not suggest(pooled, "s", Asking()).view.degraded)
    database.close()


def test_model_process_without_memory_refuses_a_query_and_continues(other_sqlite: str, clock: ManualClock) -> None:
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        pooled = Service(database, clock=clock, inference=pool)
        create(pooled, definition())
        before = predict(pooled, "s", [{"x": 0.5, "y": 1.0}])
        pid = process_of(pool)
        _, most = resource.prlimit(pid, resource.RLIMIT_DATA)
        resource.prlimit(pid, resource.RLIMIT_DATA, (1, most))
        with pytest.raises(Unavailable, match="cannot answer"):
            pooled.ask("s", "slice_through", [0, 1], MANY, {})
        assert predict(pooled, "s", [{"x": 0.5, "y": 1.0}]) == before
        assert suggest(pooled, "s", Asking()).view.trials
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
        assert pool.pids == [pid]
        wait_for(lambda: not suggest(pooled, "s", Asking()).view.degraded)
    database.close()


def test_model_process_with_a_full_disk_stores_its_model_later(other_sqlite: str, clock: ManualClock) -> None:
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        pooled = Service(database, clock=clock, inference=pool)
        create(pooled, definition())
        assert not suggest(pooled, "s", Asking()).view.degraded
        pid = process_of(pool)
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, most))
        for number in range(1, SAVE_EVENTS // 2 + 3):
            observe(pooled, "s", Value(float(number), number))
            assert not suggest(pooled, "s", Asking()).view.degraded
        assert stored(database) <= 1
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        pooled.ask("s", "stored")
        assert stored(database) > SAVE_EVENTS
        assert pool.pids == [pid]
        assert list(examine(database)) == []
    database.close()


def stored(database: Database) -> int:
    """The last event that the stored model includes."""
    with database.reading() as connection:
        return studies.get(connection, "s").model_seq


def test_process_that_never_becomes_ready_is_replaced_and_ends_with_the_server(other_sqlite: str) -> None:
    """Like a process without memory for its threads, which waits for them. Here, each process is stopped as it
    starts.
    """
    with pool_on(other_sqlite, supervision=Supervision(begin=0.2)) as pool:
        stopped = [stopped_at_its_start(pool)]
        wait_for(lambda: not is_alive(stopped[0]) and stopped[0] not in pool.pids)
        stopped.append(stopped_at_its_start(pool))
    assert not any(map(is_alive, stopped))
    with pool_on(other_sqlite) as pool:
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=TIMEOUT_SECONDS), Answered | Lost)


def stopped_at_its_start(pool: WorkerPool) -> int:
    """Stop a process before it is ready, and return it."""
    while True:
        while not (pids := pool.pids):
            time.sleep(0.0001)
        [pid] = pids
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: is_stopped(pid))  # noqa: B023 - it is called at once
        if not has_threads(pid):
            return pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: pid not in pool.pids)  # noqa: B023 - it is called at once


def has_threads(pid: int) -> bool:
    """Whether a process has threads besides its main thread."""
    return len(os.listdir(f"/proc/{pid}/task")) > 1

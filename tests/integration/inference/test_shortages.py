"""Whatever the system refuses while a model process starts: the server says that models are down, and recovers."""

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

from adabkb_service.errors import ModelCannotFollow, Unavailable
from adabkb_service.inference.messages import Answered, Ask, Forget, Lost, Reply, Superseded
from adabkb_service.inference.pool import Supervision, WorkerPool
from adabkb_service.inference.store import SAVE_EVENTS
from adabkb_service.operations.doctor import examine
from adabkb_service.operations.manage import create
from adabkb_service.operations.predict import predict
from adabkb_service.operations.service import Service
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
from tests.waiting import PATIENCE, wait_for

DESCRIPTORS = 8
"""More than the start of a model process needs."""
MANY = 2_000
"""Values along each axis of a slice that takes more memory than a process has left."""
RESULT = {"parameters": {"x": 0.5, "n": 3}, "value": 1.0}
MORE_DESCRIPTORS = 4
"""That a server may have open beside those of before: other connections to its database. An attempt opens seven."""
SUPERVISION: dict[str, Any] = {"model_processes": 1, "model_restart_seconds": 0.2, "model_down_seconds": 1.0}
"""Settings of the servers, which need not wait as long as a real one between two attempts."""
ATTEMPT_SECONDS = 0.4
"""In which the server tries to start a process at least once."""


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
    """The processes that the server's fork server has forked, and that are alive."""
    return [pid for child in children(server) for pid in children(child) if is_alive(pid)]


def model_process(server: int) -> int:
    """The first one, once there is one."""
    wait_for(lambda: model_processes(server))
    return model_processes(server)[0]


def allow_descriptors(pid: int, more: int) -> None:
    """Let a process open so many more files than it has open."""
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
def test_a_server_without_file_descriptors_is_not_ready_and_recovers(other_sqlite: str) -> None:
    """A model process ends while no descriptor is left, and then one more is left with each attempt to replace it."""
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
    ("model process", "pipe2", (*NO_FILES, errno.ENOMEM)),  # the pipes by which the fork server is asked for it
    ("model process", "socket", (*NO_FILES, errno.ENOBUFS, errno.ENOMEM)),  # the connection to the fork server
    ("model process", "accept4", (*NO_FILES, errno.ENOBUFS, errno.ENOMEM)),  # in the fork server
    ("model process", "fork", (errno.EAGAIN, errno.ENOMEM)),  # in the fork server
    ("model process", "pthread_create", (errno.EAGAIN,)),  # in the server, and in the model process
    ("fork server", "fork", (errno.EAGAIN, errno.ENOMEM)),
    ("fork server", "execv", (*NO_FILES, errno.ENOMEM)),
    ("fork server", "bind", (errno.ENOSPC, errno.ENOMEM)),  # its socket
]
"""What ends, a call that starting it needs, and its errors."""
FIRST = [("fork server", "bind")]


@pytest.mark.parametrize(
    ("ended", "call", "codes", "most"),
    [
        *((ended, call, codes, 1) for ended, call, codes in STARTS if (ended, call) in FIRST),
        *(pytest.param(*start, None, marks=pytest.mark.long) for start in STARTS),
    ],
)
def test_a_process_is_started_once_the_system_no_longer_refuses(
    ended: str, call: str, codes: tuple[int, ...], most: int | None, other_sqlite: str, refusals: Refusals
) -> None:
    """The model process ends, or the fork server too, and nothing replaces it for a while, once for each error that
    Linux gives (in ``make test`` for one error of some calls). Results are taken meanwhile; nothing is left of the
    attempts."""
    with (
        server_process(other_sqlite, refusals.program(*ADABKB), **SUPERVISION) as server,
        httpx.Client(base_url=server.address, timeout=60) as api,
    ):
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        wait_for(lambda: model_answers(api))
        pid = server.process.pid
        before = len(os.listdir(f"/proc/{pid}/fd"))
        for number, code in enumerate(codes[:most]):
            first = model_process(pid)
            with refusals.of(call, code):
                if ended == "fork server":
                    os.kill(fork_server_of(pid, first), signal.SIGKILL)
                os.kill(first, signal.SIGKILL)
                refusals.wait_for(call)
                assert api.post("/v1/studies/s/observe", json=RESULT).status_code == 200
                if number == 0:  # it takes some seconds until the server says so
                    wait_for(lambda: models_are_down(api))
            wait_for(lambda: model_answers(api))
            wait_for(lambda: api.get("/readyz").status_code == 200)
            assert api.get("/v1/studies/s").json()["counts"]["observations"] == number + 1
            wait_for(lambda: len(model_processes(pid)) == 1)
            assert model_process(pid) != first
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + MORE_DESCRIPTORS)


def fork_server_of(pid: int, model: int) -> int:
    """Of a server's children the one that forked a model process."""
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
"""One of each kind: with a batch of its study, a model's answer, a read of the database, a file."""


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        pytest.param("pthread_create", (errno.EAGAIN,), marks=pytest.mark.long),
        ("open", (*NO_FILES, errno.ENOMEM, errno.ENOSPC)),  # the files of the database
    ],
)
def test_every_request_is_answered_while_the_system_refuses(
    call: str, codes: tuple[int, ...], other_sqlite: str, refusals: Refusals
) -> None:
    """The first requests of a server, which has few threads and connections yet, all at the same time. Each is served,
    or is asked to come again; then all are served."""
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
                    assert answer.status_code == 200 or is_to_come_again(answer), (answer.url, answer.text)
                refused += refusals.count(call)
            wait_for(lambda: api.get("/readyz").status_code == 200)
            wait_for(lambda: all(send(request).status_code == 200 for request in REQUESTS))
        assert refused


def test_a_server_goes_on_after_connections_that_it_could_not_accept(other_sqlite: str, refusals: Refusals) -> None:
    """One is served later, or is ended so that its client tries again; none is left without an answer."""
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
    """False if the connection is ended before an answer: its client tries again."""
    try:
        return httpx.get(f"{address}/healthz", timeout=PATIENCE).status_code == 200
    except (httpx.NetworkError, httpx.RemoteProtocolError):  # not one that is left without an answer
        return False


def is_to_come_again(answer: httpx.Response) -> bool:
    return answer.status_code == 503 and (answer.url.path == "/readyz" or bool(answer.json()["retryable"]))


def test_a_server_starts_without_room_for_the_socket_of_its_fork_server(other_sqlite: str, refusals: Refusals) -> None:
    """The folder of the socket cannot be made. The server takes results, and has models as soon as there is room."""
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
def test_a_thread_that_cannot_be_started_leaves_no_process_behind(
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
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=PATIENCE), Answered | Lost)
        wait_for(lambda: set(model_processes(os.getpid())) - before == {process_of(pool)})


def test_a_process_that_ends_as_soon_as_it_starts_is_down(other_sqlite: str) -> None:
    """It has not even the memory to begin, again and again: that is no process."""
    with pool_on(other_sqlite, memory_megabytes=1, supervision=Supervision(restart=0.01, down=0.2)) as pool:
        wait_for(lambda: pool.load.down == 1)


def test_a_receiver_that_fails_does_not_affect_the_others(other_sqlite: str) -> None:
    with pool_on(other_sqlite) as pool:
        before = process_of(pool)

        def fail(_: Reply) -> None:
            raise ValueError("no")

        pool.post(Ask("a", "", 0, "model_stats"), fail)
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=PATIENCE), Answered)
        os.kill(before, signal.SIGSTOP)
        pool.post(Ask("a", "", 0, "model_stats"), fail)
        waiting = post(pool, Ask("s", "", 0, "model_stats"))
        os.kill(before, signal.SIGKILL)
        assert waiting.get(timeout=PATIENCE) == Lost(1)
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=PATIENCE), Answered)


def test_a_message_that_cannot_be_sent_costs_one_process(other_sqlite: str, clock: ManualClock) -> None:
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        process_of(pool)
        assert post(pool, Ask("s", "", 0, "model_stats", (lambda: 0,))).get(timeout=PATIENCE) == Lost(1)
        beside = Service(database, clock=clock, inference=pool)
        create(beside, definition())
        assert suggest(beside, "s", Asking()).view.trials
    database.close()


def test_a_model_that_cannot_read_its_log_for_a_while_goes_on_without_a_further_result(
    other_sqlite: str, clock: ManualClock
) -> None:
    """Its process can open no file. The study is sound, so nobody is told to correct a result."""
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        beside = Service(database, clock=clock, inference=pool, timeouts=Timeouts(suggestion=1.0))
        assert isinstance(post(pool, Forget("none")).get(timeout=PATIENCE), Superseded)  # it has begun to work
        pid = process_of(pool)
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        allow_descriptors(pid, 0)
        create(beside, definition())
        for _ in range(3):
            assert suggest(beside, "s", Asking()).view.degraded
        with pytest.raises(Unavailable, match="database") as refused:
            predict(beside, "s", [{"x": 0.5, "y": 1.0}])
        assert not isinstance(refused.value, ModelCannotFollow)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
        wait_for(lambda: not suggest(beside, "s", Asking()).view.degraded)
    database.close()


def test_a_model_process_without_memory_refuses_a_question_and_answers_the_next_one(
    other_sqlite: str, clock: ManualClock
) -> None:
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        beside = Service(database, clock=clock, inference=pool)
        create(beside, definition())
        before = predict(beside, "s", [{"x": 0.5, "y": 1.0}])
        pid = process_of(pool)
        _, most = resource.prlimit(pid, resource.RLIMIT_DATA)
        resource.prlimit(pid, resource.RLIMIT_DATA, (1, most))
        with pytest.raises(Unavailable, match="cannot answer"):
            beside.ask("s", "slice_through", [0, 1], MANY, {})
        assert predict(beside, "s", [{"x": 0.5, "y": 1.0}]) == before
        assert suggest(beside, "s", Asking()).view.trials
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
        assert pool.pids == [pid]
        wait_for(lambda: not suggest(beside, "s", Asking()).view.degraded)
    database.close()


def test_a_model_process_without_room_on_the_disk_suggests_and_stores_its_model_later(
    other_sqlite: str, clock: ManualClock
) -> None:
    database = Database(other_sqlite)
    with pool_on(other_sqlite) as pool:
        beside = Service(database, clock=clock, inference=pool)
        create(beside, definition())
        assert not suggest(beside, "s", Asking()).view.degraded
        pid = process_of(pool)
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, most))
        for number in range(1, SAVE_EVENTS // 2 + 3):
            observe(beside, "s", Value(float(number), number))
            assert not suggest(beside, "s", Asking()).view.degraded
        assert stored(database) <= 1
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        beside.ask("s", "stored")
        assert stored(database) > SAVE_EVENTS
        assert pool.pids == [pid]
        assert list(examine(database)) == []
    database.close()


def stored(database: Database) -> int:
    """The last event that the stored model includes."""
    with database.reading() as connection:
        return studies.get(connection, "s").model_seq


def test_a_process_that_never_begins_is_replaced_and_ends_with_the_server(other_sqlite: str) -> None:
    """As one does that has no memory for its threads: it waits for them. Here each is stopped as it starts."""
    with pool_on(other_sqlite, supervision=Supervision(begin=0.2)) as pool:
        stopped = [stopped_at_its_start(pool)]
        wait_for(lambda: not is_alive(stopped[0]) and stopped[0] not in pool.pids)
        stopped.append(stopped_at_its_start(pool))
    assert not any(map(is_alive, stopped))
    with pool_on(other_sqlite) as pool:
        assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=PATIENCE), Answered | Lost)


def stopped_at_its_start(pool: WorkerPool) -> int:
    """The first process that could be stopped before it had begun to work."""
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
    """Whether a process has started others than its main thread."""
    return len(os.listdir(f"/proc/{pid}/task")) > 1

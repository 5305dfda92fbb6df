"""Models in separate processes: a dead or stopped process neither changes suggestions nor blocks other requests."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabkb_service.errors import Unavailable
from adabkb_service.inference.messages import Advance, Answered, Ask, Lost, Reply
from adabkb_service.inference.pool import WorkerPool
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model.predict import predict, recommendation, tree
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import event_row
from adabkb_service.timeouts import Timeouts
from tests.integration.inference.rounds import rounds
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask as Asking
from tests.integration.operations.verbs import Value, get, observe, suggest
from tests.processes import is_alive
from tests.samples import some
from tests.waiting import TIMEOUT_SECONDS, wait_for


@contextmanager
def pool_on(database_url: str, count: int = 1, **settings: Any) -> Iterator[WorkerPool]:
    opened = WorkerPool(database_url, count, **settings)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def pool(migrated_url: str) -> Iterator[WorkerPool]:
    """One process."""
    with pool_on(migrated_url) as opened:
        yield opened


@pytest.fixture
def pooled(database: Database, clock: ManualClock, pool: WorkerPool) -> Service:
    """A service that computes models in the pool's process."""
    return Service(database, clock=clock, inference=pool)


def process_of(pool: WorkerPool) -> int:
    """Wait for a running process, and return it."""
    wait_for(lambda: bool(pool.pids) and is_alive(pool.pids[0]))
    return pool.pids[0]


@pytest.mark.long
def test_server_and_database_commands_load_neither_engine_nor_client() -> None:
    """Other processes compute models. Loading SciPy would double the startup time."""
    program = "import sys; from adabkb_service.cli import main, maintenance, server, tokens; "
    program += "print([name for name in ('scipy', 'psycopg', 'adabkb_client') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("profile", some(["auto", "paper"], ["auto"]))
def test_killed_model_process_changes_nothing(
    pooled: Service, pool: WorkerPool, other_sqlite: str, clock: ManualClock, profile: str
) -> None:
    """Killed twice: between two requests, and while a request waits for a suggestion."""
    other = Database(other_sqlite)
    uninterrupted = Service(other, clock=clock)
    create(uninterrupted, definition(algorithm={"profile": profile}))
    expected = rounds(uninterrupted, "s", 9)
    create(pooled, definition(algorithm={"profile": profile}))
    points = rounds(pooled, "s", 3)
    os.kill(process_of(pool), signal.SIGKILL)
    points += rounds(pooled, "s", 3)
    os.kill(process_of(pool), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as elsewhere:
        waiting = elsewhere.submit(rounds, pooled, "s", 3)
        os.kill(process_of(pool), signal.SIGKILL)
        points += waiting.result()
    assert points == expected
    assert tree(pooled, "s", 0, 1000)[0] == tree(uninterrupted, "s", 0, 1000)[0]
    if profile == "auto":  # the other profile is restored up to rounding
        assert recommendation(pooled, "s") == recommendation(uninterrupted, "s")
        somewhere = [{"x": 0.5, "y": 1.0}]
        assert predict(pooled, "s", somewhere) == predict(uninterrupted, "s", somewhere)
    assert replay(pooled, "s").diverged == []
    assert list(examine(pooled.database)) == []
    other.close()


@pytest.mark.long
@pytest.mark.parametrize("capacity", [1, 60_000])
def test_concurrent_studies_keep_separate_models_in_little_memory(
    migrated_url: str, database: Database, clock: ManualClock, capacity: int
) -> None:
    """Or if no model fits into memory."""
    names = [f"study-{number}" for number in range(6)]
    with pool_on(migrated_url, 2, capacity=capacity) as pool, ThreadPoolExecutor(6) as workers:
        pooled = Service(database, clock=clock, inference=pool, threads=2)
        pooled.open()
        for name in names:
            create(pooled, definition(id=name))
        points = list(workers.map(lambda name: rounds(pooled, name, 5), names))
        pooled.close()
    assert points == [points[0]] * 6, "all have the same seed and the same results"
    assert list(examine(database)) == []


def test_error_in_a_query_is_returned_and_the_process_continues(pooled: Service, pool: WorkerPool) -> None:
    create(pooled, definition())
    rounds(pooled, "s", 2)
    before = process_of(pool)
    for question, arguments in (("nothing", ()), ("recommended", (0.5, 0.0, "too many")), ("members", ("1", 1))):
        with pytest.raises(Unavailable, match="cannot answer"):
            pooled.ask("s", question, *arguments)
    assert predict(pooled, "s", [{"x": 0.5, "y": 1.0}]).predictions
    rounds(pooled, "s", 1)
    assert process_of(pool) == before


def post(pool: WorkerPool, message: Any) -> queue.SimpleQueue[Reply]:
    """Send a message, and return the queue of its replies."""
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
    pool.post(message, replies.put)
    return replies


def test_messages_to_a_dying_process_are_lost_and_it_is_replaced(pool: WorkerPool) -> None:
    before = process_of(pool)
    os.kill(before, signal.SIGSTOP)
    waiting = [post(pool, Ask("s", "", 0, "model_stats")) for _ in range(3)]
    os.kill(before, signal.SIGKILL)
    assert [replies.get(timeout=TIMEOUT_SECONDS) for replies in waiting] == [Lost(1)] * 3
    assert isinstance(post(pool, Ask("s", "", 0, "model_stats")).get(timeout=TIMEOUT_SECONDS), Answered)
    assert process_of(pool) != before


def test_processes_that_die_at_startup_are_replaced_without_a_failed_request(
    database: Database, migrated_url: str, clock: ManualClock
) -> None:
    with pool_on(migrated_url) as pool:
        for _ in range(3):
            os.kill(process_of(pool), signal.SIGKILL)
        pooled = Service(database, clock=clock, inference=pool)
        create(pooled, definition())
        assert rounds(pooled, "s", 2)


def test_requests_are_served_without_models_if_no_process_starts(
    database: Database, migrated_url: str, clock: ManualClock
) -> None:
    """With too little memory, each process ends as it starts."""
    with pool_on(migrated_url, memory_megabytes=1) as pool:
        pooled = Service(database, clock=clock, inference=pool, timeouts=Timeouts(suggestion=0.2))
        create(pooled, definition())
        (trial,) = suggest(pooled, "s", Asking()).view.trials
        assert trial.origin == "fallback"
        assert observe(pooled, "s", Value(1.0, trial.number)).view.study.counts.observations == 1


def resume(pool: WorkerPool, pid: int) -> None:
    os.kill(pid, signal.SIGCONT)
    assert process_of(pool) == pid


def do_not_resume(pool: WorkerPool, pid: int) -> None:
    """Do not resume the process: the pool detects that it is unresponsive.

    A pool with such a short limit from the start would end busy processes.
    """
    patience, pool.silent_seconds = pool.silent_seconds, 0.0
    wait_for(lambda: not is_alive(pid))
    pool.silent_seconds = patience


@pytest.mark.parametrize("end", some([resume, do_not_resume], [resume]))
def test_points_without_a_reply_are_flagged_and_no_result_is_lost(
    database: Database, migrated_url: str, clock: ManualClock, end: Callable[[WorkerPool, int], None]
) -> None:
    """A process is stopped; once it continues or is replaced, the model has all results."""
    with pool_on(migrated_url) as pool:
        pooled = Service(database, clock=clock, inference=pool, timeouts=Timeouts(suggestion=1.0))
        create(pooled, definition())
        wait_for(lambda: not suggest(pooled, "s", Asking()).view.degraded)
        stopped = process_of(pool)
        os.kill(stopped, signal.SIGSTOP)
        for trial in range(1, 4):
            observe(pooled, "s", Value(float(trial), parameters={"x": trial / 4, "y": 1.0}))
            answer = suggest(pooled, "s", Asking(2)).view
            assert answer.degraded
            assert [trial.origin for trial in answer.trials] == ["fallback"] * 2
        assert answer.study.counts.observations == 3
        end(pool, stopped)
        wait_for(lambda: not suggest(pooled, "s", Asking()).view.degraded)
        after = get(pooled, "s")
        assert after.counts.observations == 3
        assert pooled.ask("s", "recommended", 0.95, 0.0)[1][0] is not None
        assert replay(pooled, "s").diverged == []
        assert list(examine(database)) == []


def test_sending_to_a_stopped_process_does_not_block(pool: WorkerPool, clock: ManualClock) -> None:
    """Even with far more data than a pipe holds. No message is lost once the process continues."""
    stopped = process_of(pool)
    os.kill(stopped, signal.SIGSTOP)
    event = event_row("s", 1, "updated", None, {"changes": {"tags": {"text": "x" * 10_000}}}, clock.now)
    for _ in range(100):
        pool.post(Advance("s", "", 1, [event] * 20), lambda _: None)
    last = post(pool, Ask("s", "", 0, "model_stats"))
    assert last.empty()
    resume(pool, stopped)
    assert isinstance(last.get(timeout=TIMEOUT_SECONDS), Answered)


def test_pool_with_a_stopped_process_can_be_closed(migrated_url: str) -> None:
    with pool_on(migrated_url, stop_seconds=0.5) as pool:
        stopped = process_of(pool)
        os.kill(stopped, signal.SIGSTOP)
        post(pool, Ask("s", "", 0, "model_stats"))
        assert is_alive(stopped)
    wait_for(lambda: not is_alive(stopped))


def test_closing_a_pool_stores_its_models(database: Database, migrated_url: str, clock: ManualClock) -> None:
    with pool_on(migrated_url) as pool:
        pooled = Service(database, clock=clock, inference=pool)
        create(pooled, definition())
        rounds(pooled, "s", 3)
        head = pooled.ask("s", "model_stats")[0].study_seq
    with database.reading() as connection:
        assert studies.get(connection, "s").model_seq == head
    assert not replay(Service(database, clock=clock), "s").changed


@pytest.mark.long
@pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)  # so no step waits for the database
def test_long_step_does_not_block_other_studies(pooled: Service, pool: WorkerPool) -> None:
    """A study with long steps has a separate thread; short steps are answered first."""
    for name in ("heavy", "light"):
        create(pooled, definition(id=name))
    points = np.random.default_rng(0).uniform(size=(60_000, 2))
    rounds(pooled, "heavy", 3)
    rounds(pooled, "light", 1)
    wait_for(lambda: is_stored(pooled, "heavy"))  # it has no short steps left, which would make it count as quick again
    pooled.ask("heavy", "predicted", points)
    order: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name, question in (("heavy", ("predicted", (points,))), ("light", ("model_stats", ()))):
        with pooled.database.reading() as connection:
            study = studies.get(connection, name)
        pool.post(Ask(name, study.incarnation, study.study_seq, *question), partial(put, order, name))
    assert [order.get(timeout=TIMEOUT_SECONDS), order.get(timeout=TIMEOUT_SECONDS)] == ["light", "heavy"]


def is_stored(service: Service, name: str) -> bool:
    with service.database.reading() as connection:
        study = studies.get(connection, name)
    return study.model_seq == study.study_seq


def put(order: queue.SimpleQueue[str], name: str, _: Reply) -> None:
    order.put(name)


SERVER = """
import time
from adabkb_service.inference.messages import Ask
from adabkb_service.inference.pool import WorkerPool
if __name__ == "__main__":
    pool = WorkerPool("sqlite:///nowhere.db", 1)
    pool.open()
    pool.post(Ask("s", "", 0, "model_stats"), lambda _: print(pool.pids[0], flush=True))
    time.sleep(600)
"""


@pytest.mark.long
def test_model_process_ends_with_a_killed_server(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    with subprocess.Popen([sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        child = int(server.stdout.readline())
        assert is_alive(child)
        server.kill()
    wait_for(lambda: not is_alive(child))

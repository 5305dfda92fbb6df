"""Models in processes of their own: the same suggestions, whatever becomes of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adabkb_service.operations.doctor import examine
from adabkb_service.operations.hosts import Beside, ModelGone, Shelf
from adabkb_service.operations.manage import create
from adabkb_service.operations.observe import observe
from adabkb_service.operations.record import Value
from adabkb_service.operations.replay import replay
from adabkb_service.operations.report import predict, recommendation, tree
from adabkb_service.operations.service import Service, service
from adabkb_service.operations.suggest import SuggestRequest, suggest
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.operations.conftest import ManualClock, definition


@pytest.fixture(scope="module")
def host() -> Iterator[Beside]:
    opened = Beside(2, blas_threads=1)
    opened.open()
    yield opened
    opened.close()


def pid(_: Shelf) -> int:
    return os.getpid()


def sleep(_: Shelf, seconds: float) -> None:
    time.sleep(seconds)


def fail(_: Shelf) -> None:
    raise FloatingPointError("too large")


def rounds(running: Service, study_id: str, count: int) -> list[dict[str, object]]:
    points: list[dict[str, object]] = []
    for _ in range(count):
        for trial in suggest(running, study_id, SuggestRequest(2)).view.trials:
            points.append(trial.parameters)
            observe(running, study_id, Value(float(trial.number % 5), trial.number))
    return points


@pytest.mark.parametrize("profile", ["auto", "paper"])
def test_a_process_that_is_killed_in_the_midst_of_a_study_changes_nothing(
    running: Service, host: Beside, clock: ManualClock, tmp_path: Path, profile: str
) -> None:
    create(running, definition(algorithm={"profile": profile}))
    undisturbed = rounds(running, "s", 8)
    other = Database(f"sqlite:///{tmp_path}/other.db")
    migration.upgrade(other)
    beside = service(other, clock=clock, host=host)
    create(beside, definition(algorithm={"profile": profile}))
    points = rounds(beside, "s", 4)
    os.kill(host.call("s", pid), signal.SIGKILL)
    points += rounds(beside, "s", 4)
    assert points == undisturbed
    assert tree(beside, "s", 0, 1000)[0] == tree(running, "s", 0, 1000)[0]
    if profile == "auto":  # the other is restored to rounding
        assert recommendation(beside, "s") == recommendation(running, "s")
        somewhere = [{"x": 0.5, "y": 1.0}]
        assert predict(beside, "s", somewhere) == predict(running, "s", somewhere)
    assert replay(beside, "s").diverged == []
    assert list(examine(other)) == []
    other.close()


def test_many_studies_at_once_keep_their_models_apart(running: Service, host: Beside, clock: ManualClock) -> None:
    beside = service(running.database, clock=clock, host=host, model_cache_size=3)
    names = [f"study-{number}" for number in range(6)]
    for name in names:
        create(beside, definition(id=name))
    with ThreadPoolExecutor(6) as pool:
        points = list(pool.map(lambda name: rounds(beside, name, 5), names))
    assert points == [points[0]] * 6, "all have the same seed and the same results"
    assert list(examine(running.database)) == []


def test_a_study_that_takes_long_holds_up_no_other_of_its_process() -> None:
    host = Beside(1, blas_threads=1)
    host.open()
    slow = threading.Thread(target=host.call, args=("slow", sleep, 2.0))
    slow.start()
    assert host.call("quick", pid) != os.getpid()
    assert slow.is_alive()
    slow.join()
    host.close()


def test_an_error_of_the_work_is_the_callers_and_the_process_lives_on(host: Beside) -> None:
    before = host.call("s", pid)
    with pytest.raises(FloatingPointError, match="too large"):
        host.call("s", fail)
    assert host.call("s", pid) == before


def test_a_process_that_dies_at_work_is_replaced(host: Beside) -> None:
    before = host.call("s", pid)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(host.call, "s", sleep, 30.0)
        time.sleep(0.1)
        os.kill(before, signal.SIGKILL)
        with pytest.raises(ModelGone):
            working.result()
    assert host.call("s", pid) != before


SERVER = """
import time
from adabkb_service.operations.hosts import Beside
from tests.operations.test_hosts import pid
if __name__ == "__main__":
    host = Beside(1, blas_threads=1)
    host.open()
    print(host.call("s", pid), flush=True)
    time.sleep(60)
"""


def test_the_process_ends_with_the_server_even_if_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    with subprocess.Popen(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": os.getcwd()}, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        child = int(server.stdout.readline())
        server.kill()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("the process outlived its server")

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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adabkb_service.operations.doctor import examine
from adabkb_service.operations.hosts import Beside, Here, ModelGone, ModelLate, Shelf
from adabkb_service.operations.manage import create
from adabkb_service.operations.models import fold_slice
from adabkb_service.operations.observe import observe
from adabkb_service.operations.propose import decide
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


@contextmanager
def hurried(hang_seconds: float) -> Iterator[Beside]:
    """A host on which nobody waits long."""
    host = Beside(1, blas_threads=1, call_seconds=1.0, hang_seconds=hang_seconds)
    host.open()
    yield host
    host.close()


def when_done(host: Beside, study_id: str) -> int:
    """The process of a study, once that is done with what took too long."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return host.call(study_id, pid)
        except (ModelLate, ModelGone):
            time.sleep(0.05)
    raise AssertionError("it never was")


def test_nobody_waits_for_a_call_that_takes_long_and_it_goes_on() -> None:
    with hurried(hang_seconds=30.0) as host:
        before = host.call("s", pid)
        with pytest.raises(ModelLate):
            host.call("s", sleep, 4.0)
        with pytest.raises(ModelLate):
            host.call("s", pid)
        assert host.call("other", pid) == before
        assert when_done(host, "s") == before


def test_a_call_that_never_ends_is_ended_with_its_process() -> None:
    with hurried(hang_seconds=10.0) as host:
        before = host.call("s", pid)
        with pytest.raises(ModelLate):
            host.call("s", sleep, 600.0)
        assert when_done(host, "s") != before


class Slow(Here):
    """A host on which some work takes too long."""

    def __init__(self) -> None:
        super().__init__()
        self.works: set[object] = set()

    def call(self, study_id: str, work: Any, *args: Any, **kwargs: Any) -> Any:
        if work in self.works:
            raise ModelLate("too long")
        return super().call(study_id, work, *args, **kwargs)


@pytest.mark.parametrize("work", [fold_slice, decide])
def test_without_the_model_in_time_points_are_flagged_and_results_are_kept(
    database: Database, clock: ManualClock, work: object
) -> None:
    """And once the model is in time again, it has everything."""
    host = Slow()
    slow = service(database, clock=clock, host=host)
    create(slow, definition())
    rounds(slow, "s", 3)
    host.works.add(work)
    answer = suggest(slow, "s", SuggestRequest(2)).view
    assert answer.degraded
    assert [trial.origin for trial in answer.trials] == ["fallback"] * 2
    for trial in answer.trials:
        observe(slow, "s", Value(1.0, trial.number))
    host.works.clear()
    after = suggest(slow, "s", SuggestRequest()).view
    assert not after.degraded
    assert [trial.origin for trial in after.trials] == ["policy"]
    assert after.study.counts.observations == 8
    assert replay(slow, "s").diverged == []
    assert list(examine(database)) == []


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

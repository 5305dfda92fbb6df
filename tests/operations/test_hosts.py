"""Models in processes of their own: the same suggestions, whatever becomes of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adabkb_service.contract.results import Value
from adabkb_service.inference.models import fold_slice
from adabkb_service.inference.pool import AT_ONCE, Beside, Here, ModelGone, ModelLate, Shelf
from adabkb_service.inference.proposals import decide
from adabkb_service.operations.doctor import examine
from adabkb_service.operations.manage import create
from adabkb_service.operations.observe import observe
from adabkb_service.operations.replay import replay
from adabkb_service.operations.report import predict, recommendation, tree
from adabkb_service.operations.service import Service, service
from adabkb_service.operations.suggest import SuggestRequest, suggest
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from adabkb_service.study.idempotency import Key
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


def test_where_too_many_calls_take_long_the_others_are_told_so() -> None:
    """And when the process then ends, nobody is left waiting."""
    with hurried(hang_seconds=10.0) as host, ThreadPoolExecutor(AT_ONCE) as pool:
        before = host.call("s", pid)
        slow = [pool.submit(host.call, f"slow-{number}", sleep, 600.0) for number in range(AT_ONCE)]
        assert {type(call.exception()) for call in slow} == {ModelLate}
        with pytest.raises(ModelLate):
            host.call("s", pid)
        assert when_done(host, "s") != before


class Troubled(Here):
    """A host on which some work meets with trouble, before or after it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[object, Callable[[], None]] = {}
        self.after: dict[object, Callable[[], None]] = {}

    def call(self, study_id: str, work: Any, *args: Any, **kwargs: Any) -> Any:
        self.before.get(work, lambda: None)()
        done = super().call(study_id, work, *args, **kwargs)
        self.after.get(work, lambda: None)()
        return done


def late() -> None:
    raise ModelLate("too long")


def gone() -> None:
    raise ModelGone("killed")


@pytest.fixture
def troubled(database: Database, clock: ManualClock) -> tuple[Service, Troubled]:
    """A service with study "s" on such a host."""
    host = Troubled()
    running = service(database, clock=clock, host=host)
    create(running, definition())
    rounds(running, "s", 3)
    return running, host


@pytest.mark.parametrize(("work", "trouble"), [(fold_slice, late), (decide, late), (decide, gone)])
def test_without_the_model_points_are_flagged_and_results_are_kept(
    troubled: tuple[Service, Troubled], work: object, trouble: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once it is there again, it has everything."""
    running, host = troubled
    monkeypatch.setattr("adabkb_service.operations.suggest.SECONDS", 0.5)
    host.before[work] = trouble
    answer = suggest(running, "s", SuggestRequest(2)).view
    assert answer.degraded
    assert [trial.origin for trial in answer.trials] == ["fallback"] * 2
    for trial in answer.trials:
        observe(running, "s", Value(1.0, trial.number))
    host.before.clear()
    monkeypatch.undo()
    after = suggest(running, "s", SuggestRequest()).view
    assert not after.degraded
    assert [trial.origin for trial in after.trials] == ["policy"]
    assert after.study.counts.observations == 8
    assert replay(running, "s").diverged == []
    assert list(examine(running.database)) == []


def test_a_suggestion_that_is_always_overtaken_is_made_without_the_model(
    troubled: tuple[Service, Troubled], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the engine has decided, another server has stored one more result."""
    running, host = troubled
    other = service(running.database, clock=running.clock)
    monkeypatch.setattr("adabkb_service.operations.suggest.SECONDS", 0.5)

    def store_one_more() -> None:
        observe(other, "s", Value(1.0, parameters={"x": 0.5, "y": 1.0}))

    host.after[decide] = store_one_more
    answer = suggest(running, "s", SuggestRequest()).view
    assert [trial.origin for trial in answer.trials] == ["fallback"]
    assert answer.degraded
    assert answer.study.counts.observations > 6
    assert list(examine(running.database)) == []


def test_a_result_that_another_server_overtakes_is_stored_once_all_the_same(troubled: tuple[Service, Troubled]) -> None:
    """The model has taken it in already, for a study that is no longer what it was."""
    running, host = troubled
    other = service(running.database, clock=running.clock)
    (trial,) = suggest(running, "s", SuggestRequest()).view.trials

    def overtake() -> None:
        host.after.clear()
        observe(other, "s", Value(2.0, parameters={"x": 0.5, "y": 1.0}))

    host.after[fold_slice] = overtake
    key = Key("s", "told", "f")
    told = observe(running, "s", Value(1.0, trial.number), key)
    assert told.view.observation is not None
    assert (told.view.observation.seq, told.view.study.counts.observations) == (8, 8)
    again = observe(running, "s", Value(1.0, trial.number), key)
    assert (again.replayed, again.view) == (True, told.view)
    rounds(running, "s", 2)
    assert replay(running, "s").diverged == []
    assert list(examine(running.database)) == []


def test_a_model_that_was_restored_too_late_is_there_for_the_next(
    troubled: tuple[Service, Troubled], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a study that takes long to restore would never be."""
    running, host = troubled
    again = service(running.database, clock=running.clock, host=host)
    host.after[fold_slice] = host.before[Shelf.drop] = late
    assert suggest(again, "s", SuggestRequest()).view.degraded
    host.after.clear()
    host.before.clear()
    monkeypatch.setattr("adabkb_service.inference.models.restore", lambda *_: pytest.fail("restored again"))
    assert not suggest(again, "s", SuggestRequest()).view.degraded
    assert replay(running, "s").diverged == []


def test_a_finite_space_is_not_asked_twice_for_a_point_without_the_model(
    database: Database, clock: ManualClock
) -> None:
    host = Troubled()
    running = service(database, clock=clock, host=host)
    kinds = ["a", "b", "c", "d", "e", "f"]
    create(running, definition(parameters=[{"name": "kind", "kind": "categorical", "choices": kinds}]))
    host.before[decide] = late
    trials = [suggest(running, "s", SuggestRequest(2)).view.trials for _ in range(3)]
    assert sorted(trial.parameters["kind"] for pair in trials for trial in pair) == kinds


SERVER = """
import time
from adabkb_service.inference.pool import Beside
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

"""Which idle worker of a run requests trials, how many, and who gets them."""

import threading
from datetime import UTC, datetime
from typing import Any

from adabkb_client import Trial
from adabkb_client._run.idle_workers import IdleWorkers
from adabkb_client._run.options import Options
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.run_state import RunState
from adabkb_client._trial_calls import Leased


def leased(number: int, origin: str = "policy") -> Leased:
    return Leased(
        Trial(
            study="s", number=number, state="active", parameters={"x": 0.5}, worker="w", attempt=1, leased_until=None,
            lease_seconds=120.0, started_at=None, origin=origin, cell=None, value=None, reason=None,
            created_at=datetime.now(UTC), finished_at=None,
        )
    )  # fmt: skip


def run_of(**options: Any) -> RunState:
    given: dict[str, Any] = {
        "n_trials": None, "timeout": None, "workers": 50, "callbacks": (), "catch": (), "pass_trial": False,
        "max_failures": 5, "progress": False, "lease_seconds": 120.0, "fixed": None,
    }  # fmt: skip
    shown = Progress("s", None, StudyProgress(0, 0, None), visible=False)
    return RunState("s", Options(**given | options), shown, threading.Event())


def idle_in(run: RunState, count: int) -> IdleWorkers[Leased]:
    idle = IdleWorkers[Leased](run)
    for _ in range(count):
        assert idle.join()
    return idle


def received(idle: IdleWorkers[Leased], *origins: str) -> None:
    """Receive trials of these origins, and forget them."""
    idle.received([leased(number, origin) for number, origin in enumerate(origins)])
    assert len(list(idle.left())) == len(origins)


def test_idle_workers_request_as_many_trials_as_the_model_chooses_in_time() -> None:
    """A point that the model could not choose in time is quasi-random. So they request fewer then, down to one, and
    more again when it keeps up."""
    assert [idle_in(run_of(), count).request_size() for count in (1, 3, 8, 50)] == [1, 3, 8, 8]
    idle = idle_in(run_of(), 50)
    sizes = []
    for _ in range(4):
        received(idle, "policy", "fallback")
        sizes.append(idle.request_size())
    assert sizes == [4, 2, 1, 1]
    received(idle, "policy")
    assert idle.request_size() == 2
    for _ in range(5):
        received(idle, "policy", "queued")
    assert idle.request_size() == 8


def test_no_more_trials_are_requested_than_a_run_takes_and_one_with_each_context() -> None:
    assert idle_in(run_of(n_trials=3), 50).request_size() == 3
    assert idle_in(run_of(context=lambda: {"room": 20.0}), 50).request_size() == 1
    assert idle_in(run_of(context={"room": 20.0}), 50).request_size() == 8


def test_one_worker_requests_for_all_and_each_takes_one_in_order() -> None:
    run = run_of(n_trials=4)
    idle = idle_in(run, 3)
    assert idle.request_size() == 3
    idle.received([leased(1), leased(2), leased(3)])
    for number in (1, 2, 3):
        assert idle.request_size() == 0
        trial = idle.take()
        assert trial is not None
        assert (trial.number, (number, 1) in run.under_way) == (number, True)
        idle.leave()
    assert idle.take() is None
    assert [idle.join(), idle.join(), idle.request_size()] == [True, True, 1]
    idle.received([leased(4)])
    assert idle.take() is not None
    assert (idle.request_size(), idle.take(), idle.join()) == (0, None, False)


def test_a_worker_that_has_left_is_not_counted() -> None:
    idle = idle_in(run_of(), 3)
    idle.leave()
    assert idle.request_size() == 2


def test_after_the_end_of_a_run_no_worker_takes_a_trial_and_all_are_left() -> None:
    run = run_of()
    idle = idle_in(run, 3)
    idle.received([leased(1), leased(2), leased(3)])
    run.end("stopped")
    assert (idle.join(), idle.request_size(), idle.take(), run.under_way) == (False, 0, None, frozenset())
    assert {trial.number for trial in idle.left()} == {1, 2, 3}
    assert (list(idle.left()), idle.request_size()) == ([], 0)


def test_the_timeout_ends_the_run_for_trials_that_arrive_after_it() -> None:
    run = run_of(timeout=1e-9)
    idle = IdleWorkers[Leased](run)
    idle.received([leased(1)])
    assert (idle.take(), run.reason) == (None, "timeout")
    assert len(list(idle.left())) == 1


def test_a_trial_whose_release_was_interrupted_is_left() -> None:
    idle = idle_in(run_of(), 2)
    idle.received([leased(1), leased(2)])
    assert next(idle.left()).number == 1
    assert [trial.number for trial in idle.left()] == [1, 2]

"""For how many trials the idle workers of a run ask together."""

import threading
from typing import Any, cast

from adabkb_client import Trial
from adabkb_client._run.options import Options
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.run_state import RunState


class Point:
    """What a run reads of a suggested trial."""

    def __init__(self, origin: str) -> None:
        self.origin = origin


def state(**options: Any) -> RunState:
    given: dict[str, Any] = {
        "n_trials": None, "timeout": None, "workers": 50, "callbacks": (), "catch": (), "pass_trial": False,
        "max_failures": 5, "progress": False, "lease_seconds": 120.0, "fixed": None,
    }  # fmt: skip
    shown = Progress("s", None, StudyProgress(0, 0, None), visible=False)
    return RunState("s", Options(**given | options), shown, threading.Event())


def received(run: RunState, *origins: str) -> None:
    run.received([cast("Trial", Point(origin)) for origin in origins])


def test_idle_workers_ask_for_as_many_trials_as_the_model_chooses_in_time() -> None:
    """A point that the model could not choose in time is quasi-random. So they ask for fewer then, down to one, and for
    more again when it keeps up."""
    run = state()
    assert [run.count_for(idle) for idle in (1, 3, 8, 50)] == [1, 3, 8, 8]
    asked = []
    for _ in range(4):
        received(run, "policy", "fallback")
        asked.append(run.count_for(50))
    assert asked == [4, 2, 1, 1]
    received(run, "policy")
    assert run.count_for(50) == 2
    for _ in range(5):
        received(run, "policy", "queued")
    assert run.count_for(50) == 8


def test_no_more_trials_are_asked_for_than_a_run_takes_and_one_with_each_context() -> None:
    assert state(n_trials=3).count_for(50) == 3
    assert state(context=lambda: {"room": 20.0}).count_for(50) == 1
    assert state(context={"room": 20.0}).count_for(50) == 8

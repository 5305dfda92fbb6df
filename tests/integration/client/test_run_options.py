"""``study.run``: the end of a run, and callbacks."""

import os
import signal
import threading
import time
from types import FrameType
from typing import Any

import pytest

from adabkb_client import (
    Algorithm,
    Categorical,
    Client,
    Fixed,
    Float,
    Int,
    Invalid,
    LeasedTrial,
    NoTrialAvailable,
    Study,
    Trial,
)
from tests.calls import watching
from tests.integration.client.objectives import parabola

BUDGET = 6


@pytest.fixture
def study(client: Client) -> Study:
    random: Algorithm = {"kind": "random"}  # no model, which a run has no use for
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, seed=1, algorithm=random)


def test_a_run_evaluates_no_more_than_n_trials_however_many_workers_it_has(study: Study) -> None:
    report = study.run(parabola, n_trials=4, workers=3)
    assert (report.completed, report.reason) == (4, "n_trials")
    assert study.info().counts.trials == 4
    assert study.run(parabola, n_trials=4).reason == "budget"
    assert study.info().counts.completed == BUDGET


def test_a_run_with_parameters_fixed_takes_only_trials_that_have_these_values(client: Client) -> None:
    """It ends when all points with these values have been issued: 3 of 6 here."""
    study = client.create_study(
        "f",
        {"batch": Categorical([None, (1, 2)]), "n": Int(1, 3), "solvent": Fixed("water")},
        direction="maximize",
        seed=1,
    )
    seen: list[tuple[object, int]] = []

    def function(batch: tuple[int, ...] | None, n: int, **_: str) -> float:
        seen.append((batch, n))
        return float(n)

    report = study.run(function, fixed={"batch": (1, 2), "solvent": "water"})
    assert (report.completed, report.reason, study.info().state) == (3, "fixed_exhausted", "running")
    assert sorted(n for batch, n in seen if batch == (1, 2)) == [1, 2, 3]
    with pytest.raises(NoTrialAvailable, match="all points with these values of fixed and context have been issued"):
        study.suggest(fixed={"batch": (1, 2)})
    with study.trial(fixed={"batch": None, "n": 2}) as trial:
        assert trial.parameters == {"batch": None, "n": 2, "solvent": "water"}
        trial.observe(2.0)
    with pytest.raises(Invalid, match=r"fixed\.n: is 4, outside \[1, 3\]"):
        study.lease(fixed={"n": 4})
    assert study.lease(fixed={"n": 3}).parameters == {"batch": None, "n": 3, "solvent": "water"}


def test_failed_trials_are_among_the_n(study: Study) -> None:
    def function(x: float) -> float:
        return x / 0

    report = study.run(function, n_trials=2)
    assert (report.completed, report.failed, report.reason) == (0, 2, "n_trials")


def test_a_run_that_has_evaluated_its_trials_does_not_wait_for_others(study: Study) -> None:
    study.update(pending_limit=1)
    report = study.run(parabola, n_trials=2, workers=2)
    assert (report.completed, report.reason) == (2, "n_trials")


def test_after_the_timeout_no_trial_is_taken_and_those_under_way_are_finished(study: Study) -> None:
    """Each evaluation ends after the timeout. On a busy machine, the second worker may not get a trial in time."""

    def function(x: float) -> float:
        time.sleep(3.0)
        return x

    report = study.run(function, timeout=3, workers=2)
    assert (report.failed, report.reason) == (0, "timeout")
    assert report.completed == study.info().counts.trials
    assert report.completed in (1, 2)


def test_the_timeout_ends_a_run_that_waits_for_others(study: Study) -> None:
    held = study.suggest(BUDGET)
    report = study.run(parabola, timeout=0.3)
    assert (report.completed, report.reason) == (0, "timeout")
    assert [trial.state for trial in study.trials()] == ["active"] * len(held)


def test_callbacks_are_called_with_the_study_and_each_trial_one_at_a_time(study: Study) -> None:
    seen: list[Trial] = []
    alone = threading.Lock()

    def callback(told: Study, trial: Trial) -> None:
        assert alone.acquire(blocking=False)
        assert told is study
        seen.append(trial)
        time.sleep(0.02)
        alone.release()

    def function(trial: LeasedTrial) -> float:
        return 1 / 0 if trial.number == 3 else 0.5

    study.run(function, workers=3, callbacks=[callback], pass_trial=True)
    assert sorted(seen, key=lambda trial: trial.number) == list(study.trials())
    assert {trial.state for trial in seen} == {"completed", "failed"}


def test_an_exception_in_a_callback_stops_the_run_and_the_result_stays(study: Study) -> None:
    def callback(_: Study, trial: Trial) -> None:
        raise LookupError(f"after trial {trial.number}")

    with pytest.raises(LookupError, match="after trial 1"):
        study.run(parabola, callbacks=[callback])
    assert [trial.state for trial in study.trials()] == ["completed"]


def test_a_callback_can_stop_the_run(study: Study) -> None:
    def callback(told: Study, trial: Trial) -> None:
        if trial.number == 2:
            told.stop()

    report = study.run(parabola, callbacks=[callback])
    assert (report.completed, report.reason) == (2, "stopped")
    with pytest.raises(RuntimeError, match=r"in a callback of study\.run"):
        study.stop()


def test_a_handler_of_a_signal_can_stop_the_run_and_what_is_under_way_is_finished(study: Study) -> None:
    def function(x: float) -> float:
        os.kill(os.getpid(), signal.SIGUSR1)
        stopped.wait(60)
        return x

    def handler(*_: object) -> None:
        study.stop()
        stopped.set()

    stopped = threading.Event()
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        report = study.run(function)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (report.completed, report.reason) == (1, "stopped")
    with pytest.raises(RuntimeError, match="in a handler of a signal"):
        study.stop()


def test_exceptions_that_are_caught_fail_their_trials_and_never_stop_the_run(study: Study) -> None:
    def function(x: float) -> float:
        raise LookupError("a subclass of what is caught") if x < 0.5 else KeyError("another")

    report = study.run(function, catch=(ZeroDivisionError, LookupError), max_failures=1)
    assert (report.completed, report.failed, report.reason) == (0, BUDGET, "budget")
    assert {trial.state for trial in study.trials()} == {"failed"}
    assert "LookupError: a subclass of what is caught" in {trial.reason for trial in study.trials()}


def test_a_failure_that_the_function_has_reported_is_not_reported_again(study: Study) -> None:
    reported: list[str] = []

    def count(frame: FrameType, event: str) -> None:
        if event == "call":
            reported.append(frame.f_locals["reason"])

    def function(trial: LeasedTrial) -> float:
        trial.fail("the flask broke")
        raise LookupError("of the program")

    with watching({LeasedTrial.fail: count}):
        report = study.run(function, catch=LookupError, pass_trial=True, n_trials=1)
    assert (report.failed, reported) == (1, ["the flask broke"])
    assert [trial.reason for trial in study.trials()] == ["the flask broke"]


def test_exceptions_that_are_not_caught_still_count(study: Study) -> None:
    raised = iter([KeyError, ZeroDivisionError, KeyError, ZeroDivisionError, KeyError])

    def function(x: float) -> float:
        raise next(raised)(x)

    with pytest.raises(ZeroDivisionError) as caught:
        study.run(function, catch=KeyError, max_failures=2)
    assert "2 failures in a row" in caught.value.__notes__[0]
    assert study.info().counts.failed == 4


def test_a_mistake_of_the_program_is_a_failure_like_others_if_it_is_caught(study: Study) -> None:
    def function(x: float) -> float:
        return x + undefined  # type: ignore[name-defined, no-any-return]  # noqa: F821

    with pytest.raises(NameError):
        study.run(function, catch=ValueError)
    assert study.run(function, catch=Exception).failed == BUDGET


def test_the_function_can_be_called_with_the_trial(study: Study) -> None:
    def function(trial: LeasedTrial) -> float:
        assert study.info().counts.active == 1
        return trial.number + float(trial.parameters["x"])

    study.run(function, pass_trial=True, n_trials=2)
    assert [trial.value for trial in study.trials()] == [
        trial.number + trial.parameters["x"] for trial in study.trials()
    ]
    with pytest.raises(TypeError, match=r"calls the function with the trial, but its signature is \(\)"):
        study.run(lambda: 1.0, pass_trial=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials must be at least 1, or None for no limit, not 0"),
        ({"timeout": 0}, "timeout must be more than 0 seconds, or None for no limit, not 0"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"engine": "spark"}, "engine must be one of 'ray', 'dask', or None, not 'spark'"),
        ({"engine": "ray", "processes": True}, "processes and engine='ray' cannot be combined"),
        ({"resources": {"num_gpus": 1}}, "resources needs engine='ray' or engine='dask'"),
        ({"processes": "4"}, "processes must be True, False or a number of processes, not '4'"),
        ({"processes": 0}, "processes must be at least 1, or False for threads, not 0"),
        ({"processes": 4, "workers": 2}, "processes=4 and workers=2 cannot be combined; leave out workers"),
        ({"catch": [ValueError]}, "catch must be an exception class or a tuple of them"),
        ({"catch": KeyboardInterrupt}, "catch must be an exception class or a tuple of them"),
    ],
)
def test_an_invalid_option_is_refused(study: Study, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        study.run(parabola, **options)
    assert not list(study.trials())

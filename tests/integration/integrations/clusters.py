"""Functions that a cluster evaluates, and tests for both kinds of clusters."""

from __future__ import annotations

import _thread
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from adabkb_client import Client, Float, LeasedTrial, PatienceRule, Study
from tests.waiting import wait_for

Engine = Literal["ray", "dask"]


def dies_once(flag: Path) -> Callable[..., float]:
    """Kill the process of the first evaluation. The values of the others identify their processes."""

    def function(**_: float) -> float:
        with suppress(FileExistsError), flag.open("x") as file:  # only one of two concurrent evaluations dies
            file.write(str(os.getpid()))
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        return float(os.getpid())

    return function


def noted(trial: LeasedTrial) -> float:
    trial.annotate({"process": os.getpid()})
    if trial.number == 1:
        raise ArithmeticError("diverged")
    return float(trial.parameters["x"])


def ending(trial: LeasedTrial) -> float:
    """Raise an exception once the trial is stopped."""
    for step in range(1, 10):
        if trial.report(step, 0.5):
            raise ArithmeticError("after the stop")
    return 0.5


def misspelt(**parameters: float) -> float:
    return parameters["y"]


def blocked(folder: Path) -> Callable[..., float]:
    """Signal that the evaluation has begun, and wait until the file is removed."""

    def function(x: float, **_: float) -> float:
        file = folder / str(os.getpid())
        file.touch()
        while file.exists():
            time.sleep(0.05)
        return x

    return function


class _Stops(logging.Handler):
    """Stops the run that logs the first warning."""

    def __init__(self, study: Study) -> None:
        super().__init__(logging.WARNING)
        self._study = study
        self.message = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.message = record.getMessage()
        self._study.stop()


def check_waiting_message(study: Study, engine: Engine, nowhere: Mapping[str, Any]) -> str:
    """Run without a suitable worker. Return the run's message after half a minute."""
    log, stops = logging.getLogger("adabkb_client"), _Stops(study)
    log.addHandler(stops)
    try:
        report = study.run(noted, engine=engine, resources=nowhere, pass_trial=True)
    finally:
        log.removeHandler(stops)
    assert (report.completed, report.failed, report.reason) == (0, 0, "stopped")
    assert [trial.state for trial in study.trials()] == ["released"]
    report = study.run(noted, engine=engine, resources=nowhere, pass_trial=True, timeout=1.0)
    assert (report.completed, report.failed, report.reason) == (0, 0, "timeout")
    assert [trial.state for trial in study.trials()] == ["released"]
    return stops.message


def check_evaluation(study: Study, engine: Engine) -> None:
    """Check that the trial is sent, exceptions return unchanged, and a programming error uses up no trial."""
    with pytest.raises(KeyError) as caught:
        study.run(misspelt, engine=engine, progress=False)
    (trace, given_back, _) = caught.value.__notes__
    assert 'parameters["y"]' in trace
    assert trace.count("File") == 1  # only the line of the function
    assert "trial 1 " in given_back
    assert [trial.state for trial in study.trials()] == ["released"]
    report = study.run(noted, engine=engine, pass_trial=True, n_trials=3, workers=2, catch=ArithmeticError)
    assert (report.completed, report.failed) == (2, 1)
    failed, *_ = study.trials()
    assert failed.reason == "ArithmeticError: diverged"
    assert os.getpid() not in {trial.attributes["process"] for trial in study.trials()}


def check_exception_after_a_stop(client: Client, engine: Engine) -> None:
    """Check that the run knows that the trial was stopped."""
    rule = PatienceRule(9, no_gain_for=2)
    study = client.create_study("e", {"x": Float(0, 1)}, direction="maximize", early_stopping=rule)
    report = study.run(ending, engine=engine, pass_trial=True, n_trials=1, progress=False)
    assert (report.completed, report.stopped, report.failed) == (0, 1, 0)


def check_interruption(study: Study, engine: Engine, folder: Path) -> None:
    """Check that Ctrl-C during two evaluations releases their trials."""

    def interrupt() -> None:
        wait_for(lambda: len(list(folder.iterdir())) == 2)
        _thread.interrupt_main()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray Tune leaves a signal handler installed
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        study.run(blocked(folder), engine=engine, workers=2)
    interrupter.join()
    assert [trial.state for trial in study.trials()] == ["released"] * 2

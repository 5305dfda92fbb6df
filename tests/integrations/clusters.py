"""Functions that a cluster evaluates, and what both clusters are asked for."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from adabkb_client import LeasedTrial, Study
from tests.waiting import wait_for

Engine = Literal["ray", "dask"]


def dies_once(flag: Path) -> Callable[..., float]:
    """Kill the process of the first evaluation; the value of the others tells where they were evaluated."""

    def function(**_: float) -> float:
        if not flag.exists():
            flag.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        return float(os.getpid())

    return function


def noted(trial: LeasedTrial) -> float:
    trial.set_attribute("process", os.getpid())
    if trial.number == 1:
        raise ArithmeticError("diverged")
    return float(trial.parameters["x"])


def blocked(folder: Path) -> Callable[..., float]:
    """Tell that the evaluation has begun, and go on until the file is gone."""

    def function(x: float, **_: float) -> float:
        file = folder / str(os.getpid())
        file.touch()
        while file.exists():
            time.sleep(0.05)
        return x

    return function


def evaluates_there(study: Study, engine: Engine) -> None:
    """The trial goes along, and an exception comes back as what it is."""
    report = study.run(noted, engine=engine, pass_trial=True, n_trials=3, workers=2, catch=ArithmeticError)
    assert (report.completed, report.failed) == (2, 1)
    failed, *_ = study.trials()
    assert failed.reason == "ArithmeticError: diverged"
    assert os.getpid() not in {trial.attributes["process"] for trial in study.trials()}


def gives_back_when_interrupted(study: Study, engine: Engine, folder: Path) -> None:
    """Ctrl-C comes while two evaluations go on."""

    def interrupt() -> None:
        wait_for(lambda: len(list(folder.iterdir())) == 2)
        _thread.interrupt_main()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray Tune leaves a handler of its own behind
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        study.run(blocked(folder), engine=engine, workers=2)
    interrupter.join()
    assert [trial.state for trial in study.trials()] == ["released"] * 2

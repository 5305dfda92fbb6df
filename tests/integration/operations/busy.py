"""A study with every kind of event, for tests of invariants."""

from __future__ import annotations

from adabkb_service.operations.monitoring.sweep import sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.study.request import Key
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    annotate,
    change,
    correct,
    heartbeat,
    observe,
    observe_batch,
    queue,
    release,
    report,
    retry,
    suggest,
)


def busy_study(running: Service, clock: ManualClock, **changes: object) -> None:
    """Study "s": trials in every state, failures, replicates, corrections, changed limits, and stored answers."""
    rule = {"rule": "patience", "max_steps": 20, "no_gain_for": 2}
    limits = {"budget": 40, "max_attempts": 2, "failure_limit": 3, "stop": {"no_gain_for": 30}, "early_stopping": rule}
    create(running, definition(**limits, **changes))

    def ask(count: int = 1) -> list[int]:
        trials = suggest(running, "s", Ask(count, worker="w")).view.trials
        clock.advance(1)
        return [trial.number for trial in trials]

    for value in (3.0, 1.5, 2.25, 0.5, 4.0, 0.75):
        observe(running, "s", Value(value, ask()[0], std_error=0.125))
    observe(running, "s", Failure(ask()[0], reason="no such file"))
    queue(running, "s", {"x": 0.5, "y": 1.0})
    (queued,) = ask()
    observe(running, "s", Value(-1.0, queued, parameters={"x": 0.25, "y": 1.0}))
    correct(running, "s", 2, {"value": 1.25}, "misread")
    correct(running, "s", 7, {"excluded": True}, "wrong plate")
    lost, twice = ask(2)
    clock.advance(61)
    sweep(running)
    assert ask(2) == [lost, twice]
    observe(running, "s", Value(0.625, lost, attempt=1))
    observe(running, "s", Value(0.875, lost, attempt=2))
    clock.advance(61)
    sweep(running)  # the last attempt of ``twice``: it fails
    retry(running, "s", twice, reason="more memory")
    assert ask() == [twice]
    observe(running, "s", Failure(twice, reason="again"))
    (revived,) = ask()
    clock.advance(61)
    sweep(running)
    heartbeat(running, "s", revived, attempt=1)
    report(running, "s", revived, (0, 5.0), (1, 4.0))
    release(running, "s", revived)
    assert ask() == [revived]
    for step, value in ((1, 4.5), (3, 3.5), (4, 3.75), (5, 3.75)):
        report(running, "s", revived, (step, value))
    annotate(running, "s", revived, {"host": "n1", "fold": 3, "software": {"torch": "2.9", "cuda": None}})
    annotate(running, "s", revived, {"fold": None, "software": {"numpy": [2, 4]}})
    annotate(running, "s", 1, {"plate": "é", "weight": 1e-7, "good": True})
    points = [Value(1.0, parameters={"x": 0.125, "y": 2.0}), Value(1.0, trial=99)]
    observe_batch(running, "s", points)
    change(running, "s", {"state": "paused", "tags": {"lab": "b"}, "budget": 30})
    change(running, "s", {"state": "running"})
    suggest(running, "s", Ask(1), Key("s", "kept", "f"))
    release(running, "s", ask()[0])
    ask(2)
    queue(running, "s", {"x": -0.5, "y": 50.0})

"""A worker that releases a trial for a reason may skip it, as long as there is another trial; others see the reason."""

from __future__ import annotations

from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Ask, Value, edit, observe, queue, release, suggest

REASON = "the bottle is empty"
ROWS = {"table": "row,size\na,1\nb,2\nc,3\n"}
"""The rows of a catalogue, none of which is suggested twice."""


def numbers(running: Service, worker: str, count: int = 1) -> list[int]:
    return [trial.number for trial in suggest(running, "s", Ask(count, worker=worker, skip_released=True)).view.trials]


def test_the_reason_is_kept_until_the_trial_ends(running: Service) -> None:
    create(running, definition())
    numbers(running, "a")
    assert release(running, "s", 1, reason=REASON).view.trial.reason == REASON
    (again,) = suggest(running, "s", Ask(worker="b")).view.trials
    assert (again.number, again.reason) == (1, REASON)
    assert replay(running, "s").diverged == []
    ended = observe(running, "s", Value(1.0, trial=1)).view.trial
    assert ended is not None
    assert (ended.state, ended.reason) == ("completed", None)


def test_the_worker_gets_another_trial(running: Service) -> None:
    create(running, definition())
    numbers(running, "a", 2)
    release(running, "s", 1, reason=REASON)
    release(running, "s", 2)
    assert numbers(running, "a") == [2]  # without a reason, it is issued first
    release(running, "s", 2)
    assert numbers(running, "a", 2) == [2, 3]
    assert numbers(running, "b") == [1]
    release(running, "s", 1)
    assert numbers(running, "a") == [1]  # since then, another worker had it
    release(running, "s", 1, reason=REASON)
    assert [trial.number for trial in suggest(running, "s", Ask(worker="a")).view.trials] == [1]


def test_the_worker_gets_the_trial_if_there_is_no_other(running: Service) -> None:
    create(running, definition(budget=3))
    numbers(running, "a", 2)
    release(running, "s", 1, reason=REASON)
    release(running, "s", 2, reason=REASON)
    assert numbers(running, "a", 2) == [1, 3]
    assert numbers(running, "a") == [2]


def test_the_worker_gets_the_trial_if_no_other_has_the_fixed_values(running: Service) -> None:
    create(running, definition(parameters=[{"name": "k", "kind": "catalogue", **ROWS}]))
    asked = Ask(worker="a", fixed={"k": "b"}, skip_released=True)
    for _ in range(2):
        assert [trial.number for trial in suggest(running, "s", asked).view.trials] == [1]
        release(running, "s", 1, reason=REASON)


def test_within_fixed_values_too(running: Service) -> None:
    create(running, definition())
    asked = Ask(worker="a", fixed={"x": 0.5}, skip_released=True)
    suggest(running, "s", asked)
    release(running, "s", 1, reason=REASON)
    assert [trial.number for trial in suggest(running, "s", asked).view.trials] == [2]


def test_no_trial_outside_of_an_edited_space_is_issued_instead(running: Service) -> None:
    create(running, definition())
    for x in (0.5, -0.5):
        queue(running, "s", {"x": x, "y": 1})
    assert (numbers(running, "a"), numbers(running, "b")) == ([1], [2])
    edit(running, {"name": "x", "kind": "float", "low": 0, "high": 2})
    release(running, "s", 2)
    release(running, "s", 1, reason=REASON)
    assert numbers(running, "a") == [3]

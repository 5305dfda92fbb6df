"""Trials with fixed parameters: exact values for every source of points, and the same suggestions in a replay."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from adabkb_service.contract.answers import Suggested, Trial
from adabkb_service.engine.axes import identity
from adabkb_service.errors import Invalid
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, observe, queue, release, suggest

Point = dict[str, Any]

EVERY_KIND = [
    {"name": "x", "kind": "float", "low": -1, "high": 2},
    {"name": "lr", "kind": "float", "low": 1e-5, "high": 1, "scale": "log"},
    {"name": "n", "kind": "int", "low": 1, "high": 99, "step": 2},
    {"name": "drop", "kind": "float", "low": 0, "high": 0.9, "step": 0.1},
    {"name": "widths", "kind": "categorical", "choices": [None, [64, 32], True, 1, "none"]},
    {"name": "size", "kind": "ordinal", "values": ["S", "M", "L"]},
    {"name": "bias", "kind": "bool"},
    {"name": "solvent", "kind": "fixed", "value": ["water", None]},
]
IN_TURN: list[Point] = [
    {"x": 0.12345678901234568},
    {"lr": 0.00012345678901234567},
    {"n": 37.0},
    {"drop": 0.3},
    {"widths": None},
    {"widths": (64, 32)},
    {"widths": True},
    {"widths": 1},
    {"size": "M", "bias": False},
    {"solvent": ["water", None]},
    {"x": 2, "lr": 1, "drop": 0.0, "widths": "none", "size": "L", "bias": True},
    {},
]
FINITE = [{"name": "batch", "kind": "int", "low": 1, "high": 2}, {"name": "n", "kind": "int", "low": 1, "high": 3}]


def ask(running: Service, fixed: Mapping[str, Any] | None, count: int = 1) -> Suggested:
    return suggest(running, "s", Ask(count, fixed=fixed)).view


def tell(running: Service, trials: list[Trial]) -> None:
    for trial in trials:
        observe(running, "s", Value(float(trial.number % 5), trial.number))


def has(trial: Trial, fixed: Mapping[str, Any]) -> bool:
    return all(identity(trial.parameters[name]) == identity(value) for name, value in fixed.items())


def test_every_kind_of_parameter_can_be_fixed_and_replayed(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """One by one and two at once, with results in between; also on a server that restores the model."""
    create(running, definition(parameters=EVERY_KIND))
    for fixed in IN_TURN:
        trials = ask(running, fixed, 2).trials
        assert [trial.origin for trial in trials] == ["policy", "policy"]
        assert all(has(trial, fixed) for trial in trials), fixed
        tell(running, trials[:1])
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []
    assert has(ask(Service(database, clock=clock), {"n": 5}).trials[0], {"n": 5})
    everything = [
        trial.parameters for trial in read.list_trials(running, "s", state=None, attributes=[], after=0, limit=99).items
    ]
    assert len({repr(point) for point in everything}) == len(everything)


def test_prefetched_points_are_issued_only_for_the_same_fixed_values(running: Service) -> None:
    """After results, the model prefetches points for the last fixed values; a request with other values gets
    its own.
    """
    create(running, definition())
    for fixed in [{}, {"x": 0.4}, {"x": 0.4}, {"y": 1.0}, {}, {"x": 0.4}]:
        (trial,) = ask(running, fixed).trials
        assert trial.origin == "policy"
        assert has(trial, fixed)
        assert fixed.get("x") == 0.4 or trial.parameters["x"] != 0.4
        tell(running, [trial])
    assert replay(running, "s").diverged == []


def test_requests_with_different_fixed_values_are_served_concurrently(database: Database, clock: ManualClock) -> None:
    running = Service(database, clock=clock, threads=2)
    running.open()
    create(running, definition())
    values = [{"x": 0.25}, {"x": 0.5}, {}, {"x": 0.25}, {"y": 1.0}, {"x": 0.5}]
    with ThreadPoolExecutor(6) as workers:
        found = list(workers.map(lambda fixed: ask(running, fixed).trials[0], values))
    running.close()
    assert all(has(trial, fixed) for trial, fixed in zip(found, values, strict=True))
    assert {trial.origin for trial in found} == {"policy"}
    assert len({repr(trial.parameters) for trial in found}) == 6


def test_waiting_trial_is_issued_only_for_matching_values(running: Service) -> None:
    create(running, definition())
    queue(running, "s", {"x": 0, "y": 1})
    queue(running, "s", {"x": 0.5, "y": 2})
    queue(running, "s", {"x": 0.5, "y": 3})
    assert [trial.number for trial in ask(running, {"x": 0.5, "y": 3}).trials] == [3]
    assert [trial.number for trial in ask(running, {"x": 0.5}, 2).trials] == [2, 4]
    release(running, "s", 2)
    assert [trial.number for trial in ask(running, {"x": 0}, 2).trials] == [1, 5]
    assert [trial.number for trial in ask(running, None).trials] == [2]


def test_exhausted_slice_has_its_own_reason(running: Service) -> None:
    create(running, definition(parameters=FINITE))
    first = ask(running, {"batch": 1}, 2)
    assert (len(first.trials), first.reason) == (2, None)
    last = ask(running, {"batch": 1}, 2)
    assert (len(last.trials), last.reason, last.retry_after) == (1, "fixed_exhausted", None)
    none = ask(running, {"batch": 1})
    assert (none.trials, none.reason, none.retry_after) == ([], "fixed_exhausted", 1.0)
    assert (none.study.state, none.study.reason, none.degraded) == ("running", None, False)
    assert [trial.parameters["batch"] for trial in ask(running, {}, 3).trials] == [2, 2, 2]
    over = ask(running, {"batch": 1})
    assert (over.trials, over.reason) == ([], "exhausted")


def test_fallback_points_have_the_fixed_values(time_limited: Service) -> None:
    """In a finite slice, no point is issued twice, and none after the last one."""
    create(time_limited, definition(parameters=[*FINITE, {"name": "c", "kind": "categorical", "choices": [None, [1]]}]))
    answer = ask(time_limited, {"batch": 2, "c": [1]}, 5)
    assert [trial.origin for trial in answer.trials] == ["policy", "fallback", "fallback"]
    assert (answer.degraded, answer.reason) == (True, "fixed_exhausted")
    assert sorted(trial.parameters["n"] for trial in answer.trials) == [1, 2, 3]
    assert all(has(trial, {"batch": 2, "c": [1]}) for trial in answer.trials)


def test_failed_point_is_not_issued_again_and_why_names_fixed_values(running: Service) -> None:
    create(running, definition())
    points = set()
    for _ in range(3):
        (trial,) = ask(running, {"x": 0.5}).trials
        points.add(trial.parameters["y"])
        observe(running, "s", Failure(trial.number))
    assert len(points) == 3
    explained = why(running, "s", 3)
    assert explained.decision is not None
    assert explained.decision.in_words.startswith("Held fixed: x = 0.5. ")
    assert explained.events[0].payload["fixed"] == {"x": 0.5}


@pytest.mark.parametrize("system", sorted(SYSTEMS.keys() - {"auto", "random", "sobol"}))
def test_systems_without_fixed_parameters_reject_them(running: Service, system: str) -> None:
    create(
        running,
        definition(algorithm=SYSTEMS[system], parameters=[*definition().model_dump()["parameters"], EVERY_KIND[-1]]),
    )
    with pytest.raises(Invalid, match="the profile auto can") as refusal:
        ask(running, {"x": 0.5})
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/fixed", "fixed_not_supported")]
    assert read.list_trials(running, "s", state=None, attributes=[], after=0, limit=9).items == []
    assert len(ask(running, {"solvent": ["water", None]}).trials) == 1, (
        "a parameter with a single value need not be fixed"
    )

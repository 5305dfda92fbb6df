"""The transition function: live requests, replay and an independent reference give the same rows for the same
events.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adabkb_service.contract.parameters import FloatParameter
from adabkb_service.contract.requests import PointValueBody
from adabkb_service.errors import AdaBKBError
from adabkb_service.operations.monitoring.sweep import sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events, observations, reports, studies, trials
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventKind, StudyRow, TrialRow, as_values
from adabkb_service.study.replay_state import ReplayState, replayed
from tests.integration.operations.busy import busy_study
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
    withdraw,
)
from tests.integration.study import ledger
from tests.integration.study.stored_types import faults, faults_of_columns

OF_THE_MODEL = {"state", "model_seq", "model", "checkpoint", "engine_revision"}
OF_THE_ROW = {"incarnation", "version"}
"""Columns of a study that do not follow from its log."""


def check(database: Database, study_id: str = "s") -> set[EventKind]:
    """Compare the three results for a study. Return the kinds of its events."""
    with database.reading() as connection:
        log = events.page(connection, study_id, 0)
        row = studies.get(connection, study_id)
        their_trials = trials.page(connection, study_id, state=None, after=0, limit=10_000)
        results = observations.page(connection, study_id, 0, 10_000)
        curves = reports.page(connection, study_id, reports.FIRST, 10_000)
    logged, oracle = replayed(study_id, log), ledger.read(study_id, log)
    assert (logged.contradictions, oracle.faults) == ([], [])
    assert faults(log) + faults_of_columns(row) == []
    assert told(row) == told(logged.study)
    assert [without_lease(trial) for trial in their_trials] == list(map(without_lease, logged.trials.values()))
    assert {result.seq: result for result in results} == logged.observations
    assert {(row.trial, row.attempt, row.step): row for row in curves} == logged.reports
    compare_with_oracle(logged, oracle)
    return {event.kind for event in log}


def compare_with_oracle(logged: ReplayState, oracle: ledger.Ledger) -> None:
    study = logged.study
    assert logged.trials == oracle.trials
    assert logged.observations == oracle.observations
    assert logged.best_observation() == oracle.best()
    assert study.best == best_columns(oracle)
    assert study.results_since_best == results_since_best(oracle)
    assert {state: getattr(study, state) for state in oracle.states()} == oracle.states()
    assert (study.observations, study.failures) == (len(oracle.observations), oracle.failures)
    assert (study.study_seq, study.paused, study.seed) == (oracle.study_seq, oracle.paused, oracle.seed)
    assert {name: getattr(study, name) for name in oracle.limits} == oracle.limits
    assert logged.awaited() == oracle.pending_and_failed()
    assert {place: row.value for place, row in logged.reports.items()} == oracle.reports
    assert study.steps_saved == oracle.steps_saved()


def best_columns(oracle: ledger.Ledger) -> dict[str, Any] | None:
    best = oracle.best()
    if best is None:
        return None
    columns = {"parameters": {**oracle.defaults, **best.parameters}, "value": best.value, "trial": best.trial}
    return columns if best.metrics is None else {**columns, "metrics": best.metrics, "feasible": True, "violations": {}}


def results_since_best(oracle: ledger.Ledger) -> int:
    best = oracle.best()
    return sum(best is not None and seq > best.seq and oracle.counts(row) for seq, row in oracle.observations.items())


def told(row: StudyRow) -> dict[str, Any]:
    return {name: value for name, value in as_values(row).items() if name not in OF_THE_MODEL | OF_THE_ROW}


def without_lease(row: TrialRow) -> TrialRow:
    return replace(row, lease_seconds=0.0, leased_until=None)


def test_all_event_kinds_give_the_same_rows_in_three_ways(
    database: Database, running: Service, clock: ManualClock
) -> None:
    """Besides the busy study: one that ends and whose model fails and recovers, one that is edited, one with a
    partial result, and one whose last plate has no point left."""
    busy_study(running, clock)
    create(running, definition(id="ends", algorithm={"profile": "paper", "outputs": "raw"}))
    for _ in range(2):
        observe(running, "ends", Value(-1.7e308, parameters={"x": 0, "y": 1}))
    suggest(running, "ends", Ask())
    correct(running, "ends", 2, {"excluded": True}, "diverged")
    suggest(running, "ends", Ask())
    for number in (1, 2):
        observe(running, "ends", Failure(number))
    change(running, "ends", {"budget": 2})
    create(running, definition(id="edited"))
    queue(running, "edited", {"x": -1, "y": 1})
    observe_batch(running, "edited", [Value(x, parameters={"x": x, "y": 1}) for x in (-0.5, 0.5, 0.2, 1.0)])
    change(running, "edited", edit(0.0, 1.0, 0.5))
    observe(running, "edited", Value(-3.0, parameters={"x": 0.75, "y": 1, "m": 0.25}))
    correct(running, "edited", 5, {"excluded": True})
    create(running, definition(id="parts", metrics=["mass"]))
    for told in ({"metrics": {"mass": 1.0}, "partial": True}, {"value": 0.5, "partial": True}):
        observe(running, "parts", PointValueBody.model_validate({"parameters": {"x": 0, "y": 1}, **told}))
    correct(running, "parts", 1, {"value": 0.25})
    two = [{"name": name, "kind": "int", "low": 1, "high": 2} for name in ("a", "b")]
    plates = {"plates": {"size": 3, "shared": ["a"]}, "budget": {"plates": 1}, "noise_std": 0}
    create(running, definition(id="plate", parameters=two, **plates))
    for number in (1, 2):
        suggest(running, "plate", Ask())
        observe(running, "plate", Value(1.0, number))
    suggest(running, "plate", Ask())
    kinds = [check(database, study) for study in ("ends", "edited", "parts", "plate")]
    assert check(database).union(*kinds) == set(get_args(EventKind))


def edit(low: float, high: float, default: float) -> dict[str, Any]:
    """Edit the bounds of x, and add a parameter unless it exists."""
    x, m = (FloatParameter(name=name, kind="float", low=low, high=high) for name in "xm")
    return {"parameters": [x.model_dump(), m.model_dump()], "defaults": {"m": default}}


class RandomStudy:
    """A service on SQLite, and operations on the study "s" with a number and a value as arguments."""

    def __init__(self, database: Database, rule: dict[str, Any]) -> None:
        self.database = database
        self.clock = ManualClock()
        self.running = Service(database, clock=self.clock)
        stopping = {**rule, "max_steps": 9}
        create(self.running, definition(budget=12, max_attempts=2, failure_limit=2, early_stopping=stopping))

    def perform(self, name: str, number: int, value: float) -> None:
        """Perform an operation. It may be refused; ``check`` finds changes that a refused one has left."""
        self.clock.advance(1)
        with suppress(AdaBKBError):
            OPERATIONS[name](self, number, value)

    def observe_trial(self, number: int, value: float) -> Any:
        attempt = None if value < 0 else 1
        return Value(value, number, attempt=attempt) if number else Value(value, parameters={"x": 0.5, "y": 1.0})

    def annotate(self, number: int, value: float) -> None:
        given = {"score": value, "deep": {str(number): value}}
        gone = {"deep": None} if value < 0 else {"score": None, "deep": {"1": None}}
        annotate(self.running, "s", number, gone if number % 2 else given)

    def restart(self) -> None:
        self.running = Service(self.database, clock=self.clock)

    def observe_many(self, number: int, value: float) -> None:
        results = [
            self.observe_trial(number, value),
            Value(value, 99),
            Failure(number + 1),
            self.observe_trial(0, value),
        ]
        observe_batch(self.running, "s", results)
        observe_batch(self.running, "s", results, dry_run=True)


OPERATIONS: dict[str, Callable[[RandomStudy, int, float], object]] = {
    "ask": lambda world, number, _: suggest(world.running, "s", Ask(1 + number % 3, worker="w")),
    "tell": lambda world, number, value: observe(world.running, "s", world.observe_trial(number, value)),
    "tell many": RandomStudy.observe_many,
    "fail": lambda world, number, _: observe(world.running, "s", Failure(number, reason="diverged")),
    "report": lambda world, number, value: report(world.running, "s", number, (abs(int(value)), value), (8, -value)),
    "release": lambda world, number, _: release(world.running, "s", number),
    "withdraw": lambda world, number, _: withdraw(world.running, "s", number, "no XPhos left"),
    "retry": lambda world, number, _: retry(world.running, "s", number),
    "annotate": RandomStudy.annotate,
    "heartbeat": lambda world, number, _: heartbeat(world.running, "s", number, lease_seconds=30),
    "queue": lambda world, _, value: queue(world.running, "s", {"x": value / 10, "y": 1.0}),
    "correct": lambda world, number, value: correct(world.running, "s", number, {"value": value}),
    "exclude": lambda world, number, value: correct(world.running, "s", number, {"excluded": value < 5}),
    "wait": lambda world, _, __: world.clock.advance(61),
    "sweep": lambda world, _, __: sweep(world.running),
    "pause": lambda world, _, __: change(world.running, "s", {"state": "paused"}),
    "resume": lambda world, _, __: change(world.running, "s", {"state": "running"}),
    "limit": lambda world, number, _: change(world.running, "s", {"budget": 8 + number, "tags": {"n": str(number)}}),
    "edit": lambda world, number, value: change(world.running, "s", edit(-1.0, number / 4 - 0.5, min(value, -0.5))),
    "restart": lambda world, _, __: world.restart(),
}
OFTEN = ["ask", "ask", "tell", "tell", "report", "wait"]
"""Frequent operations, since most others are refused without trials and results."""

RULES: list[dict[str, Any]] = [{"rule": "asha"}, {"rule": "patience", "no_gain_for": 4}]
"""With the first one, the space cannot be edited."""

operations = st.tuples(
    st.sampled_from([*OFTEN, *OPERATIONS]), st.integers(0, 8), st.sampled_from([-2.0, 0.25, 1.0, 7.5])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(history=st.lists(operations, min_size=15, max_size=40), rule=st.sampled_from(RULES))
def test_random_histories_give_the_same_rows_in_three_ways(
    history: list[tuple[str, int, float]], rule: dict[str, Any], folder: Path, sqlite_template: Path
) -> None:
    shutil.copy(sqlite_template, folder / "world.db")
    database = Database(f"sqlite:///{folder}/world.db")
    world = RandomStudy(database, rule)
    for operation in history:
        world.perform(*operation)
    check(database)
    database.close()
    for leftover in folder.glob("world.db*"):
        leftover.unlink()

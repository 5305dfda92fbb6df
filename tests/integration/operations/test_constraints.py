"""Studies with constraints on parameters: invalid ones are rejected, and no trial violates a constraint."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.errors import Invalid, StudyExists
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model import analysis
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import OF_THE_PAPER, SYSTEMS, ManualClock, definition
from tests.integration.operations.test_fixed import EVERY_KIND
from tests.integration.operations.verbs import Ask, Value, observe, observe_batch, queue, suggest

CONSTRAINTS = ["x + drop <= 1", "0.001 <= lr * n", "n * drop <= 20"]
FINITE = [{"name": "a", "kind": "int", "low": 1, "high": 4}, {"name": "b", "kind": "int", "low": 1, "high": 4}]


def holds(point: dict[str, Any]) -> bool:
    """The constraints, written in Python."""
    x, rate, n, drop = point["x"], point["lr"], point["n"], point["drop"]
    return bool(x + drop <= 1 and rate * n >= 0.001 and n * drop <= 20)


def constrained(**changes: Any) -> Any:
    return definition(**{"parameters": EVERY_KIND, "constraints": CONSTRAINTS, **changes})


@pytest.mark.long
def test_trials_satisfy_constraints_after_replay_export_and_import(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """Single trials and batches, with fixed values, and queued."""
    create(running, constrained())
    points = [queue(running, "s", {**EVERY_POINT, "x": 0.1}).view.parameters]
    for fixed in [None, None, {"drop": 0.6}, {"n": 99}, {"x": 0.95, "bias": True}, None]:
        for trial in suggest(running, "s", Ask(3, fixed=fixed)).view.trials:
            points.append(trial.parameters)
            observe(running, "s", Value(trial.parameters["x"] + trial.number % 3, trial.number))
    assert len(points) == 19
    assert all(map(holds, points))
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []
    lines = list(json_lines(running, "s"))
    before = suggest(running, "s", Ask()).view.trials[0].parameters
    delete(running, "s")
    import_study(database, lines)
    after = suggest(Service(database, clock=clock), "s", Ask()).view.trials[0]
    assert (after.origin, after.parameters) == ("policy", before)


EVERY_POINT = {
    "x": 0.0, "lr": 0.1, "n": 5, "drop": 0.3, "widths": None, "size": "S", "bias": False, "solvent": ["water", None],
}  # fmt: skip


def test_user_supplied_points_that_violate_a_constraint_are_rejected(running: Service) -> None:
    create(running, constrained())
    outside = {**EVERY_POINT, "x": 0.9, "n": 99}
    (trial,) = suggest(running, "s", Ask()).view.trials
    wrong = (
        lambda: queue(running, "s", outside),
        lambda: observe(running, "s", Value(1.0, parameters=outside)),
        lambda: observe(running, "s", Value(1.0, trial.number, parameters=outside)),
    )
    for attempt in wrong:
        with pytest.raises(Invalid) as refusal:
            attempt()
        assert [(error.pointer, error.code) for error in refusal.value.errors] == [
            ("/parameters", "constraint_violated")
        ] * 2
        assert refusal.value.errors[0].detail.startswith("violates the study's constraint x + drop <= 1")
        assert "constraint n * drop <= 20" in refusal.value.errors[1].detail
    items = observe_batch(running, "s", [Value(1.0, parameters=outside), Value(1.0, parameters=EVERY_POINT)]).view.items
    assert [item.status for item in items] == [422, 200]


def test_infeasible_fixed_values_are_rejected(running: Service) -> None:
    create(running, constrained())
    with pytest.raises(Invalid) as refusal:
        suggest(running, "s", Ask(fixed={"n": 99, "drop": 0.9}))
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/fixed", "constraint_violated")]
    assert "leaves no point that satisfies the study's constraint" in str(refusal.value)


def test_finite_study_is_complete_when_its_feasible_points_are_issued(running: Service) -> None:
    create(running, definition(parameters=FINITE, constraints=["a * b <= 4", "a <= b"]))
    answer = suggest(running, "s", Ask(9)).view
    found = {(trial.parameters["a"], trial.parameters["b"]) for trial in answer.trials}
    assert (found, answer.reason) == ({(1, 1), (1, 2), (1, 3), (1, 4), (2, 2)}, "exhausted")
    for trial in answer.trials:
        observe(running, "s", Value(1.0, trial.number))
    assert suggest(running, "s", Ask()).view.study.state == "complete"


def test_quasi_random_points_satisfy_the_constraints(time_limited: Service) -> None:
    create(time_limited, constrained())
    trials = suggest(time_limited, "s", Ask(20)).view.trials
    assert {trial.origin for trial in trials} == {"policy", "fallback"}
    assert all(holds(trial.parameters) for trial in trials)


def test_infeasible_cells_are_pruned_in_the_partition(running: Service) -> None:
    create(running, definition(constraints=["x <= -0.5"]))
    for _ in range(8):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(trial.parameters["x"], trial.number))
    cells, _ = analysis.partition(running, "s", 0, 1000, None)
    outside = [cell.status for cell in cells if cell.low["x"] > -0.5]
    assert outside
    assert set(outside) == {"pruned"}


def test_different_constraints_conflict_with_an_existing_study(running: Service) -> None:
    create(running, definition(constraints=["x + y <= 1"]))
    create(running, definition(constraints=[" x + y <= 1"]))
    with pytest.raises(StudyExists, match=r"constraints\.0 is 'x \+ y <= 1', not 'x \+ y <= 2'"):
        create(running, definition(constraints=["x + y <= 2"]))
    with pytest.raises(StudyExists, match="constraints has 1 items, not 0"):
        create(running, definition())


@pytest.mark.parametrize("system", OF_THE_PAPER)
def test_systems_without_constraints_reject_them(system: str) -> None:
    with pytest.raises(ValidationError, match="the profile auto supports them") as refusal:
        definition(constraints=["x + y <= 1"], algorithm=SYSTEMS[system])
    assert refusal.value.errors()[0]["loc"] == ("constraints",)

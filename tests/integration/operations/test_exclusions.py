"""Studies with constraints on choices: no trial violates one, whatever its origin, even in an edited space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, edit, observe, observe_batch, queue, suggest

CATALYST = {"name": "catalyst", "kind": "categorical", "choices": ["XPhos", "SPhos", "PPh3"]}
SOLVENT = {"name": "solvent", "kind": "categorical", "choices": ["dioxane", "DMF", "water", None]}
SIZE = {"name": "size", "kind": "ordinal", "values": [1, 5, 25]}
STIRRED = {"name": "is stirred", "kind": "bool"}
N = {"name": "n", "kind": "int", "low": 1, "high": 6}
TEMPERATURE = {"name": "temperature", "kind": "float", "low": 20, "high": 120}
PARAMETERS = [CATALYST, SOLVENT, SIZE, STIRRED, N, TEMPERATURE]
CONSTRAINTS = [
    'catalyst == "XPhos" or solvent in ["dioxane", "DMF"]',
    'not (catalyst == "PPh3" and temperature > 80)',
    '"is stirred" == True or (size < 25 and n not in [5, 6])',
    "n * size <= 60 or solvent == None",
]
HOT = {
    "catalyst": "PPh3", "solvent": "DMF", "size": 1, "is stirred": True, "n": 1, "temperature": 100.0,
}  # fmt: skip


def holds(point: dict[str, Any]) -> bool:
    """The constraints, written in Python."""
    return bool(
        (point["catalyst"] == "XPhos" or point["solvent"] in ["dioxane", "DMF"])
        and not (point["catalyst"] == "PPh3" and point["temperature"] > 80)
        and (point["is stirred"] or (point["size"] < 25 and point["n"] not in [5, 6]))
        and (point["n"] * point["size"] <= 60 or point["solvent"] is None)
    )


def constrained(**changes: Any) -> StudyDefinition:
    return definition(**{"parameters": PARAMETERS, "constraints": CONSTRAINTS, **changes})


def evaluated(running: Service, count: int, **options: Any) -> list[dict[str, Any]]:
    """Evaluate a number of trials requested together, and return their points.

    Values decrease as the temperature rises, and are lower with PPh3.
    """
    points = []
    for trial in suggest(running, "s", Ask(count, **options)).view.trials:
        heat = trial.parameters["temperature"] + 50.0 * (trial.parameters["catalyst"] == "PPh3")
        observe(running, "s", Value(-heat / 100.0, trial.number))
        points.append(trial.parameters)
    return points


def test_no_trial_violates_a_constraint_and_the_log_is_complete(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """Queue and request trials, with and without fixed values; then replay, export and import the study."""
    create(running, constrained())
    points = [queue(running, "s", {**HOT, "temperature": 80.0}).view.parameters]
    for fixed in [None, {"catalyst": "PPh3"}, None, {"solvent": "water", "n": 6}, {"size": 25}, None, None, None]:
        points += evaluated(running, 2, fixed=fixed)
    assert len(points) == 17
    assert all(map(holds, points))
    assert max(each["temperature"] for each in points if each["catalyst"] == "PPh3") > 75, "the boundary is reached"
    assert_log_is_complete(database, clock, running)


def test_quasi_random_points_satisfy_constraints_on_choices(time_limited: Service) -> None:
    create(time_limited, constrained())
    trials = suggest(time_limited, "s", Ask(20)).view.trials
    assert {trial.origin for trial in trials} == {"policy", "fallback"}
    assert all(holds(trial.parameters) for trial in trials)


def test_results_at_excluded_combinations_are_rejected(running: Service) -> None:
    create(running, constrained())
    (trial,) = suggest(running, "s", Ask()).view.trials
    attempts: tuple[Callable[[], object], ...] = (
        lambda: queue(running, "s", HOT),
        lambda: observe(running, "s", Value(1.0, parameters=HOT)),
        lambda: observe(running, "s", Value(1.0, trial.number, parameters=HOT)),
    )
    results = ", which holds for results, too;"
    for attempt, rest in zip(attempts, ("; give a point", results, results), strict=True):
        with pytest.raises(Invalid) as refusal:
            attempt()
        (error,) = refusal.value.errors
        assert (error.pointer, error.code) == ("/parameters", "constraint_violated")
        assert error.detail.startswith(f"violates the study's constraint {CONSTRAINTS[1]}{rest}")
    warm = {**HOT, "temperature": 60.0}
    items = observe_batch(running, "s", [Value(1.0, parameters=HOT), Value(1.0, parameters=warm)]).view.items
    assert [item.status for item in items] == [422, 200]
    with pytest.raises(Invalid, match="leaves no point that satisfies the study's constraint not"):
        suggest(running, "s", Ask(fixed={"catalyst": "PPh3", "temperature": 100.0}))


def test_study_is_complete_when_all_allowed_combinations_are_issued(running: Service) -> None:
    few = ['(catalyst == "XPhos" and solvent == "DMF") or (catalyst == "PPh3" and solvent == None)', "n == 1"]
    create(running, definition(parameters=[CATALYST, SOLVENT, N], constraints=few))
    answer = suggest(running, "s", Ask(9)).view
    found = {tuple(trial.parameters.values()) for trial in answer.trials}
    assert (found, answer.reason) == ({("XPhos", "DMF", 1), ("PPh3", None, 1)}, "exhausted")
    for trial in answer.trials:
        observe(running, "s", Value(1.0, trial.number))
    assert suggest(running, "s", Ask()).view.study.state == "complete"


@pytest.mark.long
def test_edit_can_add_and_remove_choices_named_in_constraints(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, constrained())
    evaluated(running, 4)
    edit(running, {**CATALYST, "choices": ["XPhos", "PPh3", "RuPhos"]}, {**SOLVENT, "choices": ["DMF", "water"]})
    points = [point for _ in range(6) for point in evaluated(running, 2)]
    assert all(map(holds, points))
    assert {point["solvent"] for point in points} <= {"DMF", "water"}
    with pytest.raises(Invalid, match=r"cannot be combined with the study's constraints\.0, which no point satisfies"):
        edit(running, {**CATALYST, "choices": ["PPh3", "RuPhos"]}, {**SOLVENT, "choices": ["water", None]})
    with pytest.raises(
        Invalid, match=r"constraints\.1, which column 29: 'temperature' has values that are not numbers"
    ):
        edit(running, {"name": "temperature", "kind": "categorical", "choices": ["low", "high"]})
    assert_log_is_complete(database, clock, running)


@pytest.mark.long
def test_study_with_older_ones_keeps_its_own_constraints(running: Service) -> None:
    create(running, definition(parameters=PARAMETERS))
    for _ in range(6):
        evaluated(running, 2)
    create(running, constrained(id="new", transfer_from=["s"]))
    points = []
    for _ in range(4):
        for trial in suggest(running, "new", Ask(2)).view.trials:
            observe(running, "new", Value(-trial.parameters["temperature"] / 100.0, trial.number))
            points.append(trial.parameters)
    assert all(map(holds, points))


def test_constraint_on_an_unknown_choice_is_rejected() -> None:
    with pytest.raises(ValidationError, match="column 13: 'xphos' is not a value of 'catalyst'; did you mean 'XPhos'"):
        constrained(constraints=["catalyst == 'xphos'"])

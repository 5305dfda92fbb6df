"""Studies with a baseline: the recommendation stays near it, and lists its changes with their gains."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, edit, observe, suggest

PARAMETERS: list[dict[str, Any]] = [
    {"name": "heat", "kind": "float", "low": 20, "high": 120},
    {"name": "stirring", "kind": "int", "low": 1, "high": 9},
    {"name": "solvent", "kind": "categorical", "choices": ["water", "DMF"]},
    {"name": "lot", "kind": "fixed", "value": 7},
]
TODAY = {"heat": 40, "stirring": 3, "solvent": "water"}


def with_baseline(**changes: Any) -> StudyDefinition:
    return definition(**{"parameters": PARAMETERS, "direction": "minimize", "baseline": TODAY, **changes})


def loss(point: dict[str, Any]) -> float:
    """Only the heat matters."""
    return float(((point["heat"] - 90.0) / 50.0) ** 2)


def evaluated(running: Service, count: int, **options: Any) -> list[dict[str, Any]]:
    points = []
    for trial in suggest(running, "s", Ask(count, **options)).view.trials:
        observe(running, "s", Value(loss(trial.parameters), trial.number))
        points.append(trial.parameters)
    return points


def test_irrelevant_parameters_stay_at_the_baseline_and_gains_are_reported(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, with_baseline())
    for _ in range(18):
        evaluated(running, 1)
    found = recommendation(running, "s").model
    assert found is not None
    assert found.changes is not None
    (changed,) = found.changes
    assert (changed.parameter, changed.baseline, changed.value) == ("heat", 40, found.parameters["heat"])
    assert changed.gain == pytest.approx(1.0, abs=0.3)
    assert {**found.parameters, "heat": 40.0} == {**TODAY, "lot": 7}
    assert found.parameters["heat"] == pytest.approx(90.0, abs=6.0)
    assert running.do(manage.get("s")).view.baseline == TODAY
    assert_log_is_complete(database, clock, running)


def test_baseline_changes_no_suggestion(running: Service) -> None:
    create(running, with_baseline())
    first = [point for _ in range(6) for point in evaluated(running, 1)]
    create(running, definition(id="t", parameters=PARAMETERS, direction="minimize"))
    for point in first:
        (trial,) = suggest(running, "t", Ask()).view.trials
        assert trial.parameters == point
        observe(running, "t", Value(loss(trial.parameters), trial.number))
    found = recommendation(running, "t").model
    assert found is not None
    assert found.changes is None


def test_tolerance_of_the_study_determines_which_changes_matter(running: Service) -> None:
    create(running, with_baseline())
    for _ in range(12):
        evaluated(running, 1)
    change(running, "s", {"tolerance": 1e6})
    found = recommendation(running, "s").model
    assert found is not None
    assert found.changes == []
    assert found.parameters == {**TODAY, "heat": 40.0, "lot": 7}


@pytest.mark.long
def test_recommendation_in_a_context_stays_near_the_baseline(running: Service) -> None:
    humidity = {"name": "humidity", "kind": "float", "low": 0, "high": 1, "context": True}
    create(running, with_baseline(parameters=[*PARAMETERS, humidity]))
    for step in range(16):
        evaluated(running, 1, context={"humidity": step / 16.0})
    found = recommendation(running, "s", context={"humidity": 0.77}).model
    assert found is not None
    assert found.changes is not None
    assert [each.parameter for each in found.changes] == ["heat"]
    assert found.parameters["humidity"] == 0.77


@pytest.mark.long
def test_recommendation_satisfies_outcome_constraints(running: Service) -> None:
    """Keeping water would change less, but violates the bound."""
    create(running, with_baseline(metrics=["purity"], outcome_constraints=[{"metric": "purity", "lower": 0.9}]))
    for _ in range(14):
        (trial,) = suggest(running, "s", Ask()).view.trials
        purity = {"purity": 0.95 if trial.parameters["solvent"] == "DMF" else 0.2}
        observe(running, "s", Value(loss(trial.parameters), trial.number, metrics=purity))
    found = recommendation(running, "s").model
    assert found is not None
    assert found.parameters["solvent"] == "DMF"
    assert found.changes is not None
    assert "solvent" in [each.parameter for each in found.changes]


def test_edit_cannot_exclude_the_baseline(running: Service) -> None:
    create(running, with_baseline())
    evaluated(running, 2)
    with pytest.raises(Invalid, match=r"cannot be combined with the study's baseline\.heat, which is 40, outside"):
        edit(running, {**PARAMETERS[0], "low": 50})
    edit(running, {**PARAMETERS[0], "high": 150})


SEVERAL = [{"metric": "yield", "direction": "maximize"}, {"metric": "price", "direction": "minimize"}]
REFUSED: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    ({"baseline": {"heat": 10}}, ("baseline", "heat"), "is 10, outside"),
    ({"baseline": {"heta": 30}}, ("baseline", "heta"), "is not a parameter of this study; did you mean heat"),
    ({"baseline": {"lot": 7}}, ("baseline", "lot"), "is a fixed parameter"),
    ({"objectives": SEVERAL, "direction": None}, ("baseline",), "cannot be combined with several objectives"),
    ({"parameters": [*PARAMETERS[1:], {**PARAMETERS[0], "context": True}]}, ("baseline", "heat"), "is a context"),
]


@pytest.mark.parametrize(("changes", "place", "words"), REFUSED, ids=lambda each: str(each)[:40])
def test_invalid_baseline_is_rejected(changes: dict[str, Any], place: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        with_baseline(**changes)
    (fault,) = refused.value.errors()
    assert fault["loc"] == place
    assert words in fault["msg"]


@pytest.mark.parametrize("system", sorted(SYSTEMS.keys() - {"auto"}))
def test_other_systems_reject_baselines(system: str) -> None:
    with pytest.raises(ValidationError, match="cannot be used by this algorithm"):
        with_baseline(parameters=PARAMETERS[:1], baseline={"heat": 40}, algorithm=SYSTEMS[system])

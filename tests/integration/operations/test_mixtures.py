"""Studies with mixtures: invalid definitions and results are rejected, and every trial is a valid mixture."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.errors import Invalid
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import OF_THE_PAPER, SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, edit, observe, queue, suggest

SOLVENTS = ("water", "ethanol", "glycerol")
OILS = ("olive", "palm")
HEAT = {"name": "heat", "kind": "float", "low": 20, "high": 90}
PARAMETERS: list[dict[str, Any]] = [
    *({"name": name, "kind": "float", "low": 0, "high": 1} for name in SOLVENTS),
    HEAT,
    *({"name": name, "kind": "float", "low": 0, "high": 100} for name in OILS),
    {"name": "mill", "kind": "categorical", "choices": ["ball", "jet"]},
]
MIXTURES: list[dict[str, Any]] = [
    {"parameters": list(SOLVENTS), "at_most": 2, "least": 0.1},
    {"parameters": list(OILS), "total": 100},
]
POINT = {"water": 0.25, "ethanol": 0.75, "glycerol": 0.0, "heat": 40.0, "olive": 30.0, "palm": 70.0, "mill": "jet"}


def mixed(**changes: Any) -> Any:
    return definition(**{"parameters": PARAMETERS, "mixtures": MIXTURES, "direction": "minimize", **changes})


def assert_is_mixed(point: dict[str, Any]) -> None:
    assert sum(Fraction(str(point[name])) for name in SOLVENTS) == 1
    assert sum(Fraction(str(point[name])) for name in OILS) == 100
    assert sum(point[name] > 0 for name in SOLVENTS) <= 2
    assert all(point[name] == 0 or point[name] >= 0.1 for name in SOLVENTS)


def loss(point: dict[str, Any]) -> float:
    return float((point["water"] - 0.3) ** 2 + (point["heat"] / 100 - 0.6) ** 2 + (point["olive"] / 100 - 0.2) ** 2)


def evaluated(running: Service, count: int, **options: Any) -> list[dict[str, Any]]:
    points = []
    for trial in suggest(running, "s", Ask(count, **options)).view.trials:
        observe(running, "s", Value(loss(trial.parameters), trial.number))
        points.append(trial.parameters)
    return points


def test_trials_are_mixtures_and_the_log_is_complete(database: Database, clock: ManualClock, running: Service) -> None:
    """Single trials and batches, with fixed values, and with user-supplied results."""
    create(running, mixed())
    observe(running, "s", Value(0.4, parameters=POINT))
    points = []
    for fixed in [None, {"mill": "jet", "glycerol": 0.0}, {"olive": 12.5}]:
        found = evaluated(running, 2, fixed=fixed)
        assert all((fixed or {}).items() <= point.items() for point in found)
        points += found
    for point in points:
        assert_is_mixed(point)
    best = recommendation(running, "s").model
    assert best is not None
    assert_is_mixed(best.parameters)
    assert_log_is_complete(database, clock, running)


def test_single_remaining_share_is_fixed(running: Service) -> None:
    create(running, mixed())
    for trial in suggest(running, "s", Ask(2, fixed={"olive": 12.5, "water": 0.25, "glycerol": 0})).view.trials:
        assert (trial.parameters["palm"], trial.parameters["ethanol"]) == (87.5, 0.75)


WRONG = [
    ({"water": 0.26}, "mixture (water, ethanol, glycerol) that sum to 1.01, not to 1 (within 1e-06)"),
    ({"water": 0.25, "ethanol": 0.5, "glycerol": 0.25}, "are above 0 for 3 components, but at most 2 may be"),
    ({"water": 0.95, "ethanol": 0.05}, "have ethanol at 0.05; it must be 0, or at least 0.1"),
    ({"olive": 31}, "mixture (olive, palm) that sum to 101, not to 100 (within 0.0001)"),
]


@pytest.mark.parametrize(("change", "sentence"), WRONG)
def test_results_that_are_not_mixtures_are_rejected_with_the_tolerance(
    running: Service, change: dict[str, float], sentence: str
) -> None:
    create(running, mixed())
    (trial,) = suggest(running, "s", Ask()).view.trials
    wrong = {**POINT, **change}
    for attempt in (
        lambda: queue(running, "s", wrong),
        lambda: observe(running, "s", Value(1.0, parameters=wrong)),
        lambda: observe(running, "s", Value(1.0, trial.number, parameters=wrong)),
    ):
        with pytest.raises(Invalid) as refusal:
            attempt()
        (error,) = refusal.value.errors
        assert (error.pointer, error.code) == ("/parameters", "mixture_violated")
        assert sentence in error.detail


def test_shares_within_the_tolerance_are_stored_unchanged(running: Service) -> None:
    create(running, mixed())
    reported = {**POINT, "water": 0.2500004}
    kept = observe(running, "s", Value(1.0, parameters=reported)).view.observation
    assert kept is not None
    assert kept.parameters == reported


def test_fixed_values_without_a_mixture_are_rejected(running: Service) -> None:
    create(running, mixed())
    for fixed, name in (({"water": 0.95}, "water"), ({"water": 0.5, "ethanol": 0.6}, "water"), ({"olive": 101}, "")):
        with pytest.raises(Invalid) as refusal:
            suggest(running, "s", Ask(fixed=fixed))
        assert name in str(refusal.value.errors[0].detail)


REFUSED = [
    ({"mixtures": [{"parameters": ["water", "oil"]}]}, ("mixtures", 0, "parameters", 1), "'oil' is not a parameter"),
    ({"mixtures": [{"parameters": ["water", "mill"]}]}, ("mixtures", 0, "parameters", 1), "must be a float"),
    ({"mixtures": [{"parameters": ["water"]}]}, ("mixtures", 0, "parameters"), "at least 2"),
    ({"mixtures": [{"parameters": list(SOLVENTS), "total": 4}]}, ("mixtures", 0, "total"), "must be at most 3"),
    ({"mixtures": [{"parameters": list(SOLVENTS), "total": 0}]}, ("mixtures", 0, "total"), "greater than 0"),
    ({"mixtures": [*MIXTURES, MIXTURES[1]]}, ("mixtures", 2, "parameters", 0), "'olive' is a share already"),
    ({"baseline": {"water": 0.4}}, ("baseline", "water"), "give all its shares, or none"),
    ({"baseline": {"water": 0.4, "ethanol": 0.5, "glycerol": 0}}, ("baseline", "water"), "sum to 0.9, not to 1"),
    ({"constraints": ["water + ethanol + glycerol >= 1.5"]}, None, "no point satisfies this constraint"),
]


@pytest.mark.parametrize(("change", "place", "sentence"), REFUSED)
def test_invalid_mixtures_are_rejected_with_their_field(
    running: Service, change: dict[str, Any], place: tuple[str | int, ...] | None, sentence: str
) -> None:
    if place is None:
        with pytest.raises(Invalid) as refusal:
            create(running, mixed(**change))
        assert sentence in str(refusal.value)
        return
    with pytest.raises(ValidationError) as refused:
        mixed(**change)
    faults = [fault for fault in refused.value.errors() if fault["loc"] == place]
    assert any(sentence in fault["msg"] for fault in faults)


@pytest.mark.parametrize("kind", [*OF_THE_PAPER, "sobol"])
def test_other_systems_reject_mixtures(kind: str) -> None:
    with pytest.raises(ValidationError, match="the profile auto supports them"):
        mixed(algorithm=SYSTEMS[kind], parameters=PARAMETERS[:3], mixtures=MIXTURES[:1])


@pytest.mark.long
def test_recommendation_near_a_baseline_keeps_all_shares(running: Service) -> None:
    """Only the heat matters, so all shares stay the same."""
    today = {"water": 0.5, "ethanol": 0.5, "glycerol": 0.0, "heat": 30.0}
    create(running, mixed(parameters=PARAMETERS[:4], mixtures=MIXTURES[:1], baseline=today))
    for _ in range(24):
        for trial in suggest(running, "s", Ask()).view.trials:
            observe(running, "s", Value((trial.parameters["heat"] / 100 - 0.6) ** 2, trial.number))
    found = recommendation(running, "s").model
    assert found is not None
    assert {**found.parameters, "heat": 30.0} == today


@pytest.mark.long
def test_edit_can_widen_the_bounds_of_a_share(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, mixed(parameters=[{**PARAMETERS[0], "high": 0.5}, *PARAMETERS[1:]]))
    evaluated(running, 3)
    edit(running, PARAMETERS[0])
    points = [*evaluated(running, 3), *evaluated(running, 2, fixed={"water": 0.9})]
    for point in points:
        assert_is_mixed(point)
    with pytest.raises(Invalid, match="cannot be combined with the study's mixtures"):
        edit(running, {**PARAMETERS[4], "step": 5})
    assert_log_is_complete(database, clock, running)

"""Labels, units and natural bounds are for display only; no suggestion depends on them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.quantities import Quantity
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.errors import Invalid, StudyExists
from adabkb_service.operations.model.assessment import assessment
from adabkb_service.operations.model.unusual import stored
from adabkb_service.operations.model.why import why
from adabkb_service.operations.model.why_in_words import Known, in_words
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.operations.words.digits import Digits
from adabkb_service.operations.words.labels import Labels
from adabkb_service.operations.words.values_in_words import as_typed
from adabkb_service.storage.columns import BestResult, Phase, StoredPrediction
from adabkb_service.storage.database import Database
from adabkb_service.storage.event_payloads import Suggested
from adabkb_service.storage.rows import EventOf, SuggestedRow
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, correct, edit, get, observe, suggest
from tests.samples import some

X = {"name": "x", "kind": "float", "low": -1, "high": 2}
Y = {"name": "y", "kind": "float", "low": 0.01, "high": 100, "scale": "log"}
WORDED = [{**X, "unit": "°C", "label": "Bath temperature"}, {**Y, "unit": "mol/l"}]
YIELD = {"label": "Yield", "unit": "%", "digits": 1, "low": 0, "high": 100}


def suggest_and_observe(running: Service, study: str, count: int) -> list[dict[str, Any]]:
    points = []
    for _ in range(count):
        (trial,) = suggest(running, study, Ask()).view.trials
        x, y = trial.parameters["x"], trial.parameters["y"]
        observe(running, study, Value(20 * (x - 0.3) ** 2 + y / 5, trial.number))
        points.append(dict(trial.parameters))
    return points


@pytest.mark.long
@pytest.mark.parametrize("system", some(["auto", "paper", "gp-ucb"], ["auto"]))
def test_labels_and_units_change_no_suggestion(running: Service, system: str) -> None:
    """Whether they are set at creation or later."""
    algorithm = SYSTEMS[system]
    create(running, definition(id="plain", algorithm=algorithm))
    create(running, definition(id="worded", algorithm=algorithm, parameters=WORDED, quantities={"value": YIELD}))
    create(running, definition(id="later", algorithm=algorithm))
    first = [suggest_and_observe(running, study, 8) for study in ("plain", "worded", "later")]
    patch = {"quantities": {"value": YIELD}, "parameters": WORDED}
    study = change(running, "later", PatchStudyBody.model_validate(patch).changes()).view
    assert (study.parameters[0].unit, study.parameters[0].label) == ("°C", "Bath temperature")
    assert (study.quantities["value"].unit, study.space_version) == ("%", None)
    rest = [suggest_and_observe(running, study, 6) for study in ("plain", "worded", "later")]
    assert first[0] == first[1] == first[2]
    assert rest[0] == rest[1] == rest[2]


def test_labels_and_units_are_part_of_the_log(database: Database, clock: ManualClock, running: Service) -> None:
    """They are changed and removed, before and after an edit of the space, with replay, doctor, export and import."""
    create(running, definition(parameters=WORDED))
    suggest_and_observe(running, "s", 6)
    edit(running, {**X, "unit": "K"})  # does not count as an edit of the space
    assert get(running, "s").space_version is None
    edit(running, {**X, "high": 3, "unit": "K"})
    change(running, "s", {"quantities": {"value": {"unit": "g"}}})
    edit(running, Y)
    suggest_and_observe(running, "s", 6)
    study = get(running, "s")
    assert [(each.unit, each.label) for each in study.parameters] == [("K", None), (None, None)]
    assert (study.space_version, study.quantities["value"].unit) == (2, "g")
    assert_log_is_complete(database, clock, running)
    imported = get(running, "s")
    assert (imported.parameters, imported.quantities) == (study.parameters, study.quantities)


def test_results_far_beyond_natural_bounds_are_rejected_and_change_nothing(running: Service) -> None:
    create(running, definition(metrics=["purity"], quantities={"value": YIELD, "purity": {"low": 0, "high": 1}}))
    point = {"x": 0.0, "y": 1.0}
    for value, purity, pointer, told in (
        (201.0, 0.5, "/value", "is 201, far above the possible values, 0 to 100 %; correct it, or change these bounds"),
        (-101.0, 0.5, "/value", "is -101, far below the possible values, 0 to 100 %"),
        (50.0, 2.5, "/metrics/purity", "is 2.5, far above the possible values, 0 to 1"),
    ):
        with pytest.raises(Invalid) as refused:
            observe(running, "s", Value(value, parameters=point, metrics={"purity": purity}))
        (fault,) = refused.value.errors
        assert fault.pointer == pointer
        assert told in fault.detail
    observe(running, "s", Value(100.0, parameters=point, metrics={"purity": 1.0}))
    with pytest.raises(Invalid, match="far above"):
        correct(running, "s", 1, {"value": 824})
    assert [each.value for each in list_observations(running, "s", 0, 9).items] == [100.0]


def test_a_result_that_breaks_a_bound_is_no_reason_to_stop_however_good(running: Service) -> None:
    bounds = [{"metric": "purity", "lower": 0.9}]
    quantities = {"value": YIELD}
    wanted = definition(direction="maximize", metrics=["purity"], quantities=quantities, outcome_constraints=bounds)
    create(running, wanted)
    *others, nearest = suggest(running, "s", Ask(10)).view.trials
    for trial in others:
        observe(running, "s", Value(90.0 + trial.number, trial.number, metrics={"purity": 0.5}))
    observe(running, "s", Value(101.0, nearest.number, metrics={"purity": 0.6}))
    assert "can stop" not in assessment(running, "s").outlook.text


@pytest.mark.long
def test_noise_may_move_results_beyond_natural_bounds(database: Database, clock: ManualClock, running: Service) -> None:
    """They are stored and named, and neither the bounds nor the possible gain exceed the bounds."""
    create(
        running,
        definition(direction="maximize", metrics=["purity"], quantities={"value": YIELD, "purity": {"high": 1}}),
    )
    (trial,) = suggest(running, "s", Ask()).view.trials
    told = observe(running, "s", Value(102.0, trial.number, metrics={"purity": 7.0})).view
    assert told.observation is not None
    assert told.observation.beyond_natural_bounds == ["value", "purity"]
    assert stored(running, "s", 1).warning == (
        "Yield is above the natural bound of 100.0\xa0%: check the number. "
        "purity is above the natural bound of 1: check the number."
    )
    for value in (99.0, 98.0, 100.5, 97.0, 101.0, 99.5, 98.5, 96.0, 97.5, 99.2, 98.2):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(value, trial.number, metrics={"purity": 0.5}))
    assessed = assessment(running, "s")
    assert assessed.outlook.gap == 0.0
    study = get(running, "s")
    assert (study.gap, study.quantities["value"].high) == (0.0, 100.0)
    correct(running, "s", 1, {"value": 99.9, "metrics": {"purity": 0.9}})
    assert list_observations(running, "s", 0, 9).items[0].beyond_natural_bounds == []
    assert_log_is_complete(database, clock, running)


def test_repeated_result_is_accepted_after_bounds_have_changed(running: Service) -> None:
    create(running, definition())
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(500.0, trial.number))
    change(running, "s", {"quantities": {"value": {"high": 100}}})
    observe(running, "s", Value(500.0, trial.number))
    assert get(running, "s").counts.observations == 1


def test_only_measured_quantities_can_have_a_name_and_a_unit(running: Service) -> None:
    two = [{"metric": "cost_of_it", "direction": "minimize"}, {"metric": "size", "direction": "maximize"}]
    for settings, known in (
        ({"metrics": ["purity"], "quantities": {"puritty": YIELD}}, "value, purity; did you mean 'purity'"),
        ({"direction": None, "objectives": two, "quantities": {"value": YIELD}}, "it measures cost_of_it, size"),
        ({"quantities": {"value": {"low": 3, "high": 3}}}, "must be greater than low"),
        ({"quantities": {"value": {"digits": -1}}}, "greater than or equal to 0"),
    ):
        with pytest.raises(ValidationError, match=known):
            definition(**settings)
    create(running, definition())
    with pytest.raises(Invalid, match="does not measure"):
        change(running, "s", {"quantities": {"purity": {"unit": "%"}}})
    assert get(running, "s").quantities == {}


def test_definition_without_labels_opens_a_study_that_has_them(running: Service) -> None:
    create(running, definition())
    edit(running, WORDED[0])
    change(running, "s", {"quantities": {"value": YIELD}})
    assert not create(running, definition()).created
    assert not create(running, definition(parameters=[WORDED[0], Y], quantities={"value": YIELD})).created
    with pytest.raises(StudyExists, match=r"quantities\.value\.unit is '%', not 'g'"):
        create(running, definition(quantities={"value": {**YIELD, "unit": "g"}}))
    with pytest.raises(StudyExists, match=r"parameter 'x': unit is '°C', not 'K'"):
        create(running, definition(parameters=[{**X, "unit": "K"}, Y]))


def test_sentences_use_names_and_units_and_respect_natural_bounds(running: Service) -> None:
    """For a yield close to 100 %, the model may predict more than 100 %, but sentences never say so."""
    create(running, definition(direction="maximize", parameters=WORDED, quantities={"value": YIELD}))
    for _ in range(12):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(min(100.0, 99.9 - (trial.parameters["x"] - 2) ** 2), trial.number))
    assessed = assessment(running, "s")
    assert "Yield: the best of 12 results is " in assessed.progress.text
    assert re.search(r"is \d+\.\d\s%", assessed.progress.text)
    assert assessed.latest is not None
    assert "%" in assessed.latest.text
    (trial,) = suggest(running, "s", Ask(fixed={"x": 2.0})).view.trials
    decision = why(running, "s", trial.number).decision
    assert decision is not None
    assert "Held fixed: Bath temperature = 2\xa0°C." in decision.in_words
    assert re.search(r"\d\s% \(90%: [\d.e-]+ to [\d.]+\s%\)", decision.in_words)
    expected = [
        float(found)
        for text in (assessed.progress.text, assessed.latest.text, decision.in_words)
        for found in re.findall(r"to ([\d.]+)\s%\)", text)
    ]
    assert expected
    assert max(expected) <= 100.0


def test_predictions_are_clipped_to_the_natural_bounds() -> None:
    quantity = Quantity.model_validate(YIELD)
    digits = Digits(0.0, 100.0, 3, quantity)
    assert digits.estimate(104.23, 3.1) == "100.0\xa0±\xa03.1\xa0%"
    assert digits.estimate(-0.5, 0.0) == "0.0\xa0%"
    assert (digits.result(82.44), digits.difference(1.234)) == ("82.4\xa0%", "1.2\xa0percentage points")
    event = suggested("polish", {"mean": 104.23, "std": 3.1, "lcb": 99.13, "ucb": 109.33})
    sentence = in_words(event, Known(sign=1.0, best=best(99.0), names=Labels({}, {"value": quantity})))
    assert "The model expected 100.0\xa0% (90%: 99.1 to 100.0\xa0%) here." in sentence
    assert "Probably better than the best result until then, 99.0\xa0% (95% chance)." in sentence


def suggested(phase: Phase, expected: StoredPrediction) -> SuggestedRow:
    """The event of a trial without a cell and fixed values."""
    payload: Suggested = {
        "parameters": {},
        "cell": None,
        "origin": "policy",
        "worker": None,
        "capped": False,
        "phase": phase,
        "expected": expected,
        "fixed": None,
    }
    return EventOf("s", 2, "suggested", 1, payload, datetime(2026, 1, 1, tzinfo=UTC))


def best(value: float) -> BestResult:
    return {"parameters": {}, "value": value, "trial": None}


@pytest.mark.parametrize("size", [1e-3, 1e-8, 1e-12])
def test_the_words_for_a_trial_have_the_digits_of_small_results(size: float) -> None:
    event = suggested("search", {"mean": -2.5 * size, "std": 0.5 * size, "lcb": -3.5 * size, "ucb": -1.5 * size})
    sentence = in_words(event, Known(sign=1.0, best=best(-4.5 * size)))
    found = [float(as_typed(each)) for each in re.findall(r"\N{MINUS SIGN}[\d.]+(?:×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", sentence)]
    assert found == pytest.approx([-2.5 * size, -3.5 * size, -1.5 * size, -4.5 * size])
    assert "-" not in sentence

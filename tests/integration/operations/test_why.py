"""The inputs from which each trial was suggested."""

from __future__ import annotations

import pytest

from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import TrialNotFound
from adabkb_service.operations.model.novelty import novelty
from adabkb_service.operations.model.predict import row
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.words.labels import Labels
from tests.integration.operations.busy import busy_study
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, observe, suggest
from tests.samples import some


def test_why_reports_the_inputs_and_the_history_of_a_trial(running: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    # Requested together with trial 9, after trial 7 failed and two results were corrected.
    found = why(running, "s", 10)
    decision = found.decision
    assert decision is not None
    assert (decision.pending, decision.failed, decision.results) == ([9], [7], 6)
    assert decision.best is not None
    assert (decision.best.value, decision.best.trial) == (0.5, 4), "the best result so far was excluded"
    assert decision.random.model_dump() == {"seed": 3, "step": 8}
    assert found.trial.cell is not None
    assert decision.path[-1] == found.trial.cell
    assert [cell.depth for cell in decision.path] == list(range(len(decision.path)))
    assert decision.revision == found.events[0].seq - 1
    first, again = ["suggested", "expired", "leased", "expired", "failed"], ["retried", "leased", "failed"]
    assert [event.kind for event in found.events] == [*first, *again]


def test_queued_trial_has_no_decision(running: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    found = why(running, "s", 8)
    assert found.decision is None
    assert [event.kind for event in found.events] == ["queued", "leased", "observed", "corrected"]


@pytest.mark.parametrize("direction", some(["minimize", "maximize"], ["minimize"]))
def test_decision_has_its_phase_and_the_models_expectation(running: Service, direction: str) -> None:
    """In the objective's units and sign; near the optimum, the phase says so."""
    sign = 1.0 if direction == "minimize" else -1.0
    create(running, definition(direction=direction))
    for _ in range(25):
        (trial,) = suggest(running, "s", Ask()).view.trials
        value = (trial.parameters["x"] - 0.5) ** 2 + (trial.parameters["y"] - 1.0) ** 2 / 100.0
        observe(running, "s", Value(sign * (value + 1.0), trial.number))
    trials = [read.trial(running, "s", number) for number in range(1, 26)]
    assert [trial.phase for trial in trials[:4]] == ["start"] * 4
    assert {trial.phase for trial in trials[4:]} >= {"search", "polish"}
    assert [trial.expected for trial in trials[:2]] == [None] * 2  # one result has no range, so there is no interval
    assert trials[2].expected is not None
    late = trials[-1].expected
    assert late is not None
    assert late.lcb is not None
    assert late.mean is not None
    assert late.ucb is not None
    assert late.std is not None
    assert late.lcb <= late.mean <= late.ucb
    assert abs(sign * late.mean - 1.0) < 0.5
    decision = why(running, "s", 25).decision
    assert decision is not None
    assert decision.distance is not None
    assert 0.0 < decision.distance < 0.5
    assert decision.gain is not None
    assert 0.0 <= decision.gain < late.std + 0.5
    assert "than the best result until then" in decision.in_words


def test_distance_is_the_largest_parameter_difference(running: Service) -> None:
    kinds = [
        {"name": "x", "kind": "float", "low": 0, "high": 10},
        {"name": "c", "kind": "categorical", "choices": ["a", "b"]},
    ]
    create(running, definition(parameters=kinds))
    (trial,) = suggest(running, "s", Ask()).view.trials
    decision = why(running, "s", 1).decision
    assert decision is not None
    assert (decision.distance, decision.gain) == (None, None)
    observe(running, "s", Value(1.0, trial.number, parameters={"x": 1.0, "c": "a"}))
    suggest(running, "s", Ask())
    second = why(running, "s", 2)
    assert second.decision is not None
    points = [trial.parameters, {"x": 1.0, "c": "a"}]
    point = second.trial.parameters
    apart = [max(abs(point["x"] - each["x"]) / 10.0, float(point["c"] != each["c"])) for each in points]
    assert second.decision.distance == pytest.approx(min(apart))


def test_unknown_trial_raises_not_found(running: Service, study: str) -> None:
    with pytest.raises(TrialNotFound):
        why(running, study, 1)
    assert read.list_events(running, study, 0, 10).items[0].kind == "created"


def test_reason_names_what_was_never_tried(running: Service) -> None:
    """A choice, otherwise a combination of choices, otherwise a range of a number."""
    parameters = [
        {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "SPhos"]},
        {"name": "base", "kind": "categorical", "choices": ["KOAc", "CsOAc"]},
        {"name": "heat", "kind": "float", "low": 0, "high": 100, "unit": "°C", "label": "Temperature"},
    ]
    create(running, definition(parameters=parameters))
    stored = definition_of(row(running, "s").definition)
    space, names = stored.space(), Labels.of(stored)
    earlier = [{"ligand": "XPhos", "base": "KOAc", "heat": 50.0}]

    def new(ligand: str, base: str, heat: float) -> str:
        return novelty(space, {"ligand": ligand, "base": base, "heat": heat}, earlier, names)

    assert new("SPhos", "KOAc", 50.0) == "ligand SPhos had not been tried before."
    earlier.append({"ligand": "SPhos", "base": "CsOAc", "heat": 50.0})
    assert new("SPhos", "KOAc", 50.0) == "ligand SPhos had not been tried with base KOAc before."
    assert new("SPhos", "CsOAc", 80.0) == "The nearest Temperature tried before was 50\xa0°C."
    assert new("SPhos", "CsOAc", 55.0) == ""
    assert novelty(space, earlier[0], [], names) == ""

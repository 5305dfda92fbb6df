"""The definition of a study in words has labels and units."""

from __future__ import annotations

from typing import Any

from adabkb_service.contract.settings import CHANGEABLE, SETTINGS
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create, get
from adabkb_service.operations.words.definition_in_words import belief, rules
from adabkb_service.operations.words.settings_in_words import changed

DEFINITION: dict[str, Any] = {
    "id": "s",
    "direction": "maximize",
    "parameters": [{"name": "t", "kind": "float", "low": 20, "high": 90, "unit": "°C"}],
    "prior": {"t": {"around": 60, "width": 5}},
    "outcome_constraints": [{"metric": "purity", "lower": 95}],
    "tolerance": 0.5,
    "quantities": {"value": {"label": "Yield", "unit": "%"}, "purity": {"label": "Purity", "unit": "g/L"}},
}


def test_bounds_tolerances_and_beliefs_have_their_units(running: Service) -> None:
    create(running, StudyDefinition.model_validate(DEFINITION))
    study = running.do(get("s")).view
    told = list(rules(study))
    assert ("Measured: Purity", "at least 95\N{NO-BREAK SPACE}g/L") in told
    less = "when further trials gain at most 0.5\N{NO-BREAK SPACE}percentage points, according to the model"
    assert ("Ends early", less) in told
    (parameter,) = study.parameters
    assert belief(parameter, study.prior["t"]) == "60\N{NO-BREAK SPACE}°C, ± 5\N{NO-BREAK SPACE}°C"


def test_parameters_of_mixtures_and_plates_are_named_by_their_labels(running: Service) -> None:
    shares = [{"name": each, "kind": "float", "low": 0, "high": 1} for each in ("w", "e")]
    given = {
        "parameters": [
            {**DEFINITION["parameters"][0], "label": "Temperature"},
            {**shares[0], "label": "Water"},
            shares[1],
        ],
        "mixtures": [{"parameters": ["w", "e"], "total": 1}],
        "plates": {"size": 4, "shared": ["t"]},
    }
    create(running, StudyDefinition.model_validate({**DEFINITION, **given}))
    told = dict(rules(running.do(get("s")).view))
    assert told["Mixture"] == "Water + e = 1"
    assert told["Plates"] == "of 4 trials with the same Temperature; the offset of each plate is learned"


def test_sentences_have_words_for_every_changeable_setting() -> None:
    have_sentences = {"constraints", "outcome_constraints", "quantities"}
    assert {name for name in CHANGEABLE if not SETTINGS[name].words} == have_sentences


def test_changed_settings_have_labels_and_units(running: Service) -> None:
    create(running, StudyDefinition.model_validate(DEFINITION))
    study = running.do(get("s")).view
    changes = {
        "lease_seconds": 86400.0,
        "pending_limit": None,
        "tolerance": 2.0,
        "stop": {"gap_share_below": 0.05, "no_gain_for": 9},
        "budget": {"plates": 1},
        "parameters": {"t": {"unit": "K"}},
    }
    assert changed(changes, study.quantities) == (
        "reservation = 1 d, unfinished trials at a time = none, "
        "gain that does not matter = 2\N{NO-BREAK SPACE}percentage points, "
        "rules for ending early = gain by the model, as a share of the range of the results: 5\N{NO-BREAK SPACE}%, "
        "results without an improvement: 9, budget = 1 plate, names and units of parameters"
    )

"""Studies with a prior on the optimum: invalid priors are rejected; first trials, and replays."""

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
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.test_fixed import EVERY_KIND
from tests.integration.operations.verbs import Ask, Value, change, observe, suggest

PRIOR: dict[str, Any] = {
    "x": {"around": 1.5, "width": 0.2},
    "lr": {"around": 0.001, "factor": 3.0},
    "n": {"around": 11.0, "width": 4.0},
    "widths": {"weights": {"true": 2.0, "[64, 32]": 5.0, "none": 3.0}},
    "bias": {"weights": {"true": 4.0}},
}


def test_trials_begin_at_the_prior_and_the_study_is_replayed(
    database: Database, clock: ManualClock, running: Service
) -> None:
    create(running, definition(parameters=EVERY_KIND, prior=PRIOR))
    (first,) = suggest(running, "s", Ask()).view.trials
    assert first.parameters["x"] == pytest.approx(1.5, abs=0.2)
    assert 0.0002 < first.parameters["lr"] < 0.005
    assert abs(first.parameters["n"] - 11) <= 4
    assert (first.parameters["widths"], first.parameters["bias"]) == ([64, 32], True)
    observe(running, "s", Value(1.0, first.number))
    for fixed in [None, {"drop": 0.6}, None]:
        for trial in suggest(running, "s", Ask(2, fixed=fixed)).view.trials:
            observe(running, "s", Value(trial.parameters["x"], trial.number))
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []
    lines = list(json_lines(running, "s"))
    before = suggest(running, "s", Ask()).view.trials[0].parameters
    delete(running, "s")
    import_study(database, lines)
    assert suggest(Service(database, clock=clock), "s", Ask()).view.trials[0].parameters == before


def test_prior_is_part_of_the_definition(
    running: Service,
) -> None:
    plain = create(running, definition(id="plain")).view
    assert "prior" not in plain.model_dump(mode="json")
    prior = {"x": {"around": 0.1, "width": 0.1}}
    assert create(running, definition(prior=prior)).view.model_dump(mode="json")["prior"] == prior
    create(running, definition(prior=prior))
    with pytest.raises(StudyExists, match=r"prior\.x\.around is 0.1, not 0.2"):
        create(running, definition(prior={"x": {"around": 0.2, "width": 0.1}}))


def test_edit_keeps_the_prior_in_parameter_units(database: Database, clock: ManualClock, running: Service) -> None:
    """The first point after the edit is that of a study with the wider space from the start.

    A choice may be removed with its weight, but a bound must not exclude the value that is believed best.
    """
    kind = {"name": "kind", "kind": "categorical", "choices": ["a", "b", "c"]}
    prior = {"x": {"around": 0.1, "width": 0.1}, "kind": {"weights": {"a": 2, "b": 9}}}
    x = {"name": "x", "kind": "float", "low": -1, "high": 2}
    wide, fewer = {**x, "low": -50, "high": 50}, {**kind, "choices": ["a", "c"]}
    create(running, definition(parameters=[x, kind], prior=prior))
    with pytest.raises(Invalid, match=r"prior\.x\.around, which is 0.1, outside"):
        change(running, "s", {"parameters": [{**x, "low": 0.5}]})
    change(running, "s", {"parameters": [wide, fewer]})
    create(running, definition(id="wide", parameters=[wide, fewer], prior={**prior, "kind": {"weights": {"a": 2}}}))
    for number in range(4):
        served = running if number % 2 else Service(database, clock=clock)
        (edited,), (other,) = (suggest(served, study, Ask()).view.trials for study in ("s", "wide"))
        assert edited.parameters == other.parameters
        assert number != 0 or (abs(edited.parameters["x"] - 0.1) < 0.2 and edited.parameters["kind"] == "a")
        for study, trial in (("s", edited), ("wide", other)):
            observe(served, study, Value(abs(trial.parameters["x"] - 0.2), trial.number))
    assert replay(running, "s").diverged == []


@pytest.mark.parametrize(
    ("prior", "place", "sentence"),
    [
        ({"lrr": {"around": 0.1, "factor": 10}}, ("lrr",), "did you mean lr?"),
        ({"solvent": {"weights": {"a": 1}}}, ("solvent",), "is about a fixed parameter"),
        ({"lr": {"around": 10, "factor": 10}}, ("lr", "around"), "outside"),
        ({"lr": {"around": 0.1}}, ("lr",), "has no 'factor', which a float on a log scale needs"),
        ({"lr": {"around": 0.1, "factor": 10, "width": 1}}, ("lr", "width"), "float on a log scale; give 'factor'"),
        ({"n": {"around": 3, "factor": 2, "width": 1}}, ("n", "factor"), "an int on a linear scale; give 'width'"),
        ({"size": {"around": 3}}, ("size", "around"), "does not apply to choices; give 'weights'"),
        ({"size": {}}, ("size",), "has no 'weights'"),
        ({"size": {"weights": {"XL": 3}}}, ("size", "weights", "XL"), "is not a choice"),
    ],
)
def test_invalid_priors_are_rejected_with_their_field(
    prior: dict[str, Any], place: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        definition(parameters=EVERY_KIND, prior=prior)
    assert any(error["loc"] == ("prior", *place) and sentence in error["msg"] for error in refusal.value.errors())


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        ("x", "width", -1.0, 2.0),
        ("x", "width", -1e308, 1.5e308),
        ("lr", "factor", 1e-5, 1.0),
        ("lr", "factor", 1e-300, 1e300),
        ("lr", "factor", 1.0, 1.01),
    ],
)
def test_refused_width_names_the_smallest_one_that_is_accepted(name: str, field: str, low: float, high: float) -> None:
    scale = "log" if field == "factor" else "linear"
    parameters = [{"name": name, "kind": "float", "low": low, "high": high, "scale": scale}]
    with pytest.raises(ValidationError) as refusal:
        definition(parameters=parameters, prior={name: {"around": high, field: 1 + 1e-12 if scale == "log" else 1e-9}})
    (message,) = [error["msg"] for error in refusal.value.errors()]
    smallest = float(message.removeprefix("is too narrow; it must be at least "))
    definition(parameters=parameters, prior={name: {"around": high, field: smallest}})
    with pytest.raises(ValidationError, match="too narrow"):
        definition(parameters=parameters, prior={name: {"around": high, field: smallest * (1 - 1e-6)}})


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "auto"])
def test_systems_without_priors_reject_them(system: str) -> None:
    with pytest.raises(ValidationError, match="the profile auto can use it"):
        definition(prior={"x": {"around": 0.1, "width": 0.1}}, algorithm=SYSTEMS[system])

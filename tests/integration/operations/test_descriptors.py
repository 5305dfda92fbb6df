"""Studies whose choices have descriptors: log, edits, and features that cannot be combined with them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.model import Learned
from adabkb_service.errors import Invalid
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model import predict
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, edit, get, observe, suggest

SOLVENTS = {
    "name": "solvent",
    "kind": "categorical",
    "choices": ["water", "ethanol", "hexane", "toluene"],
    "descriptors": {"polarity": [10.2, 5.2, 0.1, 2.4], "boiling_point": [100, 78, 69, 111]},
}
MORE = {
    **SOLVENTS,
    "choices": [*SOLVENTS["choices"], "DMF"],
    "descriptors": {"polarity": [10.2, 5.2, 0.1, 2.4, 6.4], "boiling_point": [100, 78, 69, 111, 153]},
}
X = {"name": "x", "kind": "float", "low": 0, "high": 1}
BEST = {"water": 3.0, "ethanol": 2.0, "hexane": 0.0, "toluene": 0.5, "DMF": 5.0}


def evaluate(running: Service, count: int) -> list[dict[str, Any]]:
    points = []
    for _ in range(count):
        (trial,) = suggest(running, "s", Ask()).view.trials
        value = -BEST[trial.parameters["solvent"]] + (trial.parameters["x"] - 0.4) ** 2
        observe(running, "s", Value(value, trial.number))
        points.append(dict(trial.parameters))
    return points


@pytest.mark.long
def test_choice_can_be_added_with_its_descriptors(database: Database, clock: ManualClock, running: Service) -> None:
    """Earlier results still count, and the new choice is tried. After replay, doctor, export and import, the next
    suggestion is the same.
    """
    create(running, definition(parameters=[X, SOLVENTS]))
    evaluate(running, 24)
    study = edit(running, MORE)
    assert study.parameters[1].descriptors["polarity"] == [10.2, 5.2, 0.1, 2.4, 6.4]
    assert (study.space_version, study.counts.observations) == (2, 24)
    assert "DMF" in {point["solvent"] for point in evaluate(running, 8)}
    assert_log_is_complete(database, clock, running)


def test_descriptors_can_be_edited_and_removed(running: Service) -> None:
    create(running, definition(parameters=[X, SOLVENTS]))
    evaluate(running, 6)
    other = {**SOLVENTS, "descriptors": {"polarity": [9.0, 4.3, 0.0, 2.4]}}
    assert edit(running, other).parameters[1].descriptors == other["descriptors"]
    evaluate(running, 3)
    plain = {name: value for name, value in SOLVENTS.items() if name != "descriptors"}
    assert edit(running, plain).parameters[1].descriptors == {}
    evaluate(running, 3)
    assert get(running, "s").counts.observations == 12


def test_added_choice_without_descriptors_is_rejected(running: Service) -> None:
    create(running, definition(parameters=[X, SOLVENTS]))
    with pytest.raises((Invalid, ValidationError), match="4 numbers in 'polarity', but there are 5 choices"):
        edit(running, {**SOLVENTS, "choices": MORE["choices"]})


def test_export_with_the_wrong_number_of_components_is_rejected(database: Database, running: Service) -> None:
    """The model would read beyond the end of an array."""
    create(running, definition(parameters=[X, SOLVENTS]))
    evaluate(running, 8)
    lines = list(json_lines(running, "s"))
    delete(running, "s")
    (place,) = [index for index, line in enumerate(lines) if '"components"' in line]
    head, tail = lines[place].split('"components":', 1)
    forged = f'{head}"components":[0.5]{tail[tail.index("]") + 1 :]}'
    with pytest.raises(Invalid, match="the descriptors have 2 components, not 1"):
        import_study(database, [*lines[:place], forged, *lines[place + 1 :]])


@pytest.mark.parametrize(
    "algorithm",
    [{"kind": "ada-bkb", "profile": "paper"}, {"kind": "ada-bbkb"}, {"kind": "gp-threds", "lowest": 0, "highest": 9}],
    ids=lambda algorithm: algorithm["kind"] + algorithm.get("profile", ""),
)
def test_systems_without_descriptors_reject_them(running: Service, algorithm: dict[str, Any]) -> None:
    with pytest.raises((Invalid, ValidationError), match="does not use descriptors; leave the algorithm out"):
        create(running, definition(parameters=[X, SOLVENTS], algorithm=algorithm))


def test_study_with_descriptors_reports_its_model(running: Service) -> None:
    """A lengthscale for each parameter, predictions and importances, as for any study."""
    create(running, definition(parameters=[X, SOLVENTS], metrics=["colour"]))
    for _ in range(9):
        (trial,) = suggest(running, "s", Ask()).view.trials
        solvent = trial.parameters["solvent"]
        observe(running, "s", Value(-BEST[solvent], trial.number, metrics={"colour": BEST[solvent]}))
    found = predict.model(running, "s")
    assert isinstance(found.learned, Learned)
    assert (found.observations, len(found.learned.lengthscales)) == (9, 2)
    best = predict.recommendation(running, "s").model
    assert best is not None
    assert best.parameters["solvent"] == "water"

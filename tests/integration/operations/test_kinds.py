"""Every system supports every kind of value: lists, null and fixed parameters besides numbers."""

from __future__ import annotations

from typing import Any

from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from tests.conftest import on_either
from tests.integration.operations.conftest import SYSTEMS, definition
from tests.integration.operations.verbs import Ask, Failure, Value, get, observe, suggest

FLOATS: list[dict[str, Any]] = [
    {"name": "x", "kind": "float", "low": -1, "high": 2},
    {"name": "layers", "kind": "fixed", "value": [64, None]},
]
MIXED: list[dict[str, Any]] = [
    *FLOATS,
    {"name": "rate", "kind": "float", "low": 0, "high": 1, "step": 0.25},
    {"name": "widths", "kind": "categorical", "choices": [[1], [2, 3], None, "wide"]},
]


@on_either("system", SYSTEMS, ["auto", "paper", "gp-threds"])
def test_every_system_supports_lists_null_and_fixed_values(running: Service, system: str) -> None:
    parameters = FLOATS if system == "gp-threds" else MIXED
    create(running, definition(parameters=parameters, algorithm=SYSTEMS[system]))
    for value in range(6):
        (trial,) = suggest(running, "s", Ask()).view.trials
        assert trial.origin == "policy"
        assert list(trial.parameters) == [parameter["name"] for parameter in parameters]
        assert trial.parameters["layers"] == [64, None]
        observe(running, "s", Value(float(value % 3), trial.number))


def test_gp_threds_study_ends_when_all_points_of_a_test_have_failed(running: Service) -> None:
    """Each of the 9 points of the first test fails once; none is issued again."""
    create(running, definition(parameters=FLOATS, algorithm=SYSTEMS["gp-threds"], failure_limit=None))
    seen = []
    while trials := suggest(running, "s", Ask()).view.trials:
        seen.append(trials[0].parameters["x"])
        observe(running, "s", Failure(trials[0].number, reason="diverged"))
        assert len(seen) <= 9
    assert len(set(seen)) == 9
    assert (get(running, "s").state, get(running, "s").reason) == ("complete", "exhausted")

"""The rule no_gain_for with several objectives: a gain is an increase of the hypervolume."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.errors import Invalid
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Ask, Value, change, get, observe, suggest

SEVERAL: dict[str, Any] = {
    "direction": None,
    "objectives": [{"metric": "error", "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}],
}


def report_results(running: Service, *results: tuple[float, float], **more: float) -> None:
    """Results of trials, each an error and a speed."""
    for error, speed in results:
        (trial,) = suggest(running, "s", Ask()).view.trials
        metrics = {"error": error, "speed": speed, **more}
        observe(running, "s", Value(None, trial.number, metrics=metrics))  # type: ignore[arg-type]


def reason(running: Service) -> str | None:
    """Why no trial is issued, once the model has processed all results."""
    return suggest(running, "s", Ask()).view.reason


def test_study_ends_when_the_front_has_not_grown(running: Service, database: Database) -> None:
    create(running, definition(**SEVERAL, stop={"no_gain_for": 3}))
    report_results(running, (9.0, 1.0), (5.0, 5.0), (3.0, 4.0), (8.0, 8.0), (5.0, 5.0), (6.0, 4.0))
    assert get(running, "s").state == "running"
    report_results(running, (4.0, 3.0))
    assert reason(running) == "no_gain"
    assert get(running, "s").state == "complete"
    lines = list(json_lines(running, "s"))
    delete(running, "s")
    import_study(database, lines)
    assert get(running, "s").reason == "no_gain"
    change(running, "s", {"stop": {"no_gain_for": 4}})
    report_results(running, (1.0, 9.0))
    assert get(running, "s").state == "running"


@pytest.mark.long
def test_infeasible_and_dominated_results_are_not_gains(running: Service) -> None:
    several = {**SEVERAL, "objectives": [{**SEVERAL["objectives"][0], "reference": 7.0}, SEVERAL["objectives"][1]]}
    bounds = [{"metric": "mass", "upper": 1.0}]
    create(running, definition(**several, outcome_constraints=bounds, stop={"no_gain_for": 2}))
    report_results(running, (2.0, 2.0), (1.0, 3.0), mass=9.0)
    assert reason(running) is None, "nothing counts before the first gain"
    report_results(running, (5.0, 1.0), (4.0, 2.0), mass=0.5)
    report_results(running, (1.0, 9.0), mass=9.0)
    report_results(running, (8.0, 9.0), mass=0.5)
    assert reason(running) == "no_gain"


def test_gap_rule_is_rejected_for_several_objectives(running: Service) -> None:
    with pytest.raises(ValidationError, match="which have no gap; use no_gain_for"):
        definition(**SEVERAL, stop={"gap_share_below": 0.1})
    create(running, definition(**SEVERAL))
    with pytest.raises(Invalid, match="which have no gap; use no_gain_for"):
        change(running, "s", {"stop": {"gap_share_below": 0.1}})

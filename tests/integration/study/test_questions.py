"""Questions to a model are about the study as stored now, whoever has written it."""

from __future__ import annotations

import pytest

from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.errors import StudyNotFound
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model import predict
from adabkb_service.operations.service import Service
from adabkb_service.storage.database import Database
from adabkb_service.timeouts import Timeouts
from tests.integration.operations.conftest import ManualClock
from tests.integration.operations.verbs import Value, change, observe

POINT = {"x": 0.5, "y": 1.0}


@pytest.fixture
def other(running: Service, database: Database, clock: ManualClock, study: str) -> Service:
    """Another server, which has the study in memory with one result."""
    observe(running, study, Value(1.0, parameters=POINT))
    service = Service(database, clock=clock, timeouts=Timeouts(contention=0.5))
    assert predict.model(service, study).observations == 1
    return service


def test_results_that_another_server_stored_are_in_the_answer(running: Service, other: Service, study: str) -> None:
    observe(running, study, Value(2.0, parameters={"x": -0.5, "y": 1.0}))
    assert predict.model(other, study).observations == 2
    observe(running, study, Value(-7.0, parameters={"x": 0.75, "y": 1.0}))
    observed = predict.recommendation(other, study).observed
    assert observed is not None
    assert observed.value == -7.0


def test_prediction_follows_an_edit_by_another_server(running: Service, other: Service, study: str) -> None:
    wider = [
        {"name": "x", "kind": "float", "low": -1, "high": 9},
        {"name": "y", "kind": "float", "low": 0.01, "high": 100, "scale": "log"},
    ]
    change(running, study, PatchStudyBody.model_validate({"parameters": wider}).changes())
    assert predict.predict(other, study, [{"x": 8.0, "y": 1.0}]).predictions


def test_study_that_another_server_deleted_is_not_found(running: Service, other: Service, study: str) -> None:
    delete(running, study)
    with pytest.raises(StudyNotFound):
        other.ask(study, "model_stats")

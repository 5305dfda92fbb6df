"""The typed settings for editors and type checkers agree with the server's."""

from __future__ import annotations

import inspect

import pytest
from pydantic import BaseModel

from adabkb_client import (
    AshaRule,
    AsyncClient,
    AsyncStudy,
    Belief,
    Client,
    CostBudget,
    MedianRule,
    OutcomeConstraint,
    PatienceRule,
    Quantity,
    Stop,
    Study,
    StudyChanges,
    StudyObjective,
    StudySettings,
)
from adabkb_service.contract import cost, early_stopping, metrics, objectives, prior, quantities, stop
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.stored import REPLACED
from adabkb_service.contract.study import CHANGEABLE, WORDED, StudyDefinition


def test_a_study_has_these_settings_beside_the_arguments_of_create_study() -> None:
    arguments = {"id", "parameters", "direction"}
    assert set(StudySettings.__annotations__) == StudyDefinition.model_fields.keys() - arguments


def test_these_of_them_can_be_changed() -> None:
    arguments = {"parameters", "catalogues", "defaults", *REPLACED}
    paused = {"state"}
    assert set(StudyChanges.__annotations__) == PatchStudyBody.model_fields.keys() - arguments - paused
    assert set(StudyChanges.__annotations__) == {*CHANGEABLE, *WORDED}


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (CostBudget, cost.CostBudget),
        (Stop, stop.Stop),
        (MedianRule, early_stopping.MedianRule),
        (AshaRule, early_stopping.AshaRule),
        (PatienceRule, early_stopping.PatienceRule),
        (OutcomeConstraint, metrics.OutcomeConstraint),
        (StudyObjective, objectives.Objective),
        (Belief, prior.Belief),
        (Quantity, quantities.Quantity),
    ],
)
def test_what_a_setting_consists_of_is_what_the_server_takes(here: type, there: type[BaseModel]) -> None:
    fields = there.model_fields
    assert set(inspect.get_annotations(here)) == set(fields)
    assert vars(here)["__required_keys__"] == {name for name, field in fields.items() if field.is_required()}


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (Client.create_study, StudySettings),
        (AsyncClient.create_study, StudySettings),
        (Study.update, StudyChanges),
        (AsyncStudy.update, StudyChanges),
    ],
)
def test_a_notebook_sees_each_setting_as_an_argument(method: object, settings: type) -> None:
    """Notebooks complete the settings from the signature."""
    assert callable(method)
    parameters = inspect.signature(method).parameters
    assert settings.__annotations__.keys() <= parameters.keys()
    assert all(each.kind is not each.VAR_KEYWORD for each in parameters.values())

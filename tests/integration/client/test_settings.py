"""The typed settings for editors and type checkers agree with the server's."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any, Never, get_args, get_type_hints

import pytest
from pydantic import BaseModel

from adabkb_client import (
    Algorithm,
    AshaRule,
    AsyncClient,
    AsyncStudy,
    Belief,
    Categorical,
    Client,
    CostBudget,
    EarlyStopping,
    Float,
    Int,
    MedianRule,
    OutcomeConstraint,
    Parameter,
    PatienceRule,
    PlateBudget,
    Plates,
    Quantity,
    Stop,
    Study,
    StudyChanges,
    StudyObjective,
    StudySettings,
)
from adabkb_service.contract import budget, cost, early_stopping, metrics, objectives, plates, prior, quantities, stop
from adabkb_service.contract.algorithms import KINDS, PROFILES, SYSTEMS
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.stored import REPLACED
from adabkb_service.contract.study import CHANGEABLE, WORDED, StudyDefinition


def test_a_study_has_these_settings_beside_the_arguments_of_create_study() -> None:
    arguments = {"id", "parameters", "direction"}
    assert set(StudySettings.__annotations__) == StudyDefinition.model_fields.keys() - arguments


def test_these_of_them_can_be_changed() -> None:
    rules = {"outcome_constraints", "early_stopping"}
    arguments = {"parameters", "catalogues", "defaults", *REPLACED} - rules
    paused = {"state"}
    assert set(StudyChanges.__annotations__) == PatchStudyBody.model_fields.keys() - arguments - paused
    assert set(StudyChanges.__annotations__) == {*CHANGEABLE, *WORDED, *rules}


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (CostBudget, cost.CostBudget),
        (PlateBudget, budget.PlateBudget),
        (Stop, stop.Stop),
        (OutcomeConstraint, metrics.OutcomeConstraint),
        (StudyObjective, objectives.Objective),
        (Belief, prior.Belief),
        (Quantity, quantities.Quantity),
        (Plates, plates.Plates),
    ],
)
def test_what_a_setting_consists_of_is_what_the_server_takes(here: type, there: type[BaseModel]) -> None:
    fields = there.model_fields
    assert set(inspect.get_annotations(here)) == set(fields)
    assert vars(here)["__required_keys__"] == {name for name, field in fields.items() if field.is_required()}


def test_an_algorithm_has_the_kinds_and_the_constants_of_the_server() -> None:
    types = get_type_hints(Algorithm)
    assert set(types) == {name for system in SYSTEMS.values() for name in system.model_fields}
    assert set(get_args(types["kind"])) == set(KINDS)
    assert set(get_args(types["profile"])) == set(PROFILES)


RULES = (
    (MedianRule, early_stopping.MedianRule),
    (AshaRule, early_stopping.AshaRule),
    (PatienceRule, early_stopping.PatienceRule),
)


@pytest.mark.parametrize(("here", "there"), RULES)
def test_a_rule_has_the_servers_fields_as_arguments_with_its_defaults(here: type, there: type[BaseModel]) -> None:
    defaults = {
        name: inspect.Parameter.empty if field.is_required() else field.default
        for name, field in there.model_fields.items()
        if name != "rule"
    }
    arguments = inspect.signature(here).parameters
    assert {name: each.default for name, each in arguments.items()} == defaults
    documented = (inspect.getdoc(here) or "").partition("Args:")[2]
    assert all(f"{name}: " in documented for name in defaults)


def test_a_rule_as_a_dict_has_the_fields_of_all_rules() -> None:
    fields = {name for _, there in RULES for name in there.model_fields}
    assert EarlyStopping.__annotations__.keys() == fields
    assert vars(EarlyStopping)["__required_keys__"] == {"rule", "max_steps"}


@pytest.mark.parametrize(
    "rule", [MedianRule(9), AshaRule(9, eta=2), PatienceRule(max_steps=9, no_gain_for=2, min_gain=0.5)]
)
def test_a_study_returns_the_rule_with_which_it_was_created(client: Client, rule: dict[str, Any]) -> None:
    for given in (rule, {**rule}):
        study = client.create_study("ruled", {"x": Float(0, 1)}, direction="minimize", early_stopping=given)  # type: ignore[arg-type]
        assert study.info().early_stopping == rule
    assert pickle.loads(pickle.dumps(rule)) == rule


@pytest.mark.parametrize("settings", [StudySettings, StudyChanges])
def test_the_documentation_names_all_settings(settings: type) -> None:
    """Editors show it for functions with ``**settings: Unpack[StudySettings]``."""
    documentation = inspect.getdoc(settings) or ""
    assert [name for name in settings.__annotations__ if f"``{name}``" not in documentation] == []


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (Client.create_study, StudySettings),
        (AsyncClient.create_study, StudySettings),
        (Study.update, StudyChanges),
        (AsyncStudy.update, StudyChanges),
    ],
)
def test_each_setting_is_an_argument_with_its_type_and_documentation(method: object, settings: type) -> None:
    """Notebooks complete the settings from the signature, and editors show the documentation."""
    assert callable(method)
    parameters, documentation = inspect.signature(method).parameters, inspect.getdoc(method) or ""
    for name, kind in get_type_hints(settings).items():
        assert parameters[name].annotation == kind, name
        assert f"\n    {name}: " in documentation, name
    assert parameters["others"].annotation is Never  # type checkers refuse other names


def test_each_constraint_in_the_documentation_is_one(client: Client) -> None:
    documentation = inspect.getdoc(Client.create_study) or ""
    listed = documentation.partition("constraint:")[2].partition("mixtures:")[0]
    constraints = re.findall(r"^ +- ``(.+?)``", listed, re.MULTILINE)
    assert len(constraints) >= 5
    space: dict[str, Parameter] = {
        "layers": Int(1, 4),
        "units": Int(16, 512),
        "degree": Int(1, 9),
        "kernel": Categorical(["rbf", "poly"]),
        "solvent": Categorical(["DMF", "water", "hexane"]),
    }
    space |= {name: Float(0, 1) for name in ("a", "b", "c", "area", "flow rate")}
    study = client.create_study("constrained", space, direction="minimize", constraints=constraints)
    assert list(study.info().constraints) == constraints

"""The typed settings for editors and type checkers agree with the server's."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never, get_args, get_type_hints

import httpx
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
    Invalid,
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
from adabkb_client._settings import NOT_GIVEN
from adabkb_integrations.inprocess.stopping import COMMON
from adabkb_service.cli.refusals import RENAMED
from adabkb_service.cli.study_settings import CREATED, OPTIONS, UPDATED, Shown
from adabkb_service.contract import budget, cost, early_stopping, metrics, objectives, plates, prior, quantities, stop
from adabkb_service.contract.algorithms import KINDS, PROFILES, SYSTEMS
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.settings import SETTINGS
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.early_stopping import OWN
from tests.integration.cli.shell import adabkb
from tools.generated import formatted, outdated
from tools.study_settings import FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_the_client_and_the_tools_have_the_settings_of_the_table(file: Path) -> None:
    assert outdated(file.read_text("utf-8"), formatted(FILES[file]())) == ""


def test_each_field_of_a_definition_is_a_setting_or_an_argument_of_create_study() -> None:
    assert SETTINGS.keys() == StudyDefinition.model_fields.keys() - {"id", "parameters", "direction"}


def api_names(shown: Shown) -> set[str]:
    options = [*shown.listed, *shown.others]
    assert len(set(options)) == len(options)
    return {OPTIONS[option].api_name for option in options}


def test_each_setting_is_an_option_of_the_commands() -> None:
    assert api_names(CREATED) == StudyDefinition.model_fields.keys()
    assert api_names(UPDATED) == PatchStudyBody.model_fields.keys() - {"state", "catalogues", "was"}


REMOVABLE: dict[str, Any] = {
    "budget": 30,
    "tolerance": 0.25,
    "stop": {"no_gain_for": 9},
    "max_runtime_seconds": 60.0,
    "failure_limit": 4,
    "pending_limit": 5,
    "title": "Blend",
    "description": "for a test",
    "tags": {"a": "b"},
    "quantities": {"value": {"unit": "%"}},
    "outcome_constraints": [{"metric": "purity", "lower": 0.5}],
    "constraints": ["c <= 0.75"],
    "mixtures": [{"parameters": ["a", "b"]}],
    "prior": {"c": {"around": 0.5, "width": 0.25}},
    "baseline": {"c": 0.5},
    "noise_std": 0.5,
    "per_cost": True,
    "robust": True,
}
"""A value of each setting that a study can lack."""
LASTING = {"state", "lease_seconds", "max_attempts", "early_stopping", "parameters", "catalogues", "defaults", "was"}
"""What every study has, the rule of early stopping, which stays, and fields that are not settings."""


def by_client(url: str, name: str) -> None:
    with Client(url) as client:
        client.study("s").update(**{name: None})  # type: ignore[arg-type]


def by_async_client(url: str, name: str) -> None:
    async def remove() -> None:
        async with AsyncClient(url) as client:
            study = await client.study("s")
            await study.update(**{name: None})  # type: ignore[arg-type]

    asyncio.run(remove())


def by_command(url: str, name: str) -> None:
    option = "no_gain_for" if name == "stop" else RENAMED.get(name, name)
    words = [f"--no-{name}"] if REMOVABLE[name] is True else [f"--{option}", "none"]
    adabkb("study", "update", "s", *(word.replace("_", "-") for word in words), "--url", url)


def by_http(url: str, name: str) -> None:
    assert httpx.patch(f"{url}/v1/studies/s", json={name: None}).is_success


@pytest.mark.parametrize("remove", [by_client, by_async_client, by_command, by_http])
def test_none_removes_a_setting_and_what_is_not_given_stays(server: str, remove: Callable[[str, str], None]) -> None:
    assert PatchStudyBody.model_fields.keys() - LASTING == REMOVABLE.keys()
    space = {name: Float(0, 1) for name in "abc"}
    with Client(server) as client:
        study = client.create_study("s", space, direction="maximize", metrics=["purity"], cost="told", **REMOVABLE)
        before = {name: getattr(study.info(), name) for name in REMOVABLE}
        assert all(before.values())
        for name in REMOVABLE:
            remove(server, name)
            after = {each: getattr(study.info(), each) for each in REMOVABLE}
            assert not after[name], name
            assert after == {**before, name: after[name]}, name
            before = after


def test_what_every_study_has_is_not_removed(client: Client) -> None:
    rule = MedianRule(max_steps=9)
    study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", early_stopping=rule)
    before = study.info()
    for name in LASTING - {"state", "catalogues", "was"}:
        with pytest.raises((Invalid, TypeError, AttributeError)):
            study.update(**{name: None})  # type: ignore[arg-type]
    assert study.info() == before


@pytest.mark.parametrize("kind", [Study, AsyncStudy])
def test_every_argument_of_an_update_may_be_left_out_for_the_same_reason(kind: type[Study | AsyncStudy]) -> None:
    given = [each for each in inspect.signature(kind.update).parameters.values() if each.kind is each.KEYWORD_ONLY]
    assert given
    assert all(each.default is NOT_GIVEN for each in given)


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


@pytest.mark.parametrize("rule", [there for _, there in RULES])
def test_a_search_without_a_server_has_the_numbers_and_defaults_of_a_rule(rule: type[BaseModel]) -> None:
    fields = {name: field for name, field in rule.model_fields.items() if name not in COMMON}
    (name,) = get_args(rule.model_fields["rule"].annotation)
    assert OWN[name] == {name: None if field.is_required() else field.default for name, field in fields.items()}


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

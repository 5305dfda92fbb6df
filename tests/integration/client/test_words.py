"""Consistent names: commands, requests and tools for agents name arguments as the client does."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints, is_typeddict

import pytest
from pydantic import BaseModel

import adabkb_client
from adabkb_client import (
    AsyncClient,
    AsyncStudy,
    Client,
    ImportReport,
    Study,
    StudyChanges,
    StudyInfo,
    StudySettings,
    Trial,
)
from adabkb_client.mcp import _arguments
from adabkb_client.mcp._answers import InfoAnswer
from adabkb_service.settings import Settings
from tests.integration.cli.shell import commands
from tests.integration.client.mcp.agents import in_process
from tools.openapi import document

OF_COMMANDS = {"study", "retry_for", "as_json", "server"}
"""Parameters of commands for the server, retries and output."""
VERBS: dict[tuple[str, ...], str] = {
    ("study", "create"): "create_study",
    ("study", "delete"): "delete",
    ("study", "events"): "events",
    ("study", "list"): "studies",
    ("study", "show"): "info",
    ("result", "annotate"): "annotate_result",
    ("result", "files"): "result_files",
    ("result", "add-file"): "add_result_file",
    ("result", "read-file"): "read_result_file",
    ("result", "remove-file"): "remove_result_file",
    ("trash", "list"): "trash",
    ("trash", "purge"): "purge_study",
    ("trash", "restore"): "restore_study",
    ("trial", "list"): "trials",
    ("result", "add"): "add_result",
    ("result", "import"): "import_results",
    ("result", "list"): "observations",
    ("access", "show"): "access",
    ("model", "show"): "model",
}
"""Calls of commands whose group is a part of the name; other commands have the name of their call."""
COMMANDS = {
    "run": {"program": "function", "pattern": "", "logs": "", "grace": "", "trial_timeout": ""},
    "create_study": {
        "definition": "parameters",
        "no_gain_for": "stop",
        "gap_share_below": "stop",
        "descriptors": "",
        "catalogue": "",
    },
    "update": {"no_gain_for": "stop", "gap_share_below": "stop", "descriptors": ""},
    "import_results": {"file": "source"},
    "observe_many": {"file": "items"},
    "predict": {"parameters": "points"},
    "link": {"days": "expires_at"},
    "export": {"output": ""},
    "export_report": {"output": ""},
    "add_webhook": {"address": "url"},  # --url is the server's
    "change_webhook": {"address": "url"},
    "repeat": {"trial": "point"},
    "add_file": {"file": "content"},
    "read_file": {"number": "file", "output": ""},
    "remove_file": {"number": "file"},
    "add_result_file": {"file": "content"},
    "read_result_file": {"number": "file", "output": ""},
    "remove_result_file": {"number": "file"},
    "observe": {"metric_std_error": "std_errors"},
    "retry": {"trials": "trial", "failed": ""},
    "add_result": {"metric_std_error": "std_errors"},
    "correct": {"metric_std_error": "std_errors"},
    "purge_study": {"yes": ""},
    "delete": {"yes": ""},
    "give": {},
}
"""Arguments that a command has in another form: as a file, as a pair, or only for terminals ("")."""
ONLY_IN_PYTHON = {
    "run": {
        "callbacks",  # a function
        "engine",  # a program starts no tasks on a cluster: each node runs the command
        "pass_trial",  # the program has the number of its trial in the environment
        "processes",  # every evaluation is a process
        "progress",  # lines on standard error
        "resources",  # of an engine
    },
    "add_result": {"value"},  # the first of the arguments, before the point
    "import_results": {"progress"},
    "restore_study": {"id"},  # the study is the argument STUDY
}
"""Arguments of the client that a command does not have, with the reason."""
DOCUMENT = document()
HTTP = {
    "create_study": ("post", "/v1/studies", {}),
    "update": ("patch", "/v1/studies/{study_id}", {"state": "", "catalogues": "", "was": ""}),
    "suggest": ("post", "/v1/studies/{study_id}/suggest", {"fallback": "", "skip_released": ""}),
    "queue": ("post", "/v1/studies/{study_id}/trials", {}),
    "annotate": ("patch", "/v1/studies/{study_id}/trials/{number}", {"was": ""}),
    "retry": ("post", "/v1/studies/{study_id}/trials/{number}/retry", {}),
    "heartbeat": ("post", "/v1/studies/{study_id}/trials/{number}/heartbeat", {}),
    "observe_many": ("post", "/v1/studies/{study_id}/observations", {}),
    "correct": ("patch", "/v1/studies/{study_id}/observations/{seq}", {"excluded": "", "attributes": "", "was": ""}),
    "predict": ("post", "/v1/studies/{study_id}/predict", {}),
    "restore_study": ("post", "/v1/studies/{study_id}/restore", {}),
    "link": ("post", "/v1/studies/{study_id}/links", {}),
    "give": ("patch", "/v1/studies/{study_id}/access", {"shared_with": ""}),
    "add_webhook": ("post", "/v1/studies/{study_id}/webhooks", {}),
    "change_webhook": ("patch", "/v1/studies/{study_id}/webhooks/{webhook_id}", {}),
    "repeat": ("post", "/v1/studies/{study_id}/trials/repeat", {"trial": "point", "parameters": "point"}),
    "report_many": (
        "post",
        "/v1/studies/{study_id}/trials/{number}/reports",
        {"step": "", "value": "", "cost": "", "parameters": ""},
    ),
    "release": ("post", "/v1/studies/{study_id}/trials/{number}/release", {}),
    "withdraw": ("post", "/v1/studies/{study_id}/trials/{number}/withdraw", {}),
    "observe": (
        "post",
        "/v1/studies/{study_id}/observe",
        {"state": "", "reason": "", "plate": "", "attributes": "", "cost": "metrics"},
    ),
}
"""The route of a call, and fields of its body that belong to other calls of the same route or, as ``fallback``, to the
web interface, where a person ends the wait for the model, and as ``skip_released``, to agents."""
QUERIES = {
    "studies": ("get", "/v1/studies", {"tag": "tags"}),
    "trash": ("get", "/v1/trash", {}),
    "delete": ("delete", "/v1/studies/{study_id}", {}),
    "trials": ("get", "/v1/studies/{study_id}/trials", {"attribute": "attributes"}),
    "rows": ("get", "/v1/studies/{study_id}/rows", {}),
    "events": ("get", "/v1/studies/{study_id}/events", {}),
    "curve": ("get", "/v1/studies/{study_id}/trials/{number}/reports", {}),
    "add_file": ("post", "/v1/studies/{study_id}/trials/{number}/files", {}),
    "add_result_file": ("post", "/v1/studies/{study_id}/observations/{seq}/files", {}),
    "read_file": ("get", "/v1/studies/{study_id}/trials/{number}/files/{file}", {"shown": ""}),
    "read_result_file": ("get", "/v1/studies/{study_id}/observations/{seq}/files/{file}", {"shown": ""}),
    "exclude": ("delete", "/v1/studies/{study_id}/observations/{seq}", {}),
    "recommendation": ("get", "/v1/studies/{study_id}/recommendation", {}),
    "front": ("get", "/v1/studies/{study_id}/front", {}),
    "importance": ("get", "/v1/studies/{study_id}/importance", {}),
    "validation": ("get", "/v1/studies/{study_id}/validation", {}),
    "slice": ("get", "/v1/studies/{study_id}/slice", {"parameter": "parameters"}),
    "partition": ("get", "/v1/studies/{study_id}/partition", {}),
    "export": ("get", "/v1/studies/{study_id}/export", {"decimal": "", "bom": "", "titles": ""}),
}
"""The route of a call, and parameters of its query that have another form or, as ``decimal``,
``titles`` and ``shown``, are for spreadsheets and browsers."""
PAGES = {"limit", "cursor", "after", "wait"}
"""Parameters of pages of lists, and of waiting."""
OF_ADMINISTRATORS = {"/v1/tokens", "/v1/tokens/{token_id}"}
OTHER_ROUTES = {"/v1/studies/{study_id}/trials/{number}/files", "/v1/studies/{study_id}/observations/{seq}/files"}
"""Routes whose body is a file."""
TOOLS = {"key", "study", "limit", "cursor", "caller", "of_other_worker"}
"""Arguments only for agents: a key, the study (also one to create), the page of a list, and whether the trial of
another worker may be changed."""
FOR_PEOPLE = "people change it, since it may spend more than was agreed, or cannot be undone"
NOT_FOR_AGENTS = {
    "create_study": {"id": "it is the argument study", "update": FOR_PEOPLE},
    "update": dict.fromkeys(
        {"parameters", "defaults", "constraints", *StudyChanges.__annotations__}
        - {"outcome_constraints", "early_stopping", "noise_std", "per_cost", "robust"},
        FOR_PEOPLE,
    ),
    "trials": {"attributes": "no tool sets attributes"},
    "suggest": {"worker": "it is an option of the command"},
    "report": {"lease_seconds": "heartbeat changes it"},
}
"""Arguments of the client that a tool does not have, with the reasons."""
PARTS_OF_TOOLS: dict[Any, type[BaseModel]] = {
    each: getattr(_arguments, each.__name__)
    for each in (
        adabkb_client.Belief,
        adabkb_client.CostBudget,
        adabkb_client.EarlyStopping,
        adabkb_client.Mixture,
        adabkb_client.OutcomeConstraint,
        adabkb_client.PlateBudget,
        adabkb_client.Plates,
        adabkb_client.Quantity,
        adabkb_client.Stop,
    )
} | {adabkb_client.StudyObjective: _arguments.Objective}
"""Parts of settings of the client, and those of tools."""
PARAMETERS: dict[type, type[BaseModel]] = {
    adabkb_client.Bool: _arguments.BoolParameter,
    adabkb_client.Catalogue: _arguments.CatalogueParameter,
    adabkb_client.Categorical: _arguments.CategoricalParameter,
    adabkb_client.Fixed: _arguments.FixedParameter,
    adabkb_client.Float: _arguments.FloatParameter,
    adabkb_client.Int: _arguments.IntParameter,
    adabkb_client.Ordinal: _arguments.OrdinalParameter,
}


def taken(call: str) -> set[str]:
    """The arguments of a call of the client."""
    found: Callable[..., Any] = getattr(Study, call, None) or getattr(Client, call)
    return set(inspect.signature(found).parameters) - {"self", "others", "unknown"}


@pytest.mark.parametrize(("of", "also"), [(Client, AsyncClient), (Study, AsyncStudy)])
def test_both_clients_take_the_same(of: type, also: type) -> None:
    for name in {name for name in dir(of) if not name.startswith("_")} & set(dir(also)):
        there, here = getattr(also, name), getattr(of, name)
        if callable(here) and name not in ("run", "optimize"):  # processes and clusters need threads
            assert set(inspect.signature(there).parameters) == set(inspect.signature(here).parameters), name


def test_a_command_names_what_it_takes_as_the_client_does() -> None:
    compared = 0
    for path, command in commands():
        call = VERBS.get(path, path[-1].replace("-", "_"))
        if not hasattr(Study, call) and not hasattr(Client, call):
            continue
        ours, others = taken(call), COMMANDS.get(call, {})
        for parameter in command.params:
            name = str(parameter.name)
            if parameter.hidden or name in OF_COMMANDS | {"help"} or name in CONNECTION or others.get(name) == "":
                continue
            assert ours & set(_forms(others.get(name, name))), (path, name, ours)
            compared += 1
    assert compared > 80


def test_a_command_takes_what_the_client_takes() -> None:
    for path, command in commands():
        call = VERBS.get(path, path[-1].replace("-", "_"))
        if hasattr(Study, call) or hasattr(Client, call):
            others = COMMANDS.get(call, {})
            names = {form for each in command.params for form in _forms(others.get(str(each.name)) or str(each.name))}
            assert taken(call) - names == ONLY_IN_PYTHON.get(call, set()), path


CONNECTION = {"url", "token", "local", "id"}


def _forms(name: str) -> Iterator[str]:
    """A name in the singular, for an option that is repeated per value, and in the plural."""
    yield from (name, f"{name}s", f"{name[:-1]}ies", name.removesuffix("s"))


@pytest.mark.parametrize("call", HTTP)
def test_a_request_names_what_it_takes_as_the_client_does(call: str) -> None:
    method, path, others = HTTP[call]
    (content,) = DOCUMENT["paths"][path][method]["requestBody"]["content"].values()
    names = set(_properties(content["schema"]))
    assert names
    assert others.keys() <= names
    for name in names:
        assert others.get(name) == "" or others.get(name, name) in taken(call), name


def _properties(schema: dict[str, Any]) -> Iterator[str]:
    """The names of the fields of a schema, and of its alternatives."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    yield from schema.get("properties", {})
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _properties(alternative)


def test_all_requests_with_a_body_are_compared() -> None:
    routes = {(m, path) for path, ways in DOCUMENT["paths"].items() for m, way in ways.items() if "requestBody" in way}
    compared = {(method, path) for method, path, _ in HTTP.values()}
    assert {(m, path) for m, path in routes if path not in OF_ADMINISTRATORS | OTHER_ROUTES} == compared


@pytest.mark.parametrize("call", QUERIES)
def test_a_query_names_what_it_takes_as_the_client_does(call: str) -> None:
    method, path, others = QUERIES[call]
    names = {each["name"] for each in DOCUMENT["paths"][path][method].get("parameters", ()) if each["in"] == "query"}
    assert others.keys() <= names
    for name in names - PAGES:
        assert others.get(name) == "" or others.get(name, name) in taken(call), name


def test_all_queries_are_compared() -> None:
    routes = {
        (method, path)
        for path, ways in DOCUMENT["paths"].items()
        for method, way in ways.items()
        if {each["name"] for each in way.get("parameters", ()) if each["in"] == "query"} - PAGES
    }
    compared = {(method, path) for method, path, _ in QUERIES.values()}
    assert {(method, path) for method, path in routes if path not in OF_ADMINISTRATORS} == compared


def test_a_tool_names_what_it_takes_as_the_client_does(server: str) -> None:
    async def tools() -> dict[str, set[str]]:
        async with in_process(server) as agent:
            return {tool.name: set(tool.input_schema["properties"]) for tool in (await agent.client.list_tools()).tools}

    for tool, names in asyncio.run(tools()).items():
        assert names - TOOLS <= taken(tool), tool
        assert taken(tool) - names == NOT_FOR_AGENTS.get(tool, {}).keys(), tool


@pytest.mark.parametrize("part", PARTS_OF_TOOLS, ids=lambda part: part.__name__)
def test_a_part_of_a_setting_has_the_same_fields_for_agents(part: type) -> None:
    assert set(PARTS_OF_TOOLS[part].model_fields) == get_type_hints(part).keys()


def test_each_setting_with_named_fields_is_compared() -> None:
    """Agents get an algorithm as the client does, since it has other fields for each kind."""
    hints = get_type_hints(StudySettings)
    assert {each for hint in hints.values() for each in _dicts(hint)} - {adabkb_client.Algorithm} == {*PARTS_OF_TOOLS}


def _dicts(hint: Any) -> Iterator[Any]:
    """The dicts with named fields in a type."""
    if is_typeddict(hint):
        yield hint
    for each in get_args(hint):
        yield from _dicts(each)


@pytest.mark.parametrize("kind", PARAMETERS, ids=lambda kind: kind.__name__)
def test_a_parameter_has_the_same_fields_for_agents(kind: type) -> None:
    only_in_python = {"cells"}  # the other columns of a table, which the server does not get
    assert set(PARAMETERS[kind].model_fields) - {"kind"} == set(inspect.signature(kind).parameters) - only_in_python


def test_all_parameters_are_compared() -> None:
    assert set(get_args(adabkb_client.Parameter)) == set(PARAMETERS)


def test_an_agent_sees_each_setting_of_a_study() -> None:
    assert taken("create_study") - {"id", "update"} <= get_type_hints(InfoAnswer).keys()


def test_a_reference_to_a_study_is_named_study_in_records_and_arguments() -> None:
    things = [getattr(adabkb_client, name) for name in adabkb_client.__all__]
    records = [thing for thing in things if is_dataclass(thing)]
    assert {"study"} <= {field.name for field in fields(Trial)} & {field.name for field in fields(ImportReport)}
    assert not [kind for kind in records if "study_id" in {field.name for field in fields(kind)}]
    for kind in (thing for thing in things if isinstance(thing, type)):
        for name, member in inspect.getmembers(kind, inspect.isfunction):
            assert "study_id" not in inspect.signature(member).parameters, (kind, name)


def test_the_settings_of_a_study_are_its_fields() -> None:
    fields = set(inspect.signature(StudyInfo).parameters)
    assert taken("create_study") - {"update"} <= fields
    assert taken("update") <= fields


def test_no_environment_variable_is_read_by_both_servers_and_clients() -> None:
    """A machine that has both could not set them differently."""
    of_servers = {f"ADABKB_{name.upper()}" for name in Settings.model_fields}
    sources = Path(adabkb_client.__file__).parent.rglob("*.py")
    of_clients = {name for path in sources for name in re.findall(r"ADABKB_[A-Z_]+\b", path.read_text("utf-8"))}
    assert {"ADABKB_URL", "ADABKB_TOKEN", "ADABKB_STOP_SECONDS"} <= of_clients
    assert of_servers & of_clients == set()

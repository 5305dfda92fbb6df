"""The OpenAPI document is correct: no valid or invalid request gets an undocumented response."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.webhooks import Message
from tests.integration.api.conftest import DEFINITION
from tests.samples import OF_ATTACKS, some
from tools import http_examples as examples
from tools.generated import outdated
from tools.openapi import document

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
DOCUMENT = document()
CONFIG = SchemathesisConfig.from_dict({"generation": {"allow-x00": True}})
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
SOME, MANY = 2, 100
"""Number of generated requests per operation in ``make test`` and in ``make attack``."""


def operations() -> list[tuple[str, str]]:
    """Method and path of every operation that returns."""
    return [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]


@OF_ATTACKS
@pytest.mark.parametrize(("method", "path"), some(operations(), operations()[::6]))
def test_generated_requests_get_only_documented_responses(server: str, method: str, path: str, is_sample: bool) -> None:
    """Valid and invalid requests to a study with trials and results."""
    with httpx.Client(base_url=server) as client:
        client.post("/v1/studies", json=DEFINITION)
        client.post("/v1/studies/s/suggest", json={"count": 2})
        client.post("/v1/studies/s/observe", json={"trial": 1, "value": 1.0})
    operation = SCHEMA[path][method.upper()]

    answers: list[int] = []
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode])

    @given(case=cases, known=st.booleans())
    @settings(
        max_examples=SOME if is_sample else MANY,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: schemathesis.Case[Any], known: bool) -> None:
        if known and "study_id" in (case.path_parameters or {}):
            case.path_parameters["study_id"] = "s"
        answers.append(case.call_and_validate(base_url=server, checks=CHECKS).status_code)

    send()
    assert answers
    assert max(answers) < 500


def test_every_operation_has_a_name_a_description_and_its_problems() -> None:
    names = set()
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            names.add(operation["operationId"])
            assert operation["description"]
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert set(answer["content"]) == {"application/problem+json"}
    assert len(names) == len(operations())
    assert all(re.fullmatch(r"[a-z]+[A-Za-z]*", name) for name in names)


def test_references_resolve() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    references = [node["$ref"] for node in nodes(DOCUMENT) if isinstance(node.get("$ref"), str)]
    assert references
    assert all(reference.rpartition("/")[2] in schemas for reference in references)


def headers_of(operation: str, status: str) -> set[str]:
    """The documented headers of a response."""
    (found,) = [
        each for methods in DOCUMENT["paths"].values() for each in methods.values() if each["operationId"] == operation
    ]
    return set(found["responses"][status]["headers"])


def test_headers_of_responses_are_documented(api: httpx.Client, study: str) -> None:
    """Generated clients cannot read others. The server sends no header that the document lacks, except those of HTTP
    itself and those that protect browsers."""
    key = {"Idempotency-Key": "k"}
    suggested = [api.post(f"{study}/suggest", headers={**key, "Prefer": "wait=1"}) for _ in range(2)]
    api.post(f"{study}/trials/1/files", params={"name": "a"}, content=b"1")
    answers = [
        *(("suggest", answer) for answer in suggested),
        ("getStudy", api.get(study)),
        ("changeStudy", api.patch(study, json={"budget": 9})),
        ("getTrial", api.get(f"{study}/trials/1")),
        ("listTrials", api.get(f"{study}/trials")),
        ("listTrials", api.get(f"{study}/trials", headers={"If-None-Match": "*"})),
        ("readFile", api.get(f"{study}/trials/1/files/1")),
        ("createStudy", api.post("/v1/studies", json={**DEFINITION, "id": "t"})),
        ("observe", api.post(f"{study}/observe", content=b"", headers={"Content-Encoding": "br"})),
    ]
    others = {"content-type", "content-length", "date", "server", "cache-control", "vary", "x-content-type-options"}
    others |= {"content-security-policy", "cross-origin-resource-policy", "content-encoding"}
    sent = set()
    for name, answer in answers:
        found = set(answer.headers) - others
        assert found <= {each.lower() for each in headers_of(name, str(answer.status_code))}, (name, answer.headers)
        sent |= found
    expected = {"etag", "idempotent-replayed", "preference-applied", "content-disposition", "accept-encoding"}
    assert sent >= expected
    assert headers_of("suggest", "429") >= {"Retry-After", "RateLimit", "RateLimit-Policy"}
    assert "Retry-After" in headers_of("suggest", "503")
    assert "WWW-Authenticate" in headers_of("suggest", "401")


def test_messages_of_webhooks_are_documented() -> None:
    message = DOCUMENT["webhooks"]["message"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = {**message, "components": DOCUMENT["components"]}
    trial = json.loads(examples.FILE.read_text())["getTrial"]["answer"]
    sent = Message(
        notification="trial.done",
        study="s",
        seq=3,
        at=datetime.now(UTC),
        text="done",
        trial=Trial.model_validate(trial),
    )
    jsonschema_rs.Draft202012Validator(schema).validate(sent.model_dump(mode="json"))
    assert not jsonschema_rs.Draft202012Validator(schema).is_valid({"notification": "trial.done"})


def test_numeric_bounds_use_json_schema_keywords() -> None:
    """Clients and generators know minimum and maximum, but not pydantic's ge and le."""
    assert not [node for node in nodes(DOCUMENT) if node.keys() & {"ge", "gt", "le", "lt"}]
    count = DOCUMENT["components"]["schemas"]["SuggestBody"]["properties"]["count"]
    assert (count["minimum"], count["maximum"]) == (1, 100)


def test_partial_updates_have_no_defaults() -> None:
    """Generated clients send the defaults of a schema, which would overwrite fields that the user did not set."""
    patches = [methods["patch"] for methods in DOCUMENT["paths"].values() if "patch" in methods]
    assert len(patches) == 6
    for patch in patches:
        reference = patch["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]]
        assert "required" not in schema
        assert not [node for node in nodes(schema["properties"]) if "default" in node]


def test_fields_with_a_default_are_optional_in_requests_and_present_in_responses() -> None:
    """Types in both, such as an algorithm, have two schemas. Neither has a ``default``, since some generators then
    require the field.
    """
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["AutoProfile-Input"].get("required", []) == []
    assert set(schemas["AutoProfile-Output"]["required"]) == {"kind", "profile", "delta"}
    assert "by default 0.05" in schemas["AutoProfile-Input"]["properties"]["delta"]["description"]
    fields = [field for schema in schemas.values() for field in schema.get("properties", {}).values()]
    assert fields
    assert not [field for field in fields if "default" in field]


def test_every_json_body_and_response_has_a_valid_example() -> None:
    count = 0
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            answers = [answer for status, answer in operation["responses"].items() if int(status) < 400]
            for content in [operation.get("requestBody", {}), *answers]:
                if body := content.get("content", {}).get("application/json"):
                    schema = {**body["schema"], "components": DOCUMENT["components"]}
                    jsonschema_rs.Draft202012Validator(schema).validate(body["example"])
                    count += 1
    assert count > 30


def test_examples_match_the_responses_of_a_server() -> None:
    """Times and the last digits may differ."""
    kept, now = json.loads(examples.FILE.read_text()), examples.recorded()
    assert outdated(json.dumps(shape(kept), indent=1), json.dumps(shape(now), indent=1)) == ""
    assert {name: example.get("request") for name, example in kept.items()} == {
        name: example.get("request") for name, example in now.items()
    }


def shape(tree: Any) -> Any:
    """A document without its values."""
    if isinstance(tree, dict):
        return {name: shape(child) for name, child in tree.items()}
    return [shape(child) for child in tree] if isinstance(tree, list) else None


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a document."""
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(child)

"""The OpenAPI document: FastAPI's, with problem types and examples, adapted to client generators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from adabkb_service.api.admission import SCHEME
from adabkb_service.api.document_headers import describe_headers
from adabkb_service.api.problems import Problem, responses
from adabkb_service.contract.webhooks import Message

REFERENCE = "#/components/schemas/{model}"
JSON = "application/json"
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token from `adabkb token create`. A server on loopback needs no token until the first "
    "one is created.",
}
MESSAGE: dict[str, Any] = {
    "operationId": "receiveMessage",
    "tags": ["webhooks"],
    "description": "What the server sends to the URL of a webhook. It is signed according to Standard Webhooks 1.0.",
    "parameters": [
        {"name": name, "in": "header", "required": True, "description": description, "schema": {"type": "string"}}
        for name, description in (
            ("Webhook-Id", "id of the message, the same in each attempt to deliver it"),
            ("Webhook-Timestamp", "time of sending, in seconds since 1970"),
            ("Webhook-Signature", "v1 and the HMAC-SHA256 of id, time and body with the webhook's secret, in base64"),
        )
    ],
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": {"$ref": REFERENCE.format(model="Message")}}},
    },
    "responses": {"2XX": {"description": "Received. After any other response, the server sends the message again."}},
}
"""The request to a webhook."""


def document(app: FastAPI, root_path: str) -> dict[str, Any]:
    """Return the OpenAPI document of an app below a path prefix. The app caches it."""
    if app.openapi_schema is None:
        openapi = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=[{"url": root_path}] if root_path else None,
        )
        schemas = openapi["components"]["schemas"]
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        schemas["Problem"] = Problem.model_json_schema(ref_template=REFERENCE, mode="serialization")
        schemas["FieldError"] = schemas["Problem"].pop("$defs")["FieldError"]
        schemas["Message"] = Message.model_json_schema(ref_template=REFERENCE, mode="serialization")
        del schemas["Message"]["$defs"]  # those of the answers with a trial
        for schema in schemas.values():
            del schema["title"]  # some generators name types after the title, which requests and answers share
            for field in schema.get("properties", {}).values():
                field.pop("title", None)
                _describe_default(field)
        openapi["components"]["securitySchemes"] = {SCHEME: BEARER}
        openapi["webhooks"] = {"message": {"post": MESSAGE}}
        for operation in _operations(openapi):
            _add_examples(operation)
            if "security" in operation:
                operation["responses"] |= {str(status): answer for status, answer in responses(401, 403, 429).items()}
            describe_headers(operation)
        app.openapi_schema = openapi
    return app.openapi_schema


def _describe_default(field: dict[str, Any]) -> None:
    """Move the default of a field from its schema to its description. Some generators make a field with a default a
    required one, and others send the default as if the user had set it."""
    if "default" not in field:
        return
    default = field.pop("default")
    if default is not None and "const" not in field:
        words = f"by default {json.dumps(default)}"
        field["description"] = f"{field['description']}; {words}" if "description" in field else words


def _operations(openapi: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in openapi["paths"].values():
        yield from methods.values()


def _add_examples(operation: dict[str, Any]) -> None:
    """Add examples to the request body and the responses of an operation."""
    example = examples().get(operation["operationId"], {})
    if "request" in example and JSON in operation["requestBody"]["content"]:  # other bodies are binary
        operation["requestBody"]["content"][JSON]["example"] = example["request"]
    for status, answer in operation["responses"].items():
        if int(status) < 400 and JSON in answer.get("content", {}):
            answer["content"][JSON]["example"] = example["answer"]


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Return the recorded request bodies and responses by operation; ``python -m tools.http_examples``
    records them."""
    found: dict[str, dict[str, Any]] = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))
    return found

"""docs/reference/http.md, made from the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]


def reference(document: Mapping[str, Any]) -> str:
    """Every call with its parameters, its body and its answers; then every object in them."""
    schemas = document["components"]["schemas"]
    calls = [
        "\n".join(_call(method, path, call))
        for path, of_path in document["paths"].items()
        for method, call in of_path.items()
    ]
    objects = ["\n".join(_object(name, schema)) for name, schema in sorted(schemas.items())]
    return "\n\n".join(["## Calls", *calls, "## Objects", *objects])


def _call(method: str, path: str, call: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path}\n"
    yield call.get("description", "").strip()
    parameters = call.get("parameters", [])
    if parameters:
        yield "\n| parameter | in | type | |\n|---|---|---|---|"
        for each in parameters:
            yield f"| `{each['name']}` | {each['in']} | {_type(each['schema'])} | {_meaning(each, each['schema'])} |"
    for media, content in call.get("requestBody", {}).get("content", {}).items():
        yield f"\nBody (`{media}`): {_type(content.get('schema', {}))}"
        if "example" in content:
            yield f"\n```json\n{json.dumps(content['example'], indent=2)}\n```"
    answers = sorted(call["responses"].items())
    yield "\nAnswers: " + ", ".join(_answer(status, answer) for status, answer in answers if status < "400")
    refusals = [status for status, _ in answers if status >= "400"]
    if refusals:
        yield f"\nRefusals: {', '.join(refusals)}"


def _answer(status: str, answer: Mapping[str, Any]) -> str:
    schemas = [content.get("schema", {}) for content in answer.get("content", {}).values()]
    types = list(dict.fromkeys(text for schema in schemas if (text := _type(schema)) != "any"))
    return f"{status} {' or '.join(types)}".strip()


def _object(name: str, schema: Schema) -> Iterator[str]:
    yield f"### {name}\n"
    if schema.get("description"):
        yield schema["description"].strip() + "\n"
    if "properties" not in schema:
        yield _type(schema)
        return
    required = schema.get("required", ())
    yield "| field | type | |\n|---|---|---|"
    for field, of_field in schema["properties"].items():
        star = " *" if field in required else ""
        yield f"| `{field}`{star} | {_type(of_field)} | {_meaning(of_field, of_field)} |"


def _meaning(described: Mapping[str, Any], schema: Schema) -> str:
    """Its description, and its limits."""
    limits = [f"{word} {schema[key]}" for key, word in LIMITS.items() if key in schema]
    prose = described.get("description", "").strip().replace("\n", " ").replace("|", "\\|")
    return "; ".join(part for part in (prose, *limits) if part)


LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "maxLength": "characters: at most",
    "minItems": "items: at least",
    "maxItems": "items: at most",
}


def _type(schema: Schema) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key, word in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
        if key in schema:
            return word.join(dict.fromkeys(map(_type, schema[key])))
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return " or ".join(f"`{json.dumps(value)}`" for value in values) or _plain(schema)


def _plain(schema: Schema) -> str:
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    of = schema.get("additionalProperties")
    if kind == "object" and isinstance(of, Mapping):
        return f"object of {_type(of)}"
    return f"{kind} ({schema['format']})" if "format" in schema else kind

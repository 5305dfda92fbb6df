"""Attributes of a trial, or of a result without a trial: small JSON values by name, for the user's own use. The model
ignores them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.errors import shown

MAX_ATTRIBUTES = 64
MAX_NAME_LENGTH = 200
MAX_BYTES = 2**14
"""The maximum total size of a trial's attributes, in bytes of JSON in UTF-8."""
MAX_LEVELS = 8
"""The maximum number of levels of lists and objects within one attribute."""


def error_in(attributes: Mapping[str, Any]) -> str | None:
    """Return the error in a trial's attributes, or in changes to them; None if they are valid."""
    for name in attributes:
        if not 1 <= len(name) <= MAX_NAME_LENGTH or ":" in name:
            return f"must have names of 1 to {MAX_NAME_LENGTH} characters without a colon, not {shown(name)}"
    if len(attributes) > MAX_ATTRIBUTES:
        return f"must have at most {MAX_ATTRIBUTES} names, not {len(attributes)}"
    if any(_depth(value) > MAX_LEVELS for value in attributes.values()):
        return f"must not be nested deeper than {MAX_LEVELS} levels"
    size = len(json.dumps(attributes, ensure_ascii=False).encode())
    return None if size <= MAX_BYTES else f"must have at most {MAX_BYTES:,} bytes as JSON, not {size:,}"


def _check(attributes: dict[str, Any]) -> dict[str, Any]:
    if what := error_in(attributes):
        raise PydanticCustomError("attributes", "{what}", {"what": what})
    return attributes


Attributes = Annotated[dict[str, Any], Field(max_length=MAX_ATTRIBUTES), LIMIT_ERRORS, AfterValidator(_check)]


def merged(attributes: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes after a change: null removes a name, an object is merged, and any other value replaces the
    former one (RFC 7396)."""
    result = dict(attributes)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            before = result.get(name)
            result[name] = merged(before if isinstance(before, dict) else {}, value)
        else:
            result[name] = value
    return result


def replaced(attributes: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the former values of the changed attributes; absent ones are left out."""
    return {name: attributes[name] for name in changes if name in attributes}


def differ(attributes: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Return whether changes make a difference. The comparison uses JSON texts, since 1 == True in Python."""
    before, after = (json.dumps(each, sort_keys=True) for each in (attributes, merged(attributes, changes)))
    return before != after


def as_text(value: Any) -> str:
    """Return a value in the form of a query: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def sought(text: str) -> str:
    """Return a query's text in the form of ``as_text``, with the names of objects sorted."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return as_text(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _depth(value: Any) -> int:
    """Return the number of levels of lists and objects. The recursion is shallow, since bodies have few levels."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0

"""What is wrong with a field, in words for people who do not know pydantic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from adabkb_service.contract.parameters import Parameter
from adabkb_service.contract.requests import IDEMPOTENCY_KEY
from adabkb_service.contract.study import STUDY_ID
from adabkb_service.errors import LONGEST_VALUE, shortened, shown

LONGEST_COMPARED = 40
"""Characters of an unknown name that is compared with the known ones. No field has a longer name."""

BOUNDS = {"ge": "at least", "gt": "greater than", "le": "at most", "lt": "less than"}

KINDS = ", ".join(get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(get_args(Parameter)[0]))

SENTENCES = {
    "missing": "is required",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "string_type": "must be a string",
    "finite_number": "must be a finite number",
    "union_tag_not_found": f"needs a kind: one of {KINDS}",
    "union_tag_invalid": "has the {discriminator} {tag}; it must be one of {expected_tags}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_too_short": "must not have fewer characters than {min_length}",
    "string_too_long": "must not have more characters than {max_length}",
    "too_short": "must not have fewer items than {min_length}",
    "too_long": "must not have more items than {max_length}, but has {actual_length}",
}

PATTERNS = {
    STUDY_ID: "must be 1 to 100 letters, digits, dots, underscores or hyphens, and begin with a letter or a digit",
    IDEMPOTENCY_KEY: "must be 1 to 255 printable ASCII characters without spaces",
}


def sentence(fault: Mapping[str, Any]) -> str:
    """What is wrong, to be read after the name of the field.

    Args:
        fault: an entry of ``ValidationError.errors()``.
    """
    context, kind = fault.get("ctx", {}), fault["type"]
    if kind == "extra_forbidden" and "known" in context:
        return _unknown(str(fault["loc"][-1]), context["known"])
    if kind == "string_pattern_mismatch" and context["pattern"] in PATTERNS:
        return PATTERNS[context["pattern"]]
    if kind in SENTENCES:
        return SENTENCES[kind].format_map({name: _plain(name, value) for name, value in context.items()})
    for name, words in BOUNDS.items():
        if isinstance(bound := context.get(name), int | float):
            return f"must be {words} {bound if isinstance(bound, int) else f'{bound:.15g}'}"
    message = str(fault["msg"]).removeprefix("Value error, ").replace("Input should", "must", 1)
    return message[:1].lower() + message[1:]


def _plain(name: str, value: object) -> str:
    if name == "tag":
        return shown(value)
    return str(value).strip("'") if name == "discriminator" else str(value)


def _unknown(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name.lower(), known, n=1) if len(name) <= LONGEST_COMPARED else []
    if near:
        return f"is not a field here; did you mean {near[0]}?"
    return f"is not a field here; there are {shortened(', '.join(known), LONGEST_VALUE)}"

"""Validation errors as sentences that do not assume knowledge of pydantic."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, get_args

from adabkb_service.contract.early_stopping import EarlyStopping
from adabkb_service.contract.parameters import STUDY_ID, Parameter
from adabkb_service.contract.requests import IDEMPOTENCY_KEY
from adabkb_service.engine.wording import nearest
from adabkb_service.errors import shortened, shown

MAX_LIST = 400
"""The maximum length of a list of known names in characters. All settings of a study fit."""
BOUNDS = {"ge": "at least", "gt": "greater than", "le": "at most", "lt": "less than"}


def _tags(union: Any, field: str) -> str:
    """Return the values of the field that discriminates the types of a union."""
    return ", ".join(get_args(kind.model_fields[field].annotation)[0] for kind in get_args(get_args(union)[0]))


TAGS = {"kind": _tags(Parameter, "kind"), "rule": _tags(EarlyStopping, "rule")}

SENTENCES = {
    "missing": "is required",
    "bool_parsing": "must be true or false",
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
    "union_tag_not_found": "needs a {discriminator}: one of {tags}",
    "union_tag_invalid": "has the {discriminator} {tag}; it must be one of {expected_tags}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have {min_length} or more items",
    "too_long": "must have at most {max_length} items, but has {actual_length}",
}

FOREIGN = {
    "log": "scale",
    "n": "count",
    "n_trials": "budget",
    "max_trials": "budget",
    "min": "low",
    "max": "high",
    "q": "step",
    "type": "kind",
    "options": "choices",
    "objective": "direction",
    "goal": "direction",
    "maximize": 'direction "maximize"',
    "minimize": 'direction "minimize"',
    "pruner": "early_stopping",
    "pruning": "early_stopping",
    "scheduler": "early_stopping",
}
"""Names that other libraries use for the same things, and the field for each, with its value if that is known."""

MAX_ID_LENGTH = 100
OUTSIDE_ID = re.compile(r"[^A-Za-z0-9._-]")
"""A character that the id of a study cannot have."""
NOT_AT_FIRST = re.compile(r"[._-]")
"""A character with which the id of a study cannot begin."""

PATTERNS = {
    STUDY_ID: "must be 1 to 100 letters, digits, dots, underscores or hyphens, and begin with a letter or a digit",
    IDEMPOTENCY_KEY: "must be 1 to 255 printable ASCII characters without spaces",
}
MISSING = {
    "body": "is required; send a JSON object",
    "trial": "is required, or parameters for a point that was not suggested",
}
"""The last part of the location of what is missing -> the error."""


def sentence(field_error: Mapping[str, Any]) -> str:
    """Return the error as a sentence that follows the name of the field.

    Args:
        field_error: an entry of ``ValidationError.errors()``.
    """
    context, kind = field_error.get("ctx", {}), field_error["type"]
    if kind == "extra_forbidden" and context:
        why: str | None = context.get("why")
        return why or unknown(str(field_error["loc"][-1]), context["known"], "field")
    if kind == "missing" and (words := MISSING.get(field_error["loc"][-1])):
        return words
    if kind == "string_pattern_mismatch" and context["pattern"] in PATTERNS:
        remedy = "; free text belongs in title" if field_error["loc"][-1] == "id" else ""
        found = _found_in_id(str(field_error.get("input", ""))) if context["pattern"] == STUDY_ID else ""
        return f"{PATTERNS[context['pattern']]}{found}{remedy if found else ''}"
    if kind in SENTENCES:
        plain = {name: _plain(name, value) for name, value in context.items()}
        return SENTENCES[kind].format_map({**plain, "tags": TAGS.get(plain.get("discriminator", ""))})
    for name, words in BOUNDS.items():
        if isinstance(bound := context.get(name), int | float):
            return f"must be {words} {bound if isinstance(bound, int) else f'{bound:.15g}'}"
    message = str(field_error["msg"]).removeprefix("Value error, ").replace("Input should", "must", 1)
    return message[:1].lower() + message[1:]


def _found_in_id(id: str) -> str:
    """Return what is wrong with the id of a study, as the end of a sentence."""
    if len(id) > MAX_ID_LENGTH:
        return f"; it has {len(id)} characters"
    wrong = OUTSIDE_ID.search(id) or NOT_AT_FIRST.match(id)
    return "" if wrong is None else f"; {shown(id)} has {shown(wrong[0])}{'' if wrong.start() else ' at its beginning'}"


def _plain(name: str, value: object) -> str:
    if name == "tag":
        return shown(value)
    return str(value).strip("'") if name == "discriminator" else str(value)


def unknown(name: str, known: Collection[str], what: str) -> str:
    """Return the error of an unknown name, as a sentence that follows the name.

    Args:
        name: the unknown name.
        known: the valid names.
        what: the kind of name, such as "field".
    """
    foreign = FOREIGN.get(name, "")
    near = foreign if foreign.partition(" ")[0] in known else nearest(name, known)
    if near is not None:
        return f"is an unknown {what}; did you mean {near}?"
    remedy = f" (known: {shortened(', '.join(known), MAX_LIST)})" if known else "; leave it out"
    return f"is an unknown {what}{remedy}"

"""The preconditions of a change: the study is still at the revision, and the fields still have the values, that the
caller has seen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from adabkb_service.contract.entity_tags import revision_tag
from adabkb_service.contract.parameters import Parameter
from adabkb_service.errors import FieldError, PreconditionFailed, json_pointer, shortened
from adabkb_service.storage.rows import StudyRow

MERGED = frozenset({"metrics", "std_errors", "attributes"})
"""Fields of which a request changes only the entries that it contains."""
_PARAMETER: TypeAdapter[Parameter] = TypeAdapter(Parameter)
MAX_SHOWN = 200
"""The maximum length of a present value in a message, in characters."""


def check_former(what: str, view: BaseModel, was: Mapping[str, Any] | None) -> None:
    """Check that fields still have their former values. Of ``MERGED`` fields and ``parameters``, only the given entries
    are compared.

    Args:
        what: the changed object, for the message.
        view: its present state, as in responses of the API.
        was: field -> former value; None if it was absent. If None or empty, nothing is checked.

    Raises:
        PreconditionFailed: a field has another value by now; each such field has one error.
    """
    if not was:
        return
    now = view.model_dump(mode="json")
    errors = [
        FieldError(json_pointer(*path), f"is {_as_text(value)} by now", "changed") for path, value in _changes(now, was)
    ]
    if errors:
        raise PreconditionFailed(f"{what} has changed: {errors[0].pointer} {errors[0].detail}.", errors)


def check_revision(study: StudyRow, revisions: frozenset[str] | None) -> None:
    """Check that a study is at one of these revisions, given by their tags; None allows any.

    Raises:
        PreconditionFailed: the study is at another revision, or is another study with the same id.
    """
    if revisions is not None and revision_tag(study.created_at, study.seed, study.study_seq) not in revisions:
        raise PreconditionFailed(
            f"Study {study.id!r} has changed: its ETag is not the one in If-Match. It is at revision {study.study_seq}."
        )


def _changes(now: Mapping[str, Any], was: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the path and the present value of each field that has changed."""
    for name, former in was.items():
        value = now.get(name)
        if name in MERGED and isinstance(former, Mapping):
            yield from (
                ((name, *path), each)
                for path, each in _changed_entries(value if isinstance(value, Mapping) else {}, former)
            )
        elif name == "parameters" and isinstance(former, Sequence):
            present = {each["name"]: each for each in value or ()}
            for index, each in enumerate(former):
                found = present.get(each.get("name")) if isinstance(each, Mapping) else None
                if not _same(found, each) and not _same(found, _with_defaults(each)):
                    yield (name, index), found
        elif not (_is_empty(value) and _is_empty(former)) and not _same(value, former):
            yield (name,), value


def _with_defaults(parameter: Any) -> Any:
    """Return a parameter as responses have it, if it is one; otherwise unchanged."""
    try:
        return _PARAMETER.validate_python(parameter).model_dump(mode="json")
    except ValidationError:
        return parameter


def _changed_entries(now: Mapping[str, Any], was: Mapping[str, Any]) -> Iterator[tuple[tuple[str], Any]]:
    return (((name,), now.get(name)) for name, former in was.items() if not _same(now.get(name), former))


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are the same. Numbers are compared by value, since other languages write 1.0 as 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(each, other[name]) for name, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _is_empty(value: Any) -> bool:
    """Return whether a value stands for an absent setting."""
    return value is None or value is False or value in ({}, [])


def _as_text(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), MAX_SHOWN)

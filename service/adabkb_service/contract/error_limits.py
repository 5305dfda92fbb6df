"""Collect about ``MAX_ERRORS`` validation errors of a body, and count the others.

pydantic validates everything and keeps an object per error, so a body with an error every few bytes would need hundreds
of times its size in memory. Therefore a list that is too long is refused before its items are validated. If a list has
many errors, or an object many unknown fields, only the first errors are kept, and one error of type ``MORE`` counts the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, PydanticKnownError
from pydantic_core.core_schema import no_info_wrap_validator_function

from adabkb_service.errors import MAX_ERRORS

T = TypeVar("T")

MORE = "more_faults"
"""The type of the error that stands for omitted errors. Its context has their ``count``."""


class _LimitErrors:
    """Refuses a list or an object that is too long before its items are validated, and limits the number of errors
    collected from a list. In an ``Annotated`` it must follow a ``Field`` with ``max_length``."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the type's own schema, wrapped in ``_validate``."""
        schema: Any = handler(source)
        return no_info_wrap_validator_function(partial(_validate, schema["max_length"]), schema)


LIMIT_ERRORS = _LimitErrors()


def _validate(most: int, values: object, handler: ValidatorFunctionWrapHandler) -> object:
    if isinstance(values, (list, dict)) and len(values) > most:
        kind = "List" if isinstance(values, list) else "Dictionary"
        raise PydanticKnownError("too_long", {"field_type": kind, "max_length": most, "actual_length": len(values)})
    try:
        return handler(values)
    except ValidationError as error:
        if not isinstance(values, list) or error.error_count() <= MAX_ERRORS:
            raise
    raise _with_count(_one_by_one(values, handler))


def _one_by_one(values: list[object], handler: ValidatorFunctionWrapHandler) -> Iterator[ErrorDetails]:
    """Yield the errors of all items, collected for one item at a time."""
    for index, value in enumerate(values):
        try:
            handler([value])
        except ValidationError as error:
            for details in _details(error):
                details["loc"] = (index, *details["loc"][1:])
                yield details


def with_few_unknown(
    data: object, known: Collection[str], refused: Mapping[str, str], handler: Callable[[object], T]
) -> T:
    """Validate an object that may have only the known fields. ``refused`` maps fields to the reasons why
    this object does not have them.

    Raises:
        ValidationError: the object is not valid. Of the unknown fields, the first ``MAX_ERRORS`` are listed and the
            others are counted. The context of each listed error has the known fields, so that the message can suggest
            one.
    """
    uncollected = 0
    if isinstance(data, dict) and len(data) > len(known) + MAX_ERRORS:
        fields = {name: value for name, value in data.items() if name in known}
        unknown = dict.fromkeys(islice((name for name in data if name not in known), MAX_ERRORS))
        uncollected = len(data) - len(fields) - len(unknown)
        data = fields | unknown
    try:
        return handler(data)
    except ValidationError as error:
        field_errors = _details(error)
        unknown_errors = [
            details for details in field_errors if details["type"] == "extra_forbidden" and len(details["loc"]) == 1
        ]
        if not unknown_errors:
            raise
    for details in unknown_errors:
        why = refused.get(str(details["loc"][0]))
        details["ctx"] = {"known": tuple(known)} if why is None else {"why": why}
    if uncollected:
        raise _with_count(field_errors, uncollected)
    lines: list[InitErrorDetails] = [
        {"type": _copy(details), "loc": details["loc"], "input": None} for details in field_errors
    ]
    raise ValidationError.from_exception_data("unknown", lines)


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Check that an object has only known names.

    Raises:
        ValidationError: it has others; see ``with_few_unknown``.
    """
    strange = [name for name in given if name not in known]
    lines: list[InitErrorDetails] = [
        {
            "type": PydanticCustomError("extra_forbidden", "is unknown", {"known": tuple(known)}),
            "loc": (name,),
            "input": None,
        }
        for name in strange[: MAX_ERRORS + 1]
    ]
    if len(strange) > MAX_ERRORS:
        more = PydanticCustomError(MORE, "there are {count} more", {"count": len(strange) - MAX_ERRORS})
        lines[-1] = {"type": more, "loc": (), "input": None}
    if lines:
        raise ValidationError.from_exception_data("unknown", lines)


def _details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _with_count(field_errors: Iterable[ErrorDetails], uncollected: int = 0) -> ValidationError:
    """Return an error with the first errors, and the number of the others including the ``uncollected`` ones."""
    first: list[InitErrorDetails] = []
    for details in field_errors:
        if details["type"] == MORE:
            uncollected += details["ctx"]["count"]
        elif len(first) < MAX_ERRORS:
            first.append({"type": _copy(details), "loc": details["loc"], "input": None})
        else:
            uncollected += 1
    count = PydanticCustomError(MORE, "there are {count} more", {"count": uncollected})
    return ValidationError.from_exception_data("few", [*first, {"type": count, "loc": (), "input": None}])


def _copy(details: ErrorDetails) -> PydanticCustomError:
    return PydanticCustomError(details["type"], details["msg"], details.get("ctx"))

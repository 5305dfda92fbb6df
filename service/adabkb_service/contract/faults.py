"""Limits the faults of a body that are collected to about ``MOST_ERRORS``, and counts the others.

pydantic validates everything and keeps an error object for each fault, so a body with a fault in every few bytes would
cost hundreds of times its size. Therefore a list that is too long is refused before its items are validated. Of many
faults in a list, and of many unknown fields, only the first ones are kept, and one error of type ``MORE`` counts the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, PydanticKnownError
from pydantic_core.core_schema import no_info_wrap_validator_function

from adabkb_service.errors import MOST_ERRORS

T = TypeVar("T")

MORE = "more_faults"
"""The type of the error that counts other ones; its context has the ``count``."""


class _Sparing:
    """Limits the faults collected from a list or an object. It stands after a ``Field`` with ``max_length``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The type's own schema, with ``_sparingly`` around it."""
        schema: Any = handler(source)
        return no_info_wrap_validator_function(partial(_sparingly, schema["max_length"]), schema)


SPARING = _Sparing()


def _sparingly(most: int, values: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(values, (list, dict)) and len(values) > most:
        kind = "List" if isinstance(values, list) else "Dictionary"
        raise PydanticKnownError("too_long", {"field_type": kind, "max_length": most, "actual_length": len(values)})
    try:
        return handler(values)
    except ValidationError as error:
        if not isinstance(values, list) or error.error_count() <= MOST_ERRORS:
            raise
    raise _few(_one_by_one(values, handler))


def _one_by_one(values: list[Any], handler: ValidatorFunctionWrapHandler) -> Iterator[ErrorDetails]:
    """The faults of all items, collected for one item at a time."""
    for index, value in enumerate(values):
        try:
            handler([value])
        except ValidationError as error:
            for fault in _details(error):
                fault["loc"] = (index, *fault["loc"][1:])
                yield fault


def with_few_unknown(data: Any, known: Collection[str], handler: Callable[[Any], T]) -> T:
    """Validate an object that may have the known fields only.

    Raises:
        ValidationError: it has the first ``MOST_ERRORS`` unknown fields, and counts the others.
    """
    if not isinstance(data, dict) or len(data) <= len(known) + MOST_ERRORS:
        return handler(data)
    fields = {name: value for name, value in data.items() if name in known}
    unknown = dict.fromkeys(islice((name for name in data if name not in known), MOST_ERRORS))
    try:
        return handler(fields | unknown)
    except ValidationError as error:
        faults = _details(error)
    raise _few(faults, len(data) - len(fields) - len(unknown))


def _details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _few(faults: Iterable[ErrorDetails], uncollected: int = 0) -> ValidationError:
    """An error with the first faults and the number of all others, those that were only counted before included."""
    first: list[InitErrorDetails] = []
    for fault in faults:
        if fault["type"] == MORE:
            uncollected += fault["ctx"]["count"]
        elif len(first) < MOST_ERRORS:
            first.append({"type": _same(fault), "loc": fault["loc"], "input": None})
        else:
            uncollected += 1
    count = PydanticCustomError(MORE, "there are {count} more", {"count": uncollected})
    return ValidationError.from_exception_data("few", [*first, {"type": count, "loc": (), "input": None}])


def _same(fault: ErrorDetails) -> PydanticCustomError:
    kind: Any = fault["type"]
    message: Any = fault["msg"]
    return PydanticCustomError(kind, message, fault.get("ctx"))

"""Reading what is stored: without the limits of requests on lengths and numbers, since older versions may have allowed
more."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import SchemaValidator

from adabkb_service.contract.error_limits import is_length_check

M = TypeVar("M", bound=BaseModel)
LIMITS = frozenset({"max_length", "le", "lt"})
"""Keys of limits in the schemas of pydantic-core."""


class Reader(Generic[M]):
    """Makes models from stored values."""

    def __init__(self, model: type[M]) -> None:
        schema: Any = _without_limits(model.__pydantic_core_schema__)
        try:  # newer versions of pydantic-core would use the validators of the models in it, which have the limits
            self._validator = partial(SchemaValidator, _use_prebuilt=False)(schema)
        except TypeError:  # an older version
            self._validator = SchemaValidator(schema)

    def read(self, stored: Any) -> M:
        """Return the model.

        Raises:
            ValidationError: the values are not those of the model.
        """
        return cast("M", self._validator.validate_python(stored))


def _without_limits(schema: Any) -> Any:
    """Return a schema of pydantic-core without limits, at any depth."""
    if isinstance(schema, list):
        return [_without_limits(each) for each in schema]
    if isinstance(schema, tuple):
        return tuple(_without_limits(each) for each in schema)
    if not isinstance(schema, dict):
        return schema
    if is_length_check(schema):
        return _without_limits(schema["schema"])
    is_type = isinstance(schema.get("type"), str)  # otherwise its keys may be names of fields
    return {
        key: value if key in ("metadata", "serialization") else _without_limits(value)
        for key, value in schema.items()
        if not (is_type and key in LIMITS)
    }

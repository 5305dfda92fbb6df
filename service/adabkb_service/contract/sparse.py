"""Models with optional fields: answers omit such a field while it has its default; requests may always omit it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo, model_serializer
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

T = TypeVar("T")


class _AbsentByDefault:
    """Marks a field of a ``Sparse`` model."""


class _NotNull:
    """Removes null from the values of a type."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable: Any = handler(source)
        return core_schema.no_info_before_validator_function(_check_not_null, nullable["schema"])


def _check_not_null(value: object) -> object:
    if value is None:
        raise PydanticCustomError("null", "cannot be null; give a value, or leave it out")
    return value


ABSENT_BY_DEFAULT = _AbsentByDefault()
"""A field with this annotation is left out while it has its default, in a model that is ``Sparse``."""
NotNull = Annotated[T | None, _NotNull()]
"""The type of a field that may be absent, but not null. Its default is None."""


class Sparse(BaseModel):
    """A model that leaves out its fields marked as ``ABSENT_BY_DEFAULT`` while they have their default.

    ``Field(exclude_if=...)`` would need pydantic 2.12. ``exclude_none`` and ``exclude_unset`` do not affect the model.
    """

    # A lambda, because pydantic would take the return type of a function as the schema of the answer.
    _serialize = model_serializer(mode="plain")(lambda self, info: _fields_of(self, info))  # noqa: PLW0108

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema. It does not require the fields that an answer may leave out."""
        found = handler(schema)
        definition = handler.resolve_ref_schema(found)
        if handler.mode == "serialization":
            definition["required"] = [name for name in definition.get("required", ()) if name not in _defaults(cls)]
            if not definition["required"]:
                del definition["required"]
        return found


def _fields_of(model: Sparse, info: SerializationInfo) -> dict[str, Any]:
    """Return the fields that are not left out. ``include`` and ``exclude`` name fields."""
    found = model.__dict__.copy()
    for name, default in _defaults(type(model), info.exclude_defaults).items():
        if found[name] == default:
            del found[name]
    if info.include is None and info.exclude is None:
        return found
    included, others = found.keys() if info.include is None else set(info.include), set(info.exclude or ())
    return {name: value for name, value in found.items() if name in included and name not in others}


@cache
def _defaults(model: type[Sparse], every: bool = False) -> Mapping[str, Any]:
    """Return the defaults of the marked fields, or of every field that has one."""
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
        if ABSENT_BY_DEFAULT in field.metadata or (every and not field.is_required())
    }

"""Fields that requests may omit, and fields that responses omit while they have their default."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adabkb_service import contract
from adabkb_service.contract.parameters import Changes
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, NotNull, Sparse


class SparseExample(Sparse):
    value: Annotated[float | None, ABSENT_BY_DEFAULT] = None
    names: Annotated[list[str], ABSENT_BY_DEFAULT] = Field(default_factory=list)
    count: int = 0


class Edit(Changes):
    limit: int | None = None
    note: NotNull[Annotated[str, Field(max_length=3)]] = None


def test_marked_fields_are_omitted_while_they_have_their_default() -> None:
    assert SparseExample().model_dump() == {"count": 0}
    assert SparseExample(value=0.0, names=["a"]).model_dump_json() == '{"value":0.0,"names":["a"],"count":0}'
    assert SparseExample(value=0.0).model_dump(exclude_defaults=True) == {"value": 0.0}
    assert SparseExample(value=1.0, names=["a"]).model_dump(include={"value"}) == {"value": 1.0}
    assert SparseExample(value=1.0).model_dump(exclude={"count"}) == {"value": 1.0}


def test_schema_does_not_require_marked_fields() -> None:
    class Strict(SparseExample):
        model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    assert Strict.model_json_schema(mode="serialization")["required"] == ["count"]
    assert "required" not in SparseExample.model_json_schema()


@pytest.mark.parametrize("given", [{}, {"limit": None}, {"limit": 3, "note": "abc"}])
def test_changes_contain_only_the_given_fields(given: dict[str, Any]) -> None:
    assert Edit.model_validate(given).changes() == given


@pytest.mark.parametrize(("note", "fault"), [(None, "null"), ("abcd", "string_too_long")])
def test_optional_fields_can_reject_null(note: str | None, fault: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Edit.model_validate({"note": note})
    assert [each["type"] for each in refused.value.errors()] == [fault]
    assert Edit.model_json_schema()["properties"]["note"]["type"] == "string"


def models() -> Iterator[type[BaseModel]]:
    for module in iter_modules(contract.__path__):
        for found in vars(import_module(f"{contract.__name__}.{module.name}")).values():
            if isinstance(found, type) and issubclass(found, BaseModel):
                yield found


def test_every_model_with_marked_fields_omits_them() -> None:
    marked = {
        model for model in models() if any(ABSENT_BY_DEFAULT in each.metadata for each in model.model_fields.values())
    }
    assert len(marked) > 20
    assert [model for model in marked if not issubclass(model, Sparse)] == []


def test_no_field_needs_a_newer_pydantic() -> None:
    """Versions before 2.12 do not accept ``Field(exclude_if=...)``."""
    late = [
        (model.__name__, name)
        for model in models()
        for name, field in model.model_fields.items()
        if getattr(field, "exclude_if", None) is not None
    ]
    assert late == []

"""The definition of a study as ``studies.definition`` stores it: that of its creation, with its space as it is now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from adabkb_service.contract.parameters import STORED, Choice, Name
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.edited import EditedSpace
from adabkb_service.engine.space import Space

USUAL_SIZE = 2**16
"""Largest number of characters of a stored definition of usual size."""


class StoredDefinition(StudyDefinition):
    """A definition whose space may have been edited since the study was created."""

    space_version: Annotated[int, Field(ge=1)] = 1
    """1 as created; each edit is the next one."""
    defaults: dict[Name, Choice] = Field(default_factory=dict)
    """By parameter: the value of points that were stored without it."""

    def space(self) -> Space:
        """The engine's search space."""
        space = super().space()
        if self.space_version == 1:
            return space
        return EditedSpace(space.parameters, space.constraints, space.conditions, self.defaults)


def is_edited(stored: Mapping[str, Any]) -> bool:
    """Whether the space of a stored definition has been edited."""
    return "space_version" in stored


def edited(stored: Mapping[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """A stored definition after an ``edited`` event with this payload."""
    defaults = {**stored.get("defaults", {}), **edit["defaults"]}
    return {**stored, "parameters": edit["parameters"], "space_version": edit["version"], "defaults": defaults}


def definition_of(stored: dict[str, Any]) -> StoredDefinition:
    """Parse a stored definition. The results are cached: many for definitions of usual size, a few for large ones."""
    text = json.dumps(stored)
    return _parsed(text) if len(text) <= USUAL_SIZE else _parsed_large(text)


@lru_cache(256)
def _parsed(text: str) -> StoredDefinition:
    return StoredDefinition.model_validate(json.loads(text), context=STORED)


@lru_cache(4)
def _parsed_large(text: str) -> StoredDefinition:
    return StoredDefinition.model_validate(json.loads(text), context=STORED)

"""The definition in ``studies.definition``: as created, but with later edits of the space and of the other fields in
``IN_EVENT``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import Field

from adabkb_service.contract.parameters import Choice, Name
from adabkb_service.contract.quantities import without_words
from adabkb_service.contract.settings import EDITED, LABELS
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.contract.tables import with_changes, with_digests
from adabkb_service.engine.edited import EditedSpace
from adabkb_service.engine.space import Space
from adabkb_service.storage.event_payloads import Edited

IN_EVENT = (*EDITED, "metrics", "budget")
"""The fields, besides the parameters, that the event of an edit may replace. A change of a cost budget is such an edit,
since suggestions may depend on it. The event has ``metrics`` if removing a bound would otherwise remove a metric."""
USUAL_SIZE = 2**16
"""Definitions with at most this many characters use the larger of the two caches."""


class StoredDefinition(StudyDefinition):
    """A definition whose space may have been edited since the study was created."""

    may_be_edited: ClassVar[bool] = True

    space_version: Annotated[int, Field(ge=1)] = 1
    """1 at creation; each edit of the space increases it by 1."""
    defaults: dict[Name, Choice] = Field(default_factory=dict)
    """By parameter: its value in points that were stored without it."""

    def space(self) -> Space:
        """Return the engine's search space."""
        space = super().space()
        if self.space_version == 1:
            return space
        return EditedSpace(
            space.parameters, space.constraints, space.conditions, space.context, space.mixtures, self.defaults
        )


def is_edited(stored: Mapping[str, Any]) -> bool:
    """Return whether the space of a stored definition has been edited."""
    return "space_version" in stored


def edited(stored: Mapping[str, Any], edit: Edited) -> dict[str, Any]:
    """Return a stored definition after an ``edited`` event with this payload."""
    fields: Mapping[str, Any] = edit
    defaults = {**stored.get("defaults", {}), **edit["defaults"]}
    parameters = with_changes(with_digests(edit["parameters"]), edit.get("catalogues", {}))
    replaced = {name: fields[name] for name in IN_EVENT if name in fields}
    return {**stored, "parameters": parameters, "space_version": edit["version"], "defaults": defaults, **replaced}


def first_stored(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition in the event ``created`` as the study's row stores it: without tables."""
    if not any("table" in each for each in definition["parameters"]):
        return definition
    return {**definition, "parameters": with_digests(definition["parameters"])}


def with_display_changes(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored definition with changes of ``LABELS`` fields, and of the labels and units of parameters."""
    words = changes.get("parameters", {})
    parameters = [
        {**without_words(each), **words[each["name"]]} if each["name"] in words else each
        for each in stored["parameters"]
    ]
    labels = {name: changes[name] for name in LABELS if name in changes}
    return {**stored, "parameters": parameters, **labels}


def definition_of(stored: dict[str, Any]) -> StoredDefinition:
    """Parse the definition of a row, for reads and lists. Drafts and replays have a ``LatestDefinition``. The results
    are immutable and cached by content: many for definitions of usual size, a few for large ones."""
    text = json.dumps(stored)
    return _parse_large(text) if len(text) > USUAL_SIZE else _parse(text)


class LatestDefinition:
    """The definition of one study, which is parsed again only when the study has another one. Only one thread may use
    it at a time."""

    def __init__(self) -> None:
        self._stored: dict[str, Any] | None = None
        self._parsed: StoredDefinition | None = None

    def of(self, stored: dict[str, Any]) -> StoredDefinition:
        """Parse a stored definition, unless it is the last parsed one."""
        if self._parsed is None or self._stored is not stored:
            self._parsed = definition_of(stored)
            self._stored = stored
        return self._parsed


@lru_cache(256)
def _parse(text: str) -> StoredDefinition:
    return StoredDefinition.model_validate(json.loads(text))


@lru_cache(4)
def _parse_large(text: str) -> StoredDefinition:
    return StoredDefinition.model_validate(json.loads(text))

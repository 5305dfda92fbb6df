"""What interfaces need of a setting of a study besides its name, type, default and description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Literal, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

ChangedBy = Literal["column", "label", "rule", "space"]
"""How a setting changes while a study runs.

* ``column``: it has a column, and its event is ``updated``.
* ``label``: as ``column``, but the definition stores it. It only serves people.
* ``rule``: the definition stores it, and its event is ``edited``, since suggestions depend on it.
* ``space``: as ``rule``. It is part of the search space, which ``create_study`` with ``update`` does not edit.
"""
Form = Literal["value", "duration", "difference", "share"]
"""How sentences write a value: as it is, as a duration in seconds, as a difference of the objective, or as a
percentage."""


@dataclass(frozen=True)
class Setting:
    """Marks a field as a setting, or as a rule of the setting ``stop``."""

    option: str
    """Its help as an option of commands: a few words."""
    changed_by: ChangedBy | None = None
    """None: it cannot be changed."""
    is_lasting: bool = False
    """Whether it can be changed, but not removed."""
    change: str | None = None
    """The description of a change, if it differs from that of the setting."""
    removal: str = ""
    """What removing it means, if that is more than its absence."""
    for_agents: str | None = None
    """The description for agents, if it differs."""
    by_agents: bool = False
    """Whether agents may change it. Other changes are for people, since they may spend more than was agreed."""
    words: str = ""
    """What sentences about a change call it; empty if it has sentences of its own, or cannot be changed."""
    form: Form = "value"
    label: str = ""
    """Its label among the limits in the forms of the web interface; empty if it has its own place there."""


def settings_of(model: type[BaseModel]) -> Mapping[str, Setting]:
    """Return the settings among the fields of a model, by name."""
    return {
        name: each for name, field in model.model_fields.items() for each in field.metadata if isinstance(each, Setting)
    }


def is_optional(field: FieldInfo) -> bool:
    """Return whether a field may be null."""
    return NoneType in get_args(field.annotation)

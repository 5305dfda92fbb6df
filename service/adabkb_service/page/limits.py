"""The limits of a study as fields of two forms: for a new study, and to change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from adabkb_service.contract.answers import Study
from adabkb_service.contract.setting import Setting, is_optional
from adabkb_service.contract.settings import SETTINGS, StudyFields
from adabkb_service.operations.words.wording import budget, duration

NEVER = "never"
NO_LIMIT = "no limit"
"""What an empty field of a limit without a default means."""


@dataclass(frozen=True)
class Limit:
    """A setting with a ``label``."""

    name: str
    label: str
    kind: Literal["number", "duration", "limit"]
    """How scripts read it: a number, a duration with its unit, or a number or ``NEVER``."""
    description: str
    by_default: str
    """Its value if a new study does not give it, in words."""
    has_default: bool

    @property
    def attributes(self) -> str:
        """The attributes of its field, in HTML."""
        numeric = ' inputmode="numeric"' if self.kind == "number" else ""
        return f'name="{self.name}" data-type="{self.kind}"{numeric}'

    @property
    def help(self) -> str:
        """Its description, and what removes it."""
        return f"{self.description}; “{NEVER}” is possible" if self.kind == "limit" else self.description

    def written(self, study: Study) -> str:
        """Return the value in a study as a person types it."""
        value = getattr(study, self.name)
        if value is None:
            return NEVER if self.kind == "limit" else ""
        return duration(value) if self.kind == "duration" else str(value)


def _limit(name: str, setting: Setting) -> Limit:
    field = StudyFields.model_fields[name]
    has_default = field.default is not None
    is_limit = is_optional(field) and has_default
    kind: Literal["number", "duration", "limit"] = "limit" if is_limit else "number"
    by_default = str(field.default) if has_default else NO_LIMIT
    kind = "duration" if setting.form == "duration" else kind
    return Limit(name, setting.label, kind, field.description or "", by_default, has_default)


LIMITS = tuple(_limit(name, setting) for name, setting in SETTINGS.items() if setting.label)


def limits_now(study: Study) -> dict[str, Any]:
    """Return what the form for changes of limits can change, with the present values."""
    others = {"budget": budget(study), "lease_seconds": study.lease_seconds, "tags": study.tags}
    return others | {limit.name: getattr(study, limit.name) for limit in LIMITS}

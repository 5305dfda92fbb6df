"""The changed settings of a study in words, for its list of events and for its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, Quantity, in_points, with_unit
from adabkb_service.contract.settings import IN_COLUMNS, LABELS, SETTINGS
from adabkb_service.contract.stop import RULES
from adabkb_service.operations.words.values_in_words import figure, shown
from adabkb_service.operations.words.wording import counted_plates, duration

KNOWN = {**{name: SETTINGS[name] for name in (*IN_COLUMNS, *LABELS)}, **RULES}
"""The settings that an event ``updated`` can have, and the rules of ``stop``."""
OF_PARAMETERS = "names and units of parameters"
NO_QUANTITIES = "no names, units and bounds of results"


def changed(
    changes: Mapping[str, Any], quantities: Mapping[str, Quantity], was: Mapping[str, Any] | None = None
) -> str:
    """Return the changes in an event, with units.

    Args:
        changes: the new values by the names of the settings.
        quantities: the labels, units and bounds of the study's results.
        was: the former values, as far as they are known.
    """
    unit = quantities.get(OBJECTIVE, UNNAMED).unit
    return ", ".join(_change(name, value, unit) + _former(name, was or {}, unit) for name, value in changes.items())


def _former(name: str, was: Mapping[str, Any], unit: str | None) -> str:
    """Return the former value of a setting in parentheses; empty if it had none, or if the change is not its value."""
    if name in ("quantities", "parameters") or was.get(name) in (None, {}):
        return ""
    return f" (it was {_value(name, was[name], unit)})"


def _change(name: str, value: Any, unit: str | None) -> str:
    if name == "quantities":
        return _quantities(value)
    return OF_PARAMETERS if name == "parameters" else f"{_label(name)} = {_value(name, value, unit)}"


def _label(name: str) -> str:
    return KNOWN[name].words if name in KNOWN else name


def _value(name: str, value: Any, unit: str | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        return counted_plates(value["plates"]) if name == "budget" else _parts(value, unit)
    match KNOWN[name].form if name in KNOWN else "value":
        case "duration":
            return duration(value)
        case "difference":
            return in_points(shown(value), unit)
        case "share":
            return f"{figure(100 * value)}\N{NO-BREAK SPACE}%"
        case _:
            return shown(value)


def _parts(value: Mapping[str, Any], unit: str | None) -> str:
    return ", ".join(f"{_label(key)}: {_value(key, each, unit)}" for key, each in value.items()) or "none"


def _quantities(value: Mapping[str, Any]) -> str:
    return "; ".join(_quantity(each, fields) for each, fields in value.items()) or NO_QUANTITIES


def _quantity(name: str, fields: Mapping[str, Any]) -> str:
    """Return the label, the unit and the natural bounds of a quantity in words."""
    known = Quantity.model_validate(fields)
    bounds = {"from": known.low, "to": known.high}
    ends = [f"{word} {with_unit(figure(end), known.unit)}" for word, end in bounds.items() if end is not None]
    details = [*([known.unit] if known.unit else []), *([f"possible values {' '.join(ends)}"] if ends else [])]
    label = known.label or ("result" if name == OBJECTIVE else name)
    return f"{label} ({', '.join(details)})" if details else label

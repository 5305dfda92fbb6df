"""Points, results and studies as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_client._values import figure
from adabkb_service.errors import shortened


def point(parameters: Mapping[str, Any]) -> str:
    """Return a point as text, its numbers with six significant digits."""
    return " ".join(f"{name}={_value(value)}" for name, value in parameters.items())


def exact_point(parameters: Mapping[str, Any]) -> str:
    """Return a point to evaluate as text, its numbers with all digits."""
    return " ".join(f"{name}={value!r}" for name, value in parameters.items())


def measured(result: Mapping[str, Any]) -> str:
    """Return the metrics of a result as text to follow its value; empty in a study without metrics."""
    return f" ({point(result['metrics'])})" if result.get("metrics") else ""


def summary(study: Mapping[str, Any]) -> str:
    """Return the state of a study as one line of text."""
    counts, best = study["counts"], study["best"]
    why = f" ({study['reason']})" if study["reason"] not in (None, study["state"]) else ""
    # Only the full study has a budget; the summary in other answers has none.
    budget = study.get("budget")
    total = f"{budget} trials of the budget" if isinstance(budget, int) else f"{counts['trials']} trials so far"
    chosen = f" ({name})" if (name := algorithm(study)) else ""
    title = f" {shortened(study['title'], 80)!r}" if study.get("title") else ""
    plates = f", plate {counts['plates']} of {budget['plates']}" if budget and is_in_plates(budget) else ""
    line = f"{study['id']}{title}{chosen}: {study['state']}{why}, {counts['completed']} of {total} completed{plates}"
    if counts["observations"] > counts["completed"]:
        line += f", {counts['observations']} results"
    if "cost_spent" in study:
        line += f", cost {figure(study['cost_spent'])}"
        line += f" of {figure(budget['cost'])}" if isinstance(budget, dict) and "cost" in budget else ""
    if study.get("objectives"):
        names = ", ".join(each["metric"] for each in study["objectives"])
        line += f", objectives {names} (adabkb study front {study['id']})"
    if best is not None:
        word = "best" if best.get("feasible", True) else "none satisfies the outcome constraints; nearest"
        line += f", {word} {in_unit(study, figure(best['value']))}{measured(best)} at {point(best['parameters'])}"
    return line


def is_in_plates(budget: object) -> bool:
    """Whether a budget is a number of plates."""
    return isinstance(budget, dict) and "plates" in budget


def in_unit(study: Mapping[str, Any], number: str) -> str:
    """Return a number of the objective with its unit, if any."""
    unit = study.get("quantities", {}).get("value", {}).get("unit")
    return f"{number} {unit}" if unit else number


def algorithm(study: Mapping[str, Any]) -> str:
    """Return the study's algorithm with its profile; empty for the default one."""
    chosen = study.get("algorithm", {})
    found = [chosen.get("kind"), chosen.get("profile")]
    return "" if found in ([None, None], ["ada-bkb", "auto"]) else " ".join(filter(None, found))


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return figure(value) if isinstance(value, float) else repr(value)

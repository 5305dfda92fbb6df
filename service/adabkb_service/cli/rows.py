"""Trials, results and studies as rows of a text table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adabkb_client._values import figure
from adabkb_service.cli.described import algorithm, is_in_plates
from adabkb_service.cli.output import table

Row = Mapping[str, Any]


def columns(rows: Sequence[Row]) -> str:
    """Return rows below the names of their fields. A column without any value is left out."""
    every = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in every if any(row.get(name) not in (None, "") for row in rows)]
    return table(names, [[_cell(row.get(name)) for name in names] for row in rows])


def trials(found: Iterable[Row]) -> list[Row]:
    """Return a row for each trial: its state, result, duration, worker, parameters and a note."""
    return [
        {
            "trial": each["number"],
            "state": each["state"],
            "plate": each.get("plate"),
            "value": each["value"],
            **(each.get("metrics") or {}),
            "seconds": each.get("seconds"),
            "worker": each["worker"],
            **_shown(each["parameters"]),
            "note": _note(each),
        }
        for each in found
    ]


def results(found: Iterable[Row]) -> list[Row]:
    """Return a row for each result: its trial, numbers, parameters and a note."""
    return [
        {
            "observation": each["seq"],
            "trial": each["trial"],
            "plate": each.get("plate"),
            "value": each.get("value"),
            "std_error": each["std_error"],
            **(each.get("metrics") or {}),
            **_shown(each["parameters"]),
            "note": _status(each),
        }
        for each in found
    ]


def _status(result: Row) -> str:
    """Return why the model ignores a result, and what the result lacks."""
    words = [word for word in ("excluded", "outside") if result.get(word)]
    lacking = ", ".join(result.get("missing") or ())
    return "; ".join([*words, *([f"{lacking} missing"] if lacking else [])])


def studies(found: Iterable[Row]) -> list[Row]:
    """Return a row for each study: its owner, state, progress and best result."""
    return [
        {
            "study": each["id"],
            "title": each["title"],
            "owner": each.get("owner"),
            "state": each["state"],
            "reason": each["reason"] if each["reason"] != each["state"] else None,
            "algorithm": algorithm(each),
            "completed": _of_budget(each),
            "active": each["counts"]["active"] or None,
            "failed": each["counts"]["failed"] or None,
            "best": None if each["best"] is None else each["best"]["value"],
        }
        for each in found
    ]


def _of_budget(study: Row) -> str:
    completed, budget = study["counts"]["completed"], study["budget"]
    if is_in_plates(budget):
        return f"{completed}, plate {study['counts']['plates']} of {budget['plates']}"
    return f"{completed} of {budget}" if isinstance(budget, int) else str(completed)


def _shown(parameters: Row) -> dict[str, Any]:
    """Return the values of a point as cells. The value None is shown as null, since an empty cell means an inactive
    parameter."""
    return {name: "null" if value is None else value for name, value in parameters.items()}


def _note(trial: Row) -> str:
    curve = trial["curve"]
    notes = {
        "failed": trial["reason"] or "",
        "withdrawn": trial["reason"] or "",
        "stopped": f"at step {curve['step']} with {_cell(curve['value'])}" if curve else "",
        "active": f"until {trial['leased_until']}",
    }
    return notes.get(trial["state"], "")


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return " ".join((value or "").split())
    return figure(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)

"""The columns of the table of trials and results that do not depend on the study, and their cells.

The export and the client's ``Study.to_frame`` have the same table. ``make generate`` copies this module to the client,
so it imports only the standard library. It reads the records of the client and those of the server, which name their
fields alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    kind: Literal["integer", "number", "text", "flag", "time"]
    title: str
    """Its title in a table for people."""
    of_trial: str = ""
    """The field of the trial that it has; empty if it has none."""
    of_result: str = ""
    """The field of the result that it has, in place of the trial's."""
    of_attempt: bool = False
    """Whether the field of the trial is of its last attempt. It is left out if the result is of an earlier one."""


FIRST: Mapping[str, Column] = {
    "trial": Column("integer", "Trial", "number"),
    "state": Column("text", "State", "state"),
}
"""Columns before the parameters."""
PLATE: Mapping[str, Column] = {"plate": Column("integer", "Plate", "plate", "plate")}
"""The column after ``FIRST``, in a study with plates."""
RESULT: Mapping[str, Column] = {
    "value": Column("number", "Result", of_result="value"),
    "std_error": Column("number", "±", of_result="std_error"),
}
"""Columns between the parameters and the metrics."""
MEASURED = ("metrics", "std_errors")
"""Fields of a result with numbers by metric, each of which has a column such as ``metrics.NAME``."""
LAST: Mapping[str, Column] = {
    "reason": Column("text", "Reason", "reason"),
    "note": Column("text", "Note"),
    "worker": Column("text", "Worker", "worker", of_attempt=True),
    "reported_by": Column("text", "Reported by", "reported_by", "reported_by"),
    "attempt": Column("integer", "Attempt", "attempt", "attempt"),
    "origin": Column("text", "Why", "origin"),
    "started_at": Column("time", "Started (UTC)", "started_at", of_attempt=True),
    "finished_at": Column("time", "Finished (UTC)", "finished_at", of_attempt=True),
    "duration_seconds": Column("number", "Duration [s]", "seconds", "seconds", of_attempt=True),
    "observation": Column("integer", "Result number", of_result="seq"),
    "observed_at": Column("time", "When (UTC)", of_result="observed_at"),
    "excluded": Column("flag", "Excluded", of_result="excluded"),
    "outside": Column("flag", "Outside the ranges", of_result="outside"),
}
"""Columns after the metrics; ``reported_by`` only if a user is known, and ``note`` is an attribute."""
COLUMNS: Mapping[str, Column] = {**FIRST, **PLATE, **RESULT, **LAST}
"""The columns by name."""


def cells(trial: Any, result: Any) -> Row:
    """Return the cells of a row in these columns and in those of metrics. Empty cells may be left out.

    Args:
        trial: the trial; None for a result without a trial.
        result: its result; None for a trial without a result.
    """
    is_last = result is None or trial is None or result.attempt == trial.attempt
    row: Row = {"state": "completed", "note": _text((result if trial is None else trial).attributes.get("note"))}
    for name, column in COLUMNS.items():
        if trial is not None and column.of_trial and (is_last or not column.of_attempt):
            row[name] = getattr(trial, column.of_trial)
        if result is not None and column.of_result and (name != "plate" or result.plate is not None):
            row[name] = getattr(result, column.of_result)
    for field in MEASURED if result is not None else ():
        row |= {f"{field}.{name}": number for name, number in (getattr(result, field) or {}).items()}
    return row


def _text(note: Any) -> str | None:
    """Return a note as text; as JSON if a program has stored something other than text."""
    return note if note is None or isinstance(note, str) else json.dumps(note)

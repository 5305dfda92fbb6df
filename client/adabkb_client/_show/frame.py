"""The table of a study's trials and results, with the columns and rows of the server's CSV (``export("csv")``)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adabkb_client._models import Observation, StudyInfo, Trial
from adabkb_client._show.columns import pandas

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

FIRST = ("trial", "state")
"""Columns before the parameters."""
PLATE = ("plate",)
"""Column after these, in a study with plates."""
RESULT = ("value", "std_error")
"""Columns between the parameters and the metrics."""
LAST = (
    "reason",
    "note",
    "worker",
    "attempt",
    "origin",
    "started_at",
    "finished_at",
    "duration_seconds",
    "observation",
    "observed_at",
    "excluded",
    "outside",
)
"""Columns after the metrics."""
KINDS = {
    **dict.fromkeys(("trial", "attempt", "observation"), "Int64"),
    **dict.fromkeys(("excluded", "outside"), "boolean"),
    **dict.fromkeys(("reason", "note", "worker", "origin"), "object"),
    **dict.fromkeys(("started_at", "finished_at", "observed_at"), "datetime64[us, UTC]"),
    **dict.fromkeys(("value", "std_error", "duration_seconds"), "float64"),
}
"""Pandas types of columns that may have empty cells."""


def of_study(study: StudyInfo, trials: Sequence[Trial], observations: Iterable[Observation]) -> "pd.DataFrame":
    """Return the frame of a study: see ``Study.to_frame``."""
    told = list(rows(trials, observations))
    kinds = {**KINDS, **(dict.fromkeys(PLATE, "Int64") if study.plates else {})}
    found: pd.DataFrame = pandas("to_frame()").DataFrame(told, columns=columns(study)).astype(kinds)
    return found


def columns(study: StudyInfo) -> list[str]:
    """Return the columns of a study's table in order."""
    metrics = [*(each["metric"] for each in study.objectives), *study.metrics]
    measured = [f"{field}.{name}" for field in ("metrics", "std_errors") for name in metrics]
    plate = PLATE if study.plates else ()
    return [*FIRST, *plate, *(f"parameters.{each['name']}" for each in study.parameters), *RESULT, *measured, *LAST]


def rows(trials: Sequence[Trial], observations: Iterable[Observation]) -> Iterator[Row]:
    """Yield the trials ordered by number, then the results without a trial.

    A trial without a result has one row. A trial with several results (replicates by several attempts) has one for
    each. Results that were stored after the trials were read are omitted.
    """
    results: dict[int | None, list[Observation]] = {}
    for observation in observations:
        results.setdefault(observation.trial, []).append(observation)
    for trial in trials:
        told = results.get(trial.number, ()) if trial.state == "completed" else ()
        yield from (_of_trial(trial, result) | _of_result(result) for result in told)
        if not told:
            yield _of_trial(trial, None) | _point(trial.parameters)
    yield from ({"state": "completed"} | _of_result(result) for result in results.get(None, ()))


def _of_trial(trial: Trial, result: Observation | None) -> Row:
    """Return the cells of a trial, and of its last attempt unless the result belongs to an earlier one."""
    row = {name: getattr(trial, name) for name in ("state", "reason", "attempt", "origin")}
    row["note"] = _text(trial.attributes.get("note"))
    if result is None or result.attempt == trial.attempt:
        row |= {name: getattr(trial, name) for name in ("worker", "started_at", "finished_at")}
        if trial.started_at is not None and trial.finished_at is not None:
            row["duration_seconds"] = (trial.finished_at - trial.started_at).total_seconds()
    row["note"] = trial.attributes.get("note")
    return {"trial": trial.number, **({} if trial.plate is None else {"plate": trial.plate}), **row}


def _text(note: Any) -> str | None:
    """Return a note, which is text or, if a program stored something else, that as JSON."""
    return note if note is None or isinstance(note, str) else json.dumps(note)


def _of_result(result: Observation) -> Row:
    row = {name: getattr(result, name) for name in (*RESULT, "attempt", "observed_at", "excluded", "outside")}
    for field in ("metrics", "std_errors"):
        row |= {f"{field}.{name}": number for name, number in (getattr(result, field) or {}).items()}
    if result.plate is not None:
        row["plate"] = result.plate
    return {**row, "observation": result.seq, **_point(result.parameters)}


def _point(parameters: Mapping[str, Any]) -> Row:
    return {f"parameters.{name}": value for name, value in parameters.items()}

"""Tables of records: their columns, and pandas frames."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from adabkb_client._columns import COLUMNS, FIRST, LAST, MEASURED, PLATE, RESULT, Row
from adabkb_client._columns import cells as cells_of
from adabkb_client._records import Change, Observation, StudyInfo, Trial, layout
from adabkb_client._values import as_it_is

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 50
"""The maximum number of items of a list that are shown."""
LONGEST = 80
"""The maximum number of characters of a value that are shown."""
SHOWN_FIELDS = {
    "Trial": ("number", "state", "value", "parameters", "worker", "attempt", "reason"),
    "Observation": ("seq", "trial", "value", "std_error", "parameters", "excluded"),
}
"""The fields that are shown, by kind of record; other kinds show all."""
NAMED = ("parameters", "to_measure", *MEASURED, "attributes")
"""Fields with values by name."""
NUMBERS = tuple(f"{field}." for field in MEASURED)
"""Prefixes of columns of numbers."""


def cells(record: Any) -> dict[str, Any]:
    """Return the columns of a record with their values."""
    if hasattr(record, "trial_budget"):  # a study
        best = None if record.best is None else record.best.value
        completed = f"{record.counts.completed}{'' if record.trial_budget is None else f' of {record.trial_budget}'}"
        if record.plate_budget is not None:
            completed += f", plate {record.counts.plates} of {record.plate_budget}"
        owner = {"owner": name} if (name := getattr(record, "owner", None)) is not None else {}
        return {"id": record.id, **owner, "state": record.state, "completed": completed, "best": best}
    fields = record if isinstance(record, Mapping) else vars(record)
    found: dict[str, Any] = {}
    for name in SHOWN_FIELDS.get(type(record).__name__, tuple(fields)):
        if name == "parameters" and isinstance(fields[name], Mapping):
            found |= {f"parameters.{each}": choice(value) for each, value in fields[name].items()}
        else:
            found[name] = fields[name]
    return found


def frame(records: Sequence[Any]) -> "pd.DataFrame":
    """Return a pandas frame with a row for each record: see ``Items.to_frame``."""
    found: pd.DataFrame = pandas("to_frame()").DataFrame([fields(each) for each in records])
    return typed(found, kinds_of(type(records[0])) if records else {})


def kinds_of(record: type) -> dict[str, str]:
    """Return the pandas types of a record's fields whose type is in ``KIND_OF``, by name."""
    if not is_dataclass(record):
        return {}
    if issubclass(record, StudyInfo):
        return {**dict.fromkeys(("id", "owner", "state", "completed"), "object"), "best": "float64"}
    hints = {name: hint for name, (hint, _) in layout(record).items()}
    return {name: KIND_OF[hint] for name, hint in hints.items() if hint in KIND_OF}


def typed(found: "pd.DataFrame", kinds: Mapping[str, str]) -> "pd.DataFrame":
    """Return a frame with these types of columns. A missing cell is NaN or NA in numbers and truth values, NaT in
    times, and None in other columns."""
    kinds = {**kinds, **{name: "float64" for name in found.columns if str(name).startswith(NUMBERS)}}
    found = found.astype({name: kind for name, kind in kinds.items() if name in found.columns})
    for name in found.columns:
        if str(found[name].dtype) in ("object", "str", "string"):
            found[name] = found[name].astype("object").where(found[name].notna(), None)
    return found


def pandas(caller: str) -> Any:
    """Return pandas. ``caller`` is the call that needs it, for the error.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 (an optional dependency)
    except ImportError as error:
        raise ImportError(f"{caller} needs pandas: pip install pandas") from error
    return pd


def fields(record: Any) -> dict[str, Any]:
    """Return all fields of a record, in which parameters, metrics and standard errors are separate columns."""
    if hasattr(record, "trial_budget"):  # a study
        return {**cells(record), "created_at": record.created_at}
    if not isinstance(record, Mapping):
        record = {each.name: getattr(record, each.name) for each in fields_of(record) if each.compare}
    found: dict[str, Any] = {}
    for name, value in record.items():
        if name in NAMED and (value is None or isinstance(value, Mapping)):
            cell = choice if name == "parameters" else as_it_is
            found |= {f"{name}.{each}": cell(part) for each, part in (value or {}).items()}
        else:
            found[name] = value
    return found


def choice(value: Any) -> Any:
    """Return a parameter's value as a cell; None, which is a valid choice, becomes the string "None"."""
    return "None" if value is None else value


def changes(found: Sequence[Change]) -> str:
    """Return the changes of a point from the baseline with their gains, in one line of text."""
    texts = (f"{each.parameter} from {each.baseline} (gains {each.gain:.3g})" for each in found)
    return ", ".join(texts) or "nothing"


KINDS_OF_COLUMNS = {
    "integer": "Int64",
    "number": "float64",
    "text": "object",
    "flag": "boolean",
    "time": "datetime64[us, UTC]",
}
KINDS = {name: KINDS_OF_COLUMNS[column.kind] for name, column in COLUMNS.items()}
"""Pandas types of columns of a study's table."""
KIND_OF: dict[Any, str] = {
    int | None: "Int64",
    float | None: "float64",
    bool | None: "boolean",
    datetime | None: "datetime64[us, UTC]",
    str | None: "object",
    str: "object",
}
"""Pandas types of a record's fields that may be None, and of texts."""


def of_study(study: StudyInfo, trials: Sequence[Trial], observations: Iterable[Observation]) -> "pd.DataFrame":
    """Return the frame of a study: see ``Study.to_frame``."""
    cells_by_row = list(rows(trials, observations))
    names = columns(study, has_reporters=any(row.get("reported_by") for row in cells_by_row))
    return typed(pandas("to_frame()").DataFrame(cells_by_row, columns=names), KINDS)


def columns(study: StudyInfo, *, has_reporters: bool) -> list[str]:
    """Return the columns of a study's table in order."""
    metrics = [*(each["metric"] for each in study.objectives), *study.metrics]
    measured = [f"{field}.{name}" for field in MEASURED for name in metrics]
    plate = PLATE if study.plates else ()
    parameters = (f"parameters.{each['name']}" for each in study.parameters)
    last = (name for name in LAST if has_reporters or name != "reported_by")
    return [*FIRST, *plate, *parameters, *RESULT, *measured, *last]


def rows(trials: Sequence[Trial], observations: Iterable[Observation]) -> Iterator[Row]:
    """Yield the trials ordered by number, then the results without a trial.

    A trial without a result has one row. A trial with several results (replicates by several attempts) has one for
    each. Results of trials that had not ended when the trials were read are omitted.
    """
    results: dict[int | None, list[Observation]] = {}
    for observation in observations:
        results.setdefault(observation.trial, []).append(observation)
    for trial in trials:
        own = results.get(trial.number, ()) if trial.state in ("completed", "stopped") else ()
        yield from (cells_of(trial, result) | _point(result.parameters) for result in own)
        if not own:
            yield cells_of(trial, None) | _point(trial.parameters)
    yield from (cells_of(None, result) | _point(result.parameters) for result in results.get(None, ()))


def _point(parameters: Mapping[str, Any]) -> Row:
    return {f"parameters.{name}": choice(value) for name, value in parameters.items()}

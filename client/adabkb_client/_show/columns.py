"""The columns of records in a table, for consoles, notebooks and frames."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adabkb_client._models import Change

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 50
"""The maximum number of items of a list that are shown."""
LONGEST = 80
"""The maximum number of characters of a value that are shown."""
COLUMNS = {
    "Trial": ("number", "state", "value", "parameters", "worker", "attempt", "reason"),
    "Observation": ("seq", "trial", "value", "std_error", "parameters", "excluded"),
}
"""The fields that are shown, by kind of record; other kinds show all."""
NAMED = ("parameters", "metrics", "std_errors", "attributes")
"""Fields with values by name."""


def cells(record: Any) -> dict[str, Any]:
    """Return the columns of a record with their values."""
    if hasattr(record, "trial_budget"):  # a study
        best = None if record.best is None else record.best.value
        completed = f"{record.counts.completed}{'' if record.trial_budget is None else f' of {record.trial_budget}'}"
        return {"id": record.id, "state": record.state, "completed": completed, "best": best}
    fields = record if isinstance(record, Mapping) else vars(record)
    found: dict[str, Any] = {}
    for name in COLUMNS.get(type(record).__name__, tuple(fields)):
        if name == "parameters" and isinstance(fields[name], Mapping):
            found |= {f"parameters.{each}": choice(value) for each, value in fields[name].items()}
        else:
            found[name] = fields[name]
    return found


def frame(records: Sequence[Any]) -> "pd.DataFrame":
    """Return a pandas frame with a row for each record: see ``Items.to_frame``."""
    found: pd.DataFrame = pandas("to_frame()").DataFrame([fields(each) for each in records])
    return found


def pandas(asked: str) -> Any:
    """Return pandas.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 (an optional dependency)
    except ImportError as error:
        raise ImportError(f"{asked} needs pandas: pip install pandas") from error
    return pd


def fields(record: Any) -> dict[str, Any]:
    """Return all fields of a record, in which parameters, metrics and standard errors are separate columns."""
    if hasattr(record, "trial_budget"):  # a study
        return {**cells(record), "created_at": record.created_at}
    found: dict[str, Any] = {}
    for name, value in (record if isinstance(record, Mapping) else vars(record)).items():
        if name in NAMED and (value is None or isinstance(value, Mapping)):
            found |= {f"{name}.{each}": number for each, number in (value or {}).items()}
        else:
            found[name] = value
    return found


def choice(value: Any) -> Any:
    """Return a parameter's value as a cell; None, which is a valid choice, becomes a string."""
    return "None" if value is None else value


def changes(found: Sequence[Change]) -> str:
    """Return the changes of a point from the baseline with their gains, in one line of text."""
    told = (f"{each.parameter} from {each.baseline} (gains {each.gain:.3g})" for each in found)
    return ", ".join(told) or "nothing"

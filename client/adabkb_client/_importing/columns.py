"""The columns of a source that have the fields of a study's results."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adabkb_client._records import StudyInfo
from adabkb_client._tables import NESTED
from adabkb_client._values import titled

TITLES = {"state": "State", "plate": "Plate", "reason": "Reason", "excluded": "Excluded"}
"""The titles of columns in an Excel file of a study, or in a CSV with titles."""
REASON = "reason"
"""The column of an export that has the reasons of failures."""
EXCLUDED = "excluded"
"""The column of an export that marks excluded results; also the state of such rows."""
DECIMALS = (".", ",")
"""The possible decimal marks."""
VALUE = "value"
"""The default column of the value."""
PLATE = "plate"
"""The default column of plates. It is ignored in a study without plates."""


class NoColumn(ValueError):
    """A source has no column for a ``parameter`` or, if that is None, for ``field``: "value", "std_error", "state" or
    "plate".

    ``what`` describes this without the remedy, which depends on the interface.
    """

    def __init__(self, meant: str, columns: Sequence[str], *, parameter: str | None = None, field: str = "") -> None:
        self.what = f"there is no column for {meant}; the columns are {', '.join(columns) or 'none'}"
        self.parameter = parameter
        self.field = field
        argument = f"{field}=..." if parameter is None else f"columns={{{parameter!r}: ...}}"
        super().__init__(f"{self.what}. Name it: {argument}")


@dataclass(frozen=True, kw_only=True)
class Named:
    """The columns as the user names them, and how cells are read: the arguments of ``StudyCalls.import_results``."""

    parameters: Mapping[str, str]
    """Parameter -> its column, for columns with other names."""
    value: str
    std_error: str | None
    """The column of the standard errors; None if there is none. A column with the default name may be missing."""
    state: str | None
    """The column of the states, as for ``std_error``."""
    plate: str | None
    """The column of the plates, as for ``std_error``."""
    decimal: str
    """The decimal mark of numbers, "." or ","."""
    choices: Mapping[str, Mapping[str, Any]]
    """Parameter -> text of a cell -> the choice that it means."""


@dataclass(frozen=True)
class Columns:
    """The column of each field: of the parameters, the metrics and their standard errors by name, and of the value, its
    standard error, the state and the plate. Also how cells are read."""

    parameters: Mapping[str, str]
    value: str | None
    std_error: str | None
    state: str | None
    metrics: Mapping[str, str] = field(default_factory=dict)
    std_errors: Mapping[str, str] = field(default_factory=dict)
    plate: str | None = None
    decimal: str = "."
    """The decimal mark."""
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameter -> text of a cell -> the choice that it means."""

    def unused(self, columns: Iterable[str]) -> list[str]:
        """Return the columns that are not used."""
        measured = {*self.metrics.values(), *self.std_errors.values()}
        used = {*self.parameters.values(), self.value, self.std_error, self.state, self.plate, *measured}
        used |= {EXCLUDED, TITLES[EXCLUDED]} | ({REASON, TITLES[REASON]} if self.state is not None else set())
        return [column for column in columns if column not in used]


def chosen(columns: Sequence[str], info: StudyInfo, named: Named) -> Columns:
    """Return the columns of the fields: those that the user names, or otherwise those with the default names. The
    column of a metric has its name, or ``metrics.<name>`` as in exports.

    Raises:
        NoColumn: a parameter or the value has no column, or a named column does not exist.
        ValueError: a metric has no column, the mapping or the choices name an unknown parameter, the value and a
            parameter have the same column, or the decimal mark is invalid.
    """
    _check(named, [parameter["name"] for parameter in info.parameters])
    quantities = info.quantities or {}
    parameters = _of_parameters(columns, info.parameters, named.parameters)
    value = _of_value(columns, named.value, quantities.get("value", {}))
    if value not in columns and not info.objectives:
        raise NoColumn(f"the value ({value!r})", columns, field="value")
    if value in parameters.values():
        raise ValueError(
            f"column {value!r} is used for the value and for a parameter; name another column for one of them"
        )
    taken = {*parameters.values(), value}
    metrics = {name: _of_metric(name, quantities.get(name, {}), columns) for name in measured(info)}
    errors = {name: _of_error(name, quantities.get(name, {}), columns) for name in metrics}
    title = titled("±", {"unit": quantities.get("value", {}).get("unit")})
    plate = None if named.plate == PLATE and not info.plates else named.plate
    return Columns(
        parameters,
        None if info.objectives else value,
        _optional("std_error", named.std_error, columns, taken, title),
        _optional("state", named.state, columns, taken, TITLES["state"]),
        metrics,
        {name: column for name, column in errors.items() if column is not None},
        _optional("plate", plate, columns, taken | set(metrics.values()), TITLES["plate"]),
        named.decimal,
        named.choices,
    )


def measured(info: StudyInfo) -> list[str]:
    """Return the names of the metrics of each result."""
    return [*(each["metric"] for each in info.objectives), *info.metrics]


def _check(named: Named, names: Collection[str]) -> None:
    """Refuse an invalid decimal mark, and names that are not parameters."""
    if named.decimal not in DECIMALS:
        raise ValueError(f"decimal must be {' or '.join(map(repr, DECIMALS))}, not {named.decimal!r}")
    for what, given in (("a column is", named.parameters), ("choices are", named.choices)):
        if unknown := next((name for name in given if name not in names), None):
            raise ValueError(f"{what} given for {unknown!r}, which is not one of the parameters: {', '.join(names)}")


def _of_parameters(
    columns: Sequence[str], parameters: Iterable[Mapping[str, Any]], named: Mapping[str, str]
) -> dict[str, str]:
    """Return the column of each parameter. Fixed parameters, and those with a condition, may have none."""
    found: dict[str, str] = {}
    for parameter in parameters:
        name = parameter["name"]
        # The third name is used in Optuna's frames, the last one in Excel files of a study.
        usual = (f"{NESTED}.{name}", name, f"params_{name}", titled(name, parameter))
        candidates = (named[name],) if name in named else usual
        column = next((each for each in candidates if each in columns), None)
        if column is not None:
            found[name] = column
        elif name in named or not (parameter["kind"] == "fixed" or parameter.get("when")):
            raise NoColumn(f"parameter {name!r}", columns, parameter=name)
    return found


def _of_value(columns: Sequence[str], named: str, objective: Mapping[str, Any]) -> str:
    """Return the column of the value; it may not exist."""
    if named != VALUE:
        return named
    title = titled("Result", objective)
    titles = (named, titled(named, objective), title)
    return next((each for each in titles if each in columns), title if objective.get("label") else named)


def _of_metric(name: str, words: Mapping[str, Any], columns: Sequence[str]) -> str:
    column = next((each for each in (f"metrics.{name}", name, titled(name, words)) if each in columns), None)
    if column is None:
        raise ValueError(f"there is no column for metric {name!r}: call it {name}, or metrics.{name} as in exports")
    return column


def _of_error(name: str, words: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    title = titled(f"± {words.get('label') or name}", {"unit": words.get("unit")})
    return next((each for each in (f"std_errors.{name}", title) if each in columns), None)


def _optional(name: str, column: str | None, columns: Sequence[str], taken: set[str], title: str) -> str | None:
    """Return the column of a field; None if it is not given, or if there is none with its default name or title."""
    if column == name:
        return next((each for each in (name, title) if each in columns and each not in taken), None)
    if column is None:
        return None
    if column not in columns:
        raise NoColumn(f"the {name} ({column!r})", columns, field=name)
    return column

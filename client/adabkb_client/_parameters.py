"""The kinds of parameters of a search space.

Each kind except ``Catalogue`` accepts ``when``, the conditions under which a parameter is active. ``Float(0, 1,
when={"kernel": ["rbf"]})`` is active only if the parameter "kernel" is active and is "rbf". All conditions must hold.

Each kind except ``Catalogue`` and ``Fixed`` accepts ``context=True``: the server does not choose its value, which is
known when a trial is requested, such as the humidity. Pass it with ``suggest(context={"humidity": 0.4})``. With
``context="measured"`` it is only known with the result: ``observe(trial, 12.5, parameters={"humidity": 0.4})``.

Each kind accepts ``unit`` and ``label``, such as ``Float(20, 120, unit="°C", label="Oil bath")``, for display in
sentences, figures, tables and forms. The model ignores them, and they can be changed at any time.

The server validates values, and returns a pointer to the invalid field. This module only refuses values that cannot be
sent or are ambiguous.
"""

import csv
import hashlib
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, wraps
from io import StringIO
from typing import Any, ClassVar, Literal, Self, TypeVar

from adabkb_client import _tables as tables
from adabkb_client._hints import add_hints
from adabkb_client._values import plain

log = logging.getLogger("adabkb_client")

Scalar = bool | int | float | str | None
Choice = Scalar | Sequence[Scalar]
"""A value of a parameter. Tuples may be given as lists, and are lists in JSON."""
Context = Literal[False, True, "measured"]
"""Whether the environment, and not the server, sets a parameter: True if its value is known when a trial is requested,
"measured" if it is measured with the result."""
When = Mapping[str, Iterable[Choice]] | None
"""Name of another parameter -> its values for which this one is active; None means always."""


Descriptors = Mapping[str, Iterable[float]] | None
"""Name of a descriptor -> its numbers, one for each choice."""


T = TypeVar("T")


def _at_most_positional(count: int, remedy: str) -> Callable[[type[T]], type[T]]:
    """Refuse calls with more than ``count`` positional arguments, and say how to write them. The remedy can name the
    ``kind`` and the ``values``. The error for an unknown argument has a hint."""

    def explained(kind: type[T]) -> type[T]:
        init = kind.__init__

        @wraps(init)
        def checked(self: T, *values: Any, **named: Any) -> None:
            if len(values) > count:
                called = f"{kind.__name__}({', '.join(map(repr, values))})"
                raise TypeError(f"{called} {remedy.format(kind=kind.__name__, values=list(values))}")
            init(self, *values, **named)

        kind.__init__ = checked  # type: ignore[method-assign, assignment]
        return add_hints(kind)

    return explained


_of_a_range = _at_most_positional(
    2, "takes only low and high without names; name the others: {kind}(low, high, step=..., log=True)"
)
_of_a_list = _at_most_positional(1, "needs a list: {kind}({values})")


@_of_a_range
@dataclass(frozen=True)
class Float:
    """A real number in [low, high]. With ``log``, the search uses a log scale (low > 0). With ``step``, it is one of
    low, low + step, ... up to high.

    With ``periodic``, ``high`` is the same point as ``low``, and values near one end are close to those near the other,
    as for an angle or a time of day. Suggestions are below ``high``.

    With ``when={"kernel": ["rbf"]}`` it is active only while the parameter "kernel" has one of these values. A trial
    does not have parameters that are inactive.
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    periodic: bool = field(default=False, kw_only=True)
    context: Context = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        step = {} if self.step is None else {"step": self.step}
        periodic = {"periodic": True} if self.periodic else {}
        own = {"low": self.low, "high": self.high, "scale": _scale(self.log), **step, **periodic}
        return {"kind": "float", **own, **_known(self.context), **_wire(self.when), **_words(self)}


@_of_a_range
@dataclass(frozen=True)
class Int:
    """An integer in [low, high]: low, low + step, and so on. ``log`` is as in ``Float``.

    With ``when={"kernel": ["poly"]}``, a list of values by parameter, it is active only while "kernel" has one of them.
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)
    context: Context = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        own = {"low": self.low, "high": self.high, "scale": _scale(self.log), "step": self.step}
        return {"kind": "int", **own, **_known(self.context), **_wire(self.when), **_words(self)}


def warn_of_unreachable_bound(name: str, parameter: "Parameter") -> None:
    """Log a warning if a parameter with a step never has its upper bound as a value."""
    if not isinstance(parameter, Float | Int) or not parameter.step or not parameter.step > 0:
        return
    if isinstance(parameter, Int) and not all(float(each).is_integer() for each in (parameter.low, parameter.step)):
        return  # the server refuses it
    steps = (parameter.high - parameter.low) / parameter.step
    if abs(steps - round(steps)) > 1e-9 * max(steps, 1.0):
        last = parameter.low + math.floor(steps) * parameter.step
        log.warning(
            "parameter %r never has the value %.12g: with a step of %.12g from %.12g, its largest value is %.12g",
            name,
            parameter.high,
            parameter.step,
            parameter.low,
            last,
        )


@_of_a_list
@dataclass(frozen=True)
class Ordinal:
    """One of several values in a meaningful order, in which neighbors are similar. ``when`` is as in ``Int``.

    Raises:
        TypeError: the values are not a list, tuple, range or array.
    """

    values: Iterable[Choice]
    context: Context = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _in_order("Ordinal", self.values))
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        return {
            "kind": "ordinal",
            "values": list(self.values),
            **_known(self.context),
            **_wire(self.when),
            **_words(self),
        }


@_of_a_list
@dataclass(frozen=True)
class Categorical:
    """One of several choices without an order.

    With ``when={"kernel": ["poly"]}``, a list of values by parameter, it is active only while "kernel" has one of them.

    ``descriptors`` describe the choices: by name, one number for each choice, in the order of the choices. Choices with
    similar descriptors are expected to give similar results.

    Raises:
        TypeError: the choices are not a list, tuple, range or array, or the descriptors are not lists of numbers by
            name.
        ValueError: the number of values of a descriptor differs from the number of choices.
    """

    choices: Iterable[Choice]
    descriptors: Descriptors = field(default=None, kw_only=True)
    context: Context = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", _in_order("Categorical", self.choices))
        object.__setattr__(self, "descriptors", _described(self.descriptors, tuple(self.choices)))
        object.__setattr__(self, "when", _conditions(self.when))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        context: Context = False,
        when: When = None,
        unit: str | None = None,
        label: str | None = None,
    ) -> Self:
        """Read choices and descriptors from a table: choices from the first column, a descriptor from each further one.

        The file is as in ``Catalogue.from_csv``: CSV in UTF-8, with cells separated by commas, semicolons or tabs, or
        Excel, with a header.

        Raises:
            ValueError: the table does not have this form; the message gives the line and the column.
            OSError: the file cannot be read.
        """
        choices, descriptors = read_choices(path)
        return cls(choices, descriptors=descriptors, context=context, when=when, unit=unit, label=label)

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        known = {name: list(numbers) for name, numbers in (self.descriptors or {}).items()}
        own = {"choices": list(self.choices), **({"descriptors": known} if known else {})}
        return {"kind": "categorical", **own, **_known(self.context), **_wire(self.when), **_words(self)}


@add_hints
@dataclass(frozen=True)
class Bool:
    """True or false.

    With ``when={"kernel": ["poly"]}``, a list of values by parameter, it is active only while "kernel" has one of them.
    """

    context: Context = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        return {"kind": "bool", **_known(self.context), **_wire(self.when), **_words(self)}


@add_hints
@dataclass(frozen=True)
class Fixed:
    """A constant that is part of every point."""

    value: Choice
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        return {"kind": "fixed", "value": self.value, **_wire(self.when), **_words(self)}


MAX_TEXTS = 50
"""The maximum number of different strings in a column of descriptors."""


@add_hints
@dataclass(frozen=True)
class Catalogue:
    """A parameter whose values are names of rows. ``descriptors`` describe the rows: by name, one number for each row.

    Rows with similar descriptors are expected to give similar results. No point is suggested twice, unless results are
    declared to be noisy, or the study is ``robust``. ``Study.change_catalogue`` adds, withdraws and restores rows.

    Raises:
        TypeError: the rows are not a list, or the descriptors are not lists of numbers by name.
        ValueError: there are no rows, a row occurs twice, or the number of values of a descriptor differs from the
            number of rows.
    """

    rows: Sequence[str]
    descriptors: Mapping[str, Iterable[float]]
    cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)
    """Row -> all its cells in the original table."""
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)
    context: ClassVar[Context] = False
    when: ClassVar[None] = None

    def __post_init__(self) -> None:
        if isinstance(self.rows, str | bytes) or not isinstance(self.rows, Sequence):
            raise TypeError(f"Catalogue takes a list of the names of rows, not {self.rows!r}")
        if not isinstance(self.descriptors, Mapping):
            raise TypeError('descriptors must have lists of numbers by name, such as {"logp": [...], "mw": [...]}')
        rows = tuple(str(plain(row)) for row in self.rows)
        if not rows:
            raise ValueError("a catalogue needs at least one row")
        if len(set(rows)) < len(rows):
            twice = next(row for number, row in enumerate(rows) if row in rows[:number])
            raise ValueError(f"the row {twice!r} occurs twice; give each row once")
        found = {name: tuple(plain(number) for number in numbers) for name, numbers in self.descriptors.items()}
        for name, numbers in found.items():
            if len(numbers) != len(rows):
                raise ValueError(
                    f"the descriptor {name!r} has {len(numbers)} numbers, but there are {len(rows)} rows; give one "
                    "for each row"
                )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "descriptors", found)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        descriptors: Sequence[str] | None = None,
        label: str | None = None,
    ) -> Self:
        """Read the rows of a table from a CSV or Excel file with a header.

        Args:
            path: the file. A CSV file is in UTF-8, and its cells are separated by commas, semicolons or tabs.
            name: the column that names the rows; the first one by default.
            descriptors: the columns that describe the rows; by default all other columns of numbers. A column of
                strings that is named here becomes one column of 0 and 1 for each string.
            label: shown instead of the parameter's name.

        Raises:
            ValueError: the table does not have this form; the message gives the line and the column.
            OSError: the file cannot be read.
        """
        return cls._of(tables.read(os.fspath(path)), name, descriptors, label)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        name: str | None = None,
        descriptors: Sequence[str] | None = None,
        label: str | None = None,
    ) -> Self:
        """Read the rows of a pandas DataFrame, see ``from_csv``.

        Raises:
            ValueError: the frame does not have this form; the message gives the row and the column.
        """
        return cls._of(tables.read(frame), name, descriptors, label)

    def row(self, name: str) -> Mapping[str, Any]:
        """Return all cells of a row of the original table, by column.

        Raises:
            KeyError: the row does not exist.
        """
        return self.cells[name]

    def to_csv(self) -> str:
        """Return the table in the form that the server accepts: names, then numbers."""
        text = StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["name", *self.descriptors])
        lines.writerows(zip(self.rows, *self.descriptors.values(), strict=True))
        return text.getvalue()

    @cached_property
    def digest(self) -> str:
        """A digest that identifies the table."""
        return hashlib.sha256(self.to_csv().encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the declaration as a dict for JSON, without the name: see docs/http.md."""
        words = {"unit": self.unit, "label": self.label}
        return {"kind": "catalogue", "table": self.to_csv()} | {name: text for name, text in words.items() if text}

    @classmethod
    def _of(cls, table: tables.Table, name: str | None, descriptors: Sequence[str] | None, label: str | None) -> Self:
        names = table.columns
        named = names[0] if name is None else name
        for each in [named, *(descriptors or ())]:
            if each not in names:
                raise ValueError(f"{table.name} has no column {each!r}; it has {', '.join(map(repr, names))}")
        cells: dict[str, Mapping[str, Any]] = {}
        for row in table.rows:
            where = f"{table.name}, {table.counted} {row.number}"
            if row.problem is not None:
                raise ValueError(f"{where}: {row.problem}")
            found = "" if row.cells.get(named) is None else str(row.cells[named]).strip()
            if not found:
                raise ValueError(f"{where}, column {named!r} has no name; write one, or delete the row")
            if found in cells:
                raise ValueError(f"{where}: the row {found!r} occurs twice; delete one of the two")
            cells[found] = row.cells
        columns = [each for each in names if each != named] if descriptors is None else list(descriptors)
        numbers: dict[str, list[float]] = {}
        for column in columns:
            numbers |= _descriptors(table, column, is_asked=descriptors is not None)
        if not numbers:
            raise ValueError(
                f"{table.name} has no column of numbers; add some that describe the rows, or name columns of strings "
                "as descriptors"
            )
        return cls(list(cells), numbers, cells, label=label)


def _descriptors(table: tables.Table, column: str, *, is_asked: bool) -> dict[str, list[float]]:
    """Return the numbers of a column by its name; a requested column of strings becomes one column of 0 and 1 per
    string."""
    cells = [row.cells.get(column) for row in table.rows]
    found = [_number(cell) for cell in cells]
    if all(number is not None for number in found):
        return {column: [number for number in found if number is not None]}
    if all(number is None for number in found):
        texts = sorted({str(cell or "").strip() for cell in cells})
        if not is_asked:
            return {}
        if len(texts) > MAX_TEXTS:
            raise ValueError(
                f"{table.name}, column {column!r} has {len(texts)} different strings; give numbers that describe them"
            )
        return {f"{column}={text}": [float(str(cell or "").strip() == text) for cell in cells] for text in texts}
    row = table.rows[found.index(None)]
    raise ValueError(
        f"{table.name}, {table.counted} {row.number}, column {column!r} must be a finite number, not "
        f"{row.cells.get(column)!r}; correct it, or leave the column out of descriptors"
    )


def _number(cell: object) -> float | None:
    """Return the number in a cell; None if it is not a finite number."""
    try:
        number = float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_choices(path: str | os.PathLike[str]) -> tuple[list[str], dict[str, list[float]]]:
    """Return the choices in the first column of a table, and the numbers of each other column by its name.

    The table is a CSV file in UTF-8, or an Excel file, with a header. Cells of a CSV file are separated by commas,
    semicolons or tabs; numbers may have decimal commas if cells are not separated by commas.

    Raises:
        ValueError: the table has no descriptor, a duplicate choice, or a cell that is empty or not a finite number; the
            message gives the line and the column.
        OSError: the file cannot be read.
    """
    table = tables.read(os.fspath(path))
    choice, *names = table.columns
    if not names:
        raise ValueError(
            f"{table.name} has only one column; add a column for each descriptor, after the column of choices"
        )
    choices: list[str] = []
    descriptors: dict[str, list[float]] = {name: [] for name in names}
    for row in table.rows:
        where = f"{table.name}, {table.counted} {row.number}"
        if row.problem is not None:
            raise ValueError(f"{where}: {row.problem}")
        found = str(row.cells.get(choice) or "").strip()
        if not found:
            raise ValueError(f"{where}, column {choice!r} has no choice; write one, or delete the line")
        if found in choices:
            raise ValueError(f"{where}: the choice {found!r} occurs twice; delete one of the two lines")
        choices.append(found)
        for name in names:
            number = _number(row.cells.get(name))
            if number is None:
                shown = row.cells.get(name)
                raise ValueError(f"{where}, column {name!r} must be a finite number, not {shown!r}")
            descriptors[name].append(number)
    return choices, descriptors


Parameter = Float | Int | Ordinal | Categorical | Catalogue | Bool | Fixed


def to_wire(parameters: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Return the declarations of a search space as dicts for JSON, each with its name.

    Raises:
        TypeError: the parameters are not given by name, or one is not of these kinds.
        ValueError: a bound or value is infinite or not a number.
    """
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f'the parameters must be given by name, such as {{"lr": Float(0.001, 1)}}, not as {parameters!r}'
        )
    for name, spec in parameters.items():
        if not isinstance(spec, Parameter):
            kinds = (
                "Float(low, high), Int(low, high), Ordinal(values), Categorical(choices), "
                "Catalogue(rows, descriptors), Bool() or Fixed(value)"
            )
            raise TypeError(f"parameter {name!r} must be declared by {kinds}, not by {spec!r}")
        for part, value in ({} if isinstance(spec, Catalogue) else vars(spec)).items():
            for number in _numbers(value):
                if isinstance(number, float) and not math.isfinite(number):
                    raise ValueError(f"parameter {name!r}: {part} must be finite, not {number}")
    return [{"name": name, **spec.to_json()} for name, spec in parameters.items()]


def _numbers(value: Any) -> Iterator[Any]:
    """Yield all scalars in a nested value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for each in value:
            yield from _numbers(each)
    else:
        yield plain(value)


def _in_order(kind: str, values: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return plain values. Refuse objects without an order that is the same in every process, such as sets."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{kind}({values!r}) would be one value per letter; give a list: {kind}([{values!r}])")
    if isinstance(values, Set):
        raise TypeError(
            f"{kind} takes a list, not a set: the order of a set may differ between processes, but the order of the "
            "values in a study is fixed"
        )
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{kind} takes a list of values, not {values!r}")
    listed = list(values)
    if any(getattr(value, "ndim", 0) for value in listed):
        raise TypeError(f"{kind} takes tuples, not arrays, for values with several elements")
    return tuple(plain(value) for value in listed)


def _described(descriptors: Descriptors, choices: Sequence[Choice]) -> Descriptors:
    """Return descriptors as plain numbers, one for each choice."""
    if descriptors is None:
        return None
    if not isinstance(descriptors, Mapping):
        raise TypeError(
            f'descriptors={descriptors!r} must have lists of numbers by name, such as descriptors={{"polarity": [...]}}'
        )
    found = {}
    for name, numbers in descriptors.items():
        if isinstance(numbers, str | bytes | Set | Mapping) or not isinstance(numbers, Iterable):
            raise TypeError(f"descriptors={{{name!r}: {numbers!r}}} must have a list of numbers, one for each choice")
        found[name] = tuple(plain(number) for number in numbers)
        if len(found[name]) != len(choices):
            raise ValueError(
                f"the descriptor {name!r} has {len(found[name])} numbers, but there are {len(choices)} choices; "
                "give one for each choice"
            )
    return found


def _conditions(when: When) -> When:
    """Return conditions with plain values, in an order that is the same in every process."""
    if when is None:
        return None
    if not isinstance(when, Mapping):
        raise TypeError(f'when={when!r} must have lists of values by parameter, such as when={{"optimizer": ["sgd"]}}')
    for name, values in when.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise TypeError(f"when={{{name!r}: {values!r}}} must have a list: when={{{name!r}: [{values!r}]}}")
    return {name: _in_order("when", values) for name, values in when.items()}


def _wire(when: When) -> dict[str, Any]:
    return {} if when is None else {"when": {name: list(values) for name, values in when.items()}}


def _words(parameter: Any) -> dict[str, Any]:
    return {name: text for name in ("unit", "label") if (text := getattr(parameter, name)) is not None}


def _known(context: Context) -> dict[str, Any]:
    return {"context": context} if context else {}


def _scale(log: bool) -> str:
    return "log" if log else "linear"

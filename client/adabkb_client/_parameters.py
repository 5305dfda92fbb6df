"""The kinds of parameters of a search space.

Each kind accepts ``when``, the conditions under which a parameter is active. ``Float(0, 1, when={"kernel": ["rbf"]})``
is active only if the parameter "kernel" is active and is "rbf". All conditions must hold.

Each kind that varies accepts ``context=True``: the server does not choose its value, which is known when a trial is
requested, such as the humidity. Pass it with ``suggest(context={"humidity": 0.4})``.

Each kind accepts ``unit`` and ``label``, such as ``Float(20, 120, unit="°C", label="Oil bath")``, for display in
sentences, figures, tables and forms. The model ignores them, and they can be changed at any time.

The server validates values, and returns a pointer to the invalid field. This module only refuses values that cannot be
sent or are ambiguous.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from adabkb_client._catalogue import Catalogue, read_choices
from adabkb_client._plain import plain
from adabkb_client.errors import Invalid

Scalar = bool | int | float | str | None
Choice = Scalar | Sequence[Scalar]
"""A value of a parameter. A list represents a tuple."""
When = Mapping[str, Iterable[Choice]] | None
"""Name of another parameter -> its values for which this one is active; None means always."""


Descriptors = Mapping[str, Iterable[float]] | None
"""Name of a descriptor -> its numbers, one for each choice."""


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
    log: bool = False
    step: float | None = None
    periodic: bool = field(default=False, kw_only=True)
    context: bool = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        step = {} if self.step is None else {"step": self.step}
        periodic = {"periodic": True} if self.periodic else {}
        own = {"low": self.low, "high": self.high, "scale": _scale(self.log), **step, **periodic}
        return {"kind": "float", **own, **_known(self.context), **_wire(self.when), **_words(self)}


@dataclass(frozen=True)
class Int:
    """An integer in [low, high]: low, low + step, and so on. ``log`` and ``when`` are as in ``Float``."""

    low: int
    high: int
    log: bool = False
    step: int = 1
    context: bool = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        own = {"low": self.low, "high": self.high, "scale": _scale(self.log), "step": self.step}
        return {"kind": "int", **own, **_known(self.context), **_wire(self.when), **_words(self)}


@dataclass(frozen=True)
class Ordinal:
    """One of several values in a meaningful order, in which neighbours are similar. ``when`` is as in ``Float``.

    Raises:
        TypeError: the values are not a list, tuple, range or array.
    """

    values: Iterable[Choice]
    context: bool = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _in_order("Ordinal", self.values))
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "kind": "ordinal",
            "values": list(self.values),
            **_known(self.context),
            **_wire(self.when),
            **_words(self),
        }


@dataclass(frozen=True)
class Categorical:
    """One of several choices without an order. ``when`` is as in ``Float``.

    ``descriptors`` describe the choices: by name, one number for each choice, in the order of the choices. Choices with
    similar descriptors are expected to give similar results.

    Raises:
        TypeError: the choices are not a list, tuple, range or array, or the descriptors are not lists of numbers by
        name.
        ValueError: the number of values of a descriptor differs from the number of choices.
    """

    choices: Iterable[Choice]
    descriptors: Descriptors = field(default=None, kw_only=True)
    context: bool = field(default=False, kw_only=True)
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
        context: bool = False,
        when: When = None,
        unit: str | None = None,
        label: str | None = None,
    ) -> Self:
        """Read choices and descriptors from a table: the choices in the first column, a descriptor in each other one.

        ``read_choices`` describes the format of the file.

        Raises:
            ValueError: the table does not have this form; the message gives the line and the column.
            OSError: the file cannot be read.
        """
        choices, descriptors = read_choices(path)
        return cls(choices, descriptors=descriptors, context=context, when=when, unit=unit, label=label)

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        known = {name: list(numbers) for name, numbers in (self.descriptors or {}).items()}
        own = {"choices": list(self.choices), **({"descriptors": known} if known else {})}
        return {"kind": "categorical", **own, **_known(self.context), **_wire(self.when), **_words(self)}


@dataclass(frozen=True)
class Bool:
    """True or false. ``when`` is as in ``Float``."""

    context: bool = field(default=False, kw_only=True)
    when: When = field(default=None, kw_only=True)
    unit: str | None = field(default=None, kw_only=True)
    label: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _conditions(self.when))

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"kind": "bool", **_known(self.context), **_wire(self.when), **_words(self)}


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
        """Return the wire form."""
        return {"kind": "fixed", "value": self.value, **_wire(self.when), **_words(self)}


Parameter = Float | Int | Ordinal | Categorical | Catalogue | Bool | Fixed


def to_wire(parameters: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Return the wire form of a search space.

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


@contextmanager
def named(parameters: Mapping[str, Parameter]) -> Iterator[None]:
    """In errors raised in the block, replace the positions of parameters in pointers by their names."""
    try:
        yield
    except Invalid as error:
        raise Invalid(
            error.status,
            error.code,
            error.detail,
            request_id=error.request_id,
            pointers=error.pointers,
            names=list(parameters),
        ) from None


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
    """Return the values, converted to plain ones, if their order is the same in every process."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{kind}({values!r}) would be one value per letter; give a list: {kind}([{values!r}])")
    if isinstance(values, Set):
        raise TypeError(
            f"{kind} takes a list, not a set: the order of a set may differ between processes, but the order of a "
            "study is fixed"
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


def _known(context: bool) -> dict[str, Any]:
    return {"context": True} if context else {}


def _scale(log: bool) -> str:
    return "log" if log else "linear"

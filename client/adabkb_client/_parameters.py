"""The kinds of parameters of a search space.

Each kind takes ``when``, the conditions under which a parameter is active. ``Float(0, 1, when={"kernel": ["rbf"]})`` is
active only where the parameter "kernel" is, and is "rbf". Of several conditions all must hold.

Each kind that varies takes ``context=True``: the parameter is not chosen, but known when a trial is asked for, such as
the humidity. ``suggest(context={"humidity": 0.4})`` gives its value.

Each kind takes ``unit`` and ``label``, such as ``Float(20, 120, unit="°C", label="Oil bath")``. People read them
in sentences, figures, tables and forms. The model has no use for them, and they can be changed at any time.

The server checks values, and answers with a pointer to the field that is wrong. Only what cannot be sent, or means
something else than it seems to, is refused here.
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
"""A value of a parameter. A list stands for a tuple."""
When = Mapping[str, Iterable[Choice]] | None
"""By the name of another parameter, the values of it with which this one is active; None: always."""


Descriptors = Mapping[str, Iterable[float]] | None
"""By the name of a descriptor its numbers, one for each choice."""


@dataclass(frozen=True)
class Float:
    """A real number in [low, high]; with ``log`` it is searched on a log scale (low > 0), with ``step`` it is one of
    low, low + step, ... up to high.

    With ``periodic`` it is an angle, a time of day or the like: ``high`` is the same point as ``low``, and values close
    to either end are close to each other. Suggestions are below ``high``.
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
    """An integer in [low, high], counted from low in steps of ``step``."""

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
    """One of some values in a meaningful order: neighbours are alike.

    Raises:
        TypeError: the values are no list, tuple, range or array.
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
    """One of some choices without an order.

    ``descriptors`` has numbers that describe the choices, by name: one for each choice, in the order of the choices.
    Choices that are alike in them are expected to give similar results.

    Raises:
        TypeError: the choices are no list, tuple, range or array, or the descriptors are no lists of numbers by name.
        ValueError: a descriptor has another number of values than there are choices.
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
        """Choices with descriptors from a table: the first column has the choices, each other one a descriptor.

        The file is as ``read_choices`` says.

        Raises:
            ValueError: the table is not of this form; the message has the line and the column.
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
    """True or false."""

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
    """A value that is the same in every trial of this study, but belongs to each evaluation."""

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
    """Return a search space's wire form.

    Raises:
        TypeError: they are not given by name, or one is declared by something else than one of these kinds.
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
    """Let the refusal of a request in the block name parameters where its pointers have their positions."""
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
    """Everything in a value, whatever it consists of."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for each in value:
            yield from _numbers(each)
    else:
        yield plain(value)


def _in_order(kind: str, values: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return plain values, if they have an order that is the same in every process."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{kind}({values!r}) would be one value per letter; give a list: {kind}([{values!r}])")
    if isinstance(values, Set):
        raise TypeError(
            f"{kind} takes a list, not a set: the order of a set may differ from process to process, and a study "
            "keeps the order that it was created with"
        )
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{kind} takes a list of values, not {values!r}")
    listed = list(values)
    if any(getattr(value, "ndim", 0) for value in listed):
        raise TypeError(f"{kind} takes tuples as values that consist of several, not arrays")
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
                f"the descriptor {name!r} has {len(found[name])} numbers, and there are {len(choices)} choices; "
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

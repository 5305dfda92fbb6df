"""The kinds of parameters of a search space.

The server checks values, and answers with a pointer to the field that is wrong. Only what cannot be sent is refused
here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Scalar = bool | int | float | str
"""A value of a parameter."""


@dataclass(frozen=True)
class Float:
    """A real number in [low, high]; with ``log`` it is searched on a log scale (low > 0)."""

    low: float
    high: float
    log: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"kind": "float", "low": self.low, "high": self.high, "scale": _scale(self.log)}


@dataclass(frozen=True)
class Int:
    """An integer in [low, high], counted from low in steps of ``step``."""

    low: int
    high: int
    log: bool = False
    step: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        scale = _scale(self.log)
        return {"kind": "int", "low": self.low, "high": self.high, "scale": scale, "step": self.step}


@dataclass(frozen=True)
class Ordinal:
    """One of some values in a meaningful order: neighbours are alike."""

    values: Sequence[Scalar]

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"kind": "ordinal", "values": list(self.values)}


@dataclass(frozen=True)
class Categorical:
    """One of some choices without an order."""

    choices: Sequence[Scalar]

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"kind": "categorical", "choices": list(self.choices)}


@dataclass(frozen=True)
class Bool:
    """True or false."""

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"kind": "bool"}


Parameter = Float | Int | Ordinal | Categorical | Bool


def to_wire(parameters: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Return a search space's wire form.

    Raises:
        TypeError: a parameter is declared by something else than one of these kinds.
        ValueError: a bound or value is infinite or not a number.
    """
    for name, spec in parameters.items():
        if not isinstance(spec, Parameter):
            kinds = "Float(low, high), Int(low, high), Ordinal(values), Categorical(choices) or Bool()"
            raise TypeError(f"parameter {name!r} must be declared by {kinds}, not by {spec!r}")
        for field, value in vars(spec).items():
            for number in value if isinstance(value, Sequence) else [value]:
                if isinstance(number, float) and not math.isfinite(number):
                    raise ValueError(f"parameter {name!r}: {field} must be finite, not {number}")
    return [{"name": name, **spec.to_json()} for name, spec in parameters.items()]


def _scale(log: bool) -> str:
    return "log" if log else "linear"

"""Values of a program: convert them to JSON, refuse values that JSON cannot have, and show values in messages."""

import json
import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, SupportsFloat, TypeVar

from adabkb_client.errors import NotFinite, WrongResult

Numbers = Mapping[str, SupportsFloat]
"""Numbers by name."""

T = TypeVar("T")


def as_it_is(value: T) -> T:
    """Return a value unchanged."""
    return value


def plain(value: Any) -> Any:
    """Return a scalar or an array of one element as a Python value, any other value unchanged."""
    is_scalar = hasattr(value, "item") and math.prod(_shape(value)) == 1
    return value.item() if is_scalar else value


def finite(name: str, number: SupportsFloat, remedy: str = "") -> float:
    """Return a plain float.

    Args:
        name: the name of the number, for the error.
        number: a number of any type that can be converted to float.
        remedy: what to do about a number that is not finite; added to the error.

    Raises:
        WrongResult: the value is not a number, but for example None, a string or a dict.
        NotFinite: the number is infinite or NaN.
    """
    scalar = plain(number)
    if isinstance(scalar, str | bytes) or not hasattr(type(scalar), "__float__") or _shape(scalar):
        raise WrongResult(f"{name} must be a number, not {shown(number)}")
    value = float(scalar)
    if not math.isfinite(value):
        raise NotFinite(f"{name} must be a finite number, not {value}{remedy}")
    return value


def finite_metrics(name: str, values: Numbers | None) -> dict[str, float] | None:
    """Return metrics, or their standard errors, as plain floats.

    Args:
        name: the name of all values together, for the error.
        values: metric -> number; None if there are none.

    Raises:
        WrongResult: the values are not a dict of numbers.
        NotFinite: one is infinite or NaN.
    """
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise WrongResult(f"{name} must be a dict of numbers by metric, not {shown(values)}")
    return {metric: finite(f"{name}[{metric!r}]", value) for metric, value in values.items()}


def point(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters in a form that JSON can represent.

    Raises:
        TypeError: they are not given by name.
        ValueError: a value is infinite or NaN.
    """
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f'a point must be a dict of values by parameter, such as {{"lr": 0.1}}, not {shown(parameters)}'
        )
    return {name: _value(name, value) for name, value in parameters.items()}


def as_text(value: Any) -> str:
    """Return a value as a query writes it: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, allow_nan=False, default=_scalar)


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a request's body as JSON.

    Raises:
        TypeError: a value cannot be represented in JSON.
        ValueError: a number is infinite or NaN.
    """
    return json.dumps(body, allow_nan=False, default=_scalar).encode()


def _shape(value: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = getattr(value, "shape", ())
    return shape


def _value(name: str, value: Any) -> Any:
    scalar = plain(value)
    if isinstance(scalar, float) and not math.isfinite(scalar):
        raise ValueError(f"parameter {name!r} must be a finite number, not {scalar}")
    return scalar


def _scalar(value: Any) -> Any:
    scalar = plain(value)
    if scalar is value:
        raise TypeError(f"{shown(value)} cannot be sent; give numbers, strings, booleans, or lists and dicts of them")
    return scalar


def shown(value: Any) -> str:
    """Return a value for an error: shortened, and with its type."""
    if value is None:
        return "None"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def titled(name: str, words: Mapping[str, Any]) -> str:
    """Return the title of a column or an axis: the label, or otherwise the name, with the unit."""
    label, unit = words.get("label") or name, words.get("unit")
    return f"{label} [{unit}]" if unit else label


def figure(number: float) -> str:
    """Return a number with up to six significant digits, as the web interface shows values."""
    return f"{number:.6g}"


def difference(value: float) -> str:
    """Return a difference, such as a gap, with two significant digits; with three if it needs an exponent. Halves are
    rounded away from zero, as by the server."""
    if value == 0.0:
        return "0"
    written = Decimal(repr(float(value)))
    places = 1 - written.adjusted()
    if abs(value) >= 1e15 or places > 6:
        mantissa, _, exponent = f"{_rounded(written, places + 1):.2e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent):+d}"
    return f"{_rounded(written, places):.{max(places, 0)}f}"


def _rounded(number: Decimal, places: int) -> float:
    return float(number.quantize(Decimal((0, (1,), -places)), ROUND_HALF_UP))

"""Interval arithmetic: bounds of an expression over many boxes at once.

An interval is a pair of arrays: its lower and its upper end in each box. Every interval contains all values of the
expression in its box, up to rounding. If a result is undefined, as in 0 times infinity, the interval is the whole line.
Points where the expression has no value, such as the logarithm of a negative number, are ignored.

Source: R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, SIAM 2009, chapters 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Interval = tuple[Array, Array]


def constant(value: float) -> Interval:
    """The interval of one number; scalar ends."""
    return np.array(value), np.array(value)


def _sound(low: Array, high: Array) -> Interval:
    unknown = np.isnan(low) | np.isnan(high)
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def _add(a: Interval, b: Interval) -> Interval:
    return _sound(a[0] + b[0], a[1] + b[1])


def _subtract(a: Interval, b: Interval) -> Interval:
    return _sound(a[0] - b[1], a[1] - b[0])


def _multiply(a: Interval, b: Interval) -> Interval:
    products = [a[i] * b[j] for i in (0, 1) for j in (0, 1)]
    return _sound(reduce(np.minimum, products), reduce(np.maximum, products))


def _divide(a: Interval, b: Interval) -> Interval:
    has_zero = (b[0] <= 0.0) & (b[1] >= 0.0)
    inverse = np.where(has_zero, -np.inf, 1.0 / b[1]), np.where(has_zero, np.inf, 1.0 / b[0])
    return _multiply(a, inverse)


def _power(a: Interval, b: Interval) -> Interval:
    """The power of two intervals, one of which must be a constant. It is the whole line if the constant is not a finite
    number, or is a base that is not positive."""
    number = b if np.ndim(b[0]) == 0 else a
    if not (number[0] == number[1] and np.isfinite(number[0])):
        return _whole_line(a, b)
    if np.ndim(b[0]) == 0:
        return _to_the(a, float(b[0]))
    base = float(a[0])
    if base <= 0.0:
        return _whole_line(a, b)
    ends = np.power(base, b[0]), np.power(base, b[1])
    return _sound(np.minimum(*ends), np.maximum(*ends))


def _whole_line(a: Interval, b: Interval) -> Interval:
    """All real numbers, in each box."""
    shape = np.broadcast_shapes(np.shape(a[0]), np.shape(b[0]))
    return np.full(shape, -np.inf), np.full(shape, np.inf)


def _to_the(a: Interval, exponent: float) -> Interval:
    """The power of an interval with a finite exponent."""
    if exponent < 0.0:
        return _divide(constant(1.0), _to_the(a, -exponent))
    if exponent != math.floor(exponent):
        a = np.maximum(a[0], 0.0), np.maximum(a[1], 0.0)
    elif exponent % 2.0 == 0.0:
        a = _absolute(a)
    return _sound(np.power(a[0], exponent), np.power(a[1], exponent))


def _absolute(a: Interval) -> Interval:
    ends = np.abs(a[0]), np.abs(a[1])
    has_zero = (a[0] <= 0.0) & (a[1] >= 0.0)
    return np.where(has_zero, 0.0, np.minimum(*ends)), np.maximum(*ends)


def _least(*intervals: Interval) -> Interval:
    return reduce(np.minimum, [low for low, _ in intervals]), reduce(np.minimum, [high for _, high in intervals])


def _largest(*intervals: Interval) -> Interval:
    return reduce(np.maximum, [low for low, _ in intervals]), reduce(np.maximum, [high for _, high in intervals])


def _square_root(a: Interval) -> Interval:
    return np.sqrt(np.maximum(a[0], 0.0)), np.sqrt(np.maximum(a[1], 0.0))


def _logarithm(a: Interval) -> Interval:
    return np.log(np.maximum(a[0], 0.0)), np.log(np.maximum(a[1], 0.0))


def _exponential(a: Interval) -> Interval:
    return np.exp(a[0]), np.exp(a[1])


FUNCTIONS: Mapping[str, Callable[..., Interval]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "**": _power,
    "abs": _absolute,
    "min": _least,
    "max": _largest,
    "sqrt": _square_root,
    "log": _logarithm,
    "exp": _exponential,
}
"""By symbol, as in ``Arithmetic.functions``."""

"""Find ranges at whose ends the best point lies, and propose wider ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from adabkb_service.contract.parameters import FloatParameter, IntParameter, Parameter

NEAR = 0.01
"""A point counts as being at an end of a range if its distance from the end is at most this share of the range."""
MIN_VALUES = 4
"""A range with fewer values than this is not checked, since most of its values are at an end."""
MIN_FACTOR, MAX_FACTOR = 2.0, 10.0
"""The smallest and the largest factor by which a range on a log scale is widened."""


class RangeEnd(NamedTuple):
    """An end of a range at which a point lies."""

    parameter: str
    end: Literal["lower", "upper"]
    bound: float
    widened: dict[str, Any] | None
    """The parameter with a wider range; None if the range cannot be widened, for example if it begins at 0."""


def range_ends(parameters: Sequence[Parameter], point: Mapping[str, Any]) -> list[RangeEnd]:
    """Return the ends of numerical ranges at which a point lies. Periodic parameters have no ends, and context
    parameters are not chosen."""
    found = []
    for each in parameters:
        if isinstance(each, FloatParameter | IntParameter) and each.name in point and not each.context:
            if isinstance(each, FloatParameter) and each.periodic:
                continue
            axis = each.axis()
            position = axis.encode(point[each.name])
            if axis.count is None:
                is_first, is_last = position <= NEAR, position >= 1.0 - NEAR
            else:
                index, count = axis.bin(position), axis.count if axis.count >= MIN_VALUES else 0
                is_first, is_last = count > 0 and index == 0, index == count - 1
            if is_first:
                found.append(RangeEnd(each.name, "lower", each.low, _lower(each)))
            elif is_last:
                found.append(RangeEnd(each.name, "upper", each.high, _with(each, "high", _beyond(each, 1.0))))
    return found


def _lower(each: FloatParameter | IntParameter) -> dict[str, Any] | None:
    """Return a parameter with a lower ``low``. The lower end of a range without negative numbers stays at 0 or
    above, since most quantities are not negative. None if the range cannot be widened."""
    bound = _beyond(each, -1.0)
    if each.low >= 0 and each.scale != "log":
        bound = max(bound, 0.0)
    if isinstance(each, IntParameter) and each.scale == "log":
        bound = max(bound, 1.0)
    return _with(each, "low", bound) if bound < each.low else None


def _beyond(each: FloatParameter | IntParameter, direction: float) -> float:
    """Return a bound that extends the range by half of its length, in whole steps. On a log scale, the bound extends
    the range by a quarter of its decades, but by a factor from ``MIN_FACTOR`` to ``MAX_FACTOR``."""
    low, high = float(each.low), float(each.high)
    if each.scale == "log":
        factor = min(max((high / low) ** 0.25, MIN_FACTOR), MAX_FACTOR)
        return _round(high * factor if direction > 0 else low / factor)
    step = each.step or 0.0
    reach = (high - low) / 2.0
    reach = max(round(reach / step), 1) * step if step else _round(reach)
    return float(f"{high + reach if direction > 0 else low - reach:.12g}")


def _round(value: float) -> float:
    """Round to two significant digits."""
    return float(f"{value:.2g}")


def _with(each: FloatParameter | IntParameter, field: str, bound: float) -> dict[str, Any] | None:
    if not math.isfinite(bound):
        return None
    value: float = round(bound) if isinstance(each, IntParameter) else bound
    return {**each.model_dump(mode="json"), field: value}

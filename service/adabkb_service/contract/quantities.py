"""Labels, units and natural bounds of measured quantities, field ``quantities``, for display in sentences, figures,
tables and forms. The model ignores them. Natural bounds also limit gaps, and results far beyond them are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.metrics import MAX_METRICS
from adabkb_service.contract.parameters import Body, Label, Name, Number, Unit, Whole
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.engine.wording import nearest

OBJECTIVE = "value"
"""The name of the objective if there is only one."""
MAX_DIGITS = 10
NO_BREAK = "\N{NO-BREAK SPACE}"
POINTS = "percentage points"
WORDS = ("unit", "label")
"""Fields of a parameter for display only. They can be changed at any time, and the model ignores them."""


class Quantity(Sparse, Body):
    """The label, unit and digits of a measured quantity, and its natural bounds. Noisy measurements may be beyond
    these, true values never are."""

    label: Label = None
    unit: Unit = None
    digits: Annotated[
        Annotated[int, Field(ge=0, le=MAX_DIGITS), Whole] | None,
        Field(description="digits after the decimal point; by default as many as the results have"),
        ABSENT_BY_DEFAULT,
    ] = None
    low: Annotated[
        Number | None,
        Field(
            description="smallest possible value, such as 0 for a yield in percent; noise may move a result below it"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    high: Annotated[
        Number | None,
        Field(description="largest possible value, such as 100; noise may move a result above it"),
        ABSENT_BY_DEFAULT,
    ] = None

    @field_validator("high")
    @classmethod
    def _above_low(cls, high: float | None, info: ValidationInfo) -> float | None:
        low = info.data.get("low")
        if high is not None and low is not None and high <= low:
            raise PydanticCustomError("bounds", "must be greater than low")
        return high

    def within(self, number: float) -> float:
        """Return the number clipped to the natural bounds."""
        floor = number if self.low is None else max(number, self.low)
        return floor if self.high is None else min(floor, self.high)


Quantities = Annotated[dict[Name, Quantity], Field(max_length=MAX_METRICS + 1), LIMIT_ERRORS]
UNNAMED = Quantity()


def within_reach(
    gap: float | None, best: float | None, direction: str | None, bounds: Mapping[str, Any]
) -> float | None:
    """Return a gap, limited by the natural bounds of the objective: if the best yield is 90%, at most 10% can be
    gained.

    Args:
        gap: the bound on the gain according to the model; None if it is unknown.
        best: the best result; None without one.
        direction: the direction of the study; None with several objectives, which have no gap.
        bounds: the fields of the quantity of the objective, as stored.
    """
    most = room(best, direction, bounds)
    return gap if gap is None or most is None else min(gap, most)


def informative(
    gap: float | None, best: float | None, direction: str | None, bounds: Mapping[str, Any]
) -> float | None:
    """Return a gap if it is tighter than the natural bounds of the objective, otherwise None. The arguments are as in
    ``within_reach``."""
    most = room(best, direction, bounds)
    return None if gap is not None and most is not None and gap >= most else gap


def room(best: float | None, direction: str | None, bounds: Mapping[str, Any]) -> float | None:
    """Return the distance from the best result to the natural bound of the objective, 0 beyond the bound; None if
    either is unknown. The arguments are as in ``within_reach``."""
    is_maximized = direction == "maximize"
    end: float | None = bounds.get("high" if is_maximized else "low")
    if best is None or end is None:
        return None
    return max(end - best if is_maximized else best - end, 0.0)


def is_beyond_reach(best: float | None, direction: str | None, bounds: Mapping[str, Any]) -> bool:
    """Return whether the best result is better than the natural bound of the objective allows; False if either is
    unknown. The arguments are as in ``within_reach``."""
    is_maximized = direction == "maximize"
    end: float | None = bounds.get("high" if is_maximized else "low")
    if best is None or direction is None or end is None:
        return False
    return best > end if is_maximized else best < end


def check_quantities(quantities: Mapping[str, Quantity], metrics: Sequence[str], *, several: bool) -> None:
    """Check that a study measures each of these quantities.

    Args:
        quantities: the quantities by name.
        metrics: the names of the study's metrics, and of its objectives if there are several.
        several: whether there are several objectives, in which case results have no value.

    Raises:
        PydanticCustomError: it does not measure one of them.
    """
    known = list(metrics) if several else [OBJECTIVE, *metrics]
    for name in quantities:
        if name not in known:
            near = nearest(name, known)
            guess = f"; did you mean {near!r}?" if near else ""
            sentence = "has {name}, which this study does not measure; it measures {known}{guess}"
            values = {"name": repr(name[:100]), "known": ", ".join(known)[:300], "guess": guess}
            raise PydanticCustomError("unknown_metric", sentence, values)


def beyond(quantities: Mapping[str, Quantity], numbers: Mapping[str, float | None]) -> list[str]:
    """Return the names of the numbers that are beyond their natural bounds. Noise may cause this: a true yield of 99.9%
    may be measured as 101%."""
    known = ((name, quantities[name], number) for name, number in numbers.items() if name in quantities)
    return [name for name, quantity, number in known if number is not None and quantity.within(number) != number]


def gross(quantities: Mapping[str, Quantity], numbers: Mapping[str, float | None]) -> Iterator[tuple[str, str]]:
    """Yield the name and the error message of each number that noise cannot explain: it is farther beyond a natural
    bound than the natural range is wide."""
    for name in beyond(quantities, numbers):
        quantity, number = quantities[name], numbers[name]
        if number is None or quantity.low is None or quantity.high is None:
            continue
        is_low, width = number < quantity.low, quantity.high - quantity.low
        if max(quantity.low - number, number - quantity.high) <= width:
            continue
        ends = with_unit(f"{quantity.low:.9g} to {quantity.high:.9g}", quantity.unit).replace(NO_BREAK, " ")
        yield (
            name,
            f"is {number:.9g}, far {'below' if is_low else 'above'} the possible values, {ends}; correct it, or change "
            f"these bounds ('Title, names and units' on the study's page, quantities in the API)",
        )


def with_unit(number: str, unit: str | None) -> str:
    """Return a number with its unit, which no line break separates. There is no space before degrees, minutes and
    seconds of an angle."""
    if unit is None:
        return number
    return f"{number}{unit}" if unit in ("°", "′", "″") else f"{number}{NO_BREAK}{unit}"


def in_points(number: str, unit: str | None) -> str:
    """Return a difference with its unit. A difference of percentages is in percentage points."""
    return f"{number}{NO_BREAK}{POINTS}" if unit == "%" else with_unit(number, unit)


def plus_minus(number: str, error: str) -> str:
    """Return a number with its standard deviation or error, which no line break separates."""
    return f"{number}{NO_BREAK}±{NO_BREAK}{error}"


def titled(name: str, label: str | None, unit: str | None) -> str:
    """Return the title of a column or an axis: the label, or otherwise the name, with the unit."""
    return f"{label or name} [{unit}]" if unit else label or name


def without_words(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored parameter without the fields for display."""
    return {name: value for name, value in parameter.items() if name not in WORDS}

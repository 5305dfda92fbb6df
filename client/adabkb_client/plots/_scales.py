"""Scales of parameters along an axis: numbers on their own scale, choices side by side in the order of the study."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.axes import Axes

from adabkb_client._values import titled
from adabkb_client.plots._canvas import label

NUMBERS = ("float", "int")
MOST_TICKS = 12
"""The maximum number of choices that are labelled along an axis."""


@dataclass(frozen=True)
class Scale:
    """The scale of a parameter, from its declaration in wire form."""

    parameter: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The parameter's name."""
        return str(self.parameter["name"])

    @property
    def title(self) -> str:
        """The title of the parameter, with its unit."""
        return titled(self.name, self.parameter)

    @property
    def is_numeric(self) -> bool:
        """Whether values are drawn as numbers rather than as choices."""
        return self.parameter["kind"] in NUMBERS

    @property
    def is_continuous(self) -> bool:
        """Whether there is a value between any two values."""
        return str(self.parameter["kind"]) == "float" and not self.parameter.get("step")

    @property
    def is_fixed(self) -> bool:
        """Whether the parameter has only one value."""
        return str(self.parameter["kind"]) == "fixed"

    @property
    def is_log(self) -> bool:
        """Whether the parameter is searched and drawn on a log scale."""
        return str(self.parameter.get("scale")) == "log"

    @property
    def choices(self) -> list[Any]:
        """The values of a parameter that is not numerical, in order."""
        parameter = self.parameter
        if parameter["kind"] == "bool":
            return [False, True]
        return [parameter["value"]] if self.is_fixed else list(parameter.get("choices") or parameter["values"])

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last position of the axis."""
        if not self.is_numeric:
            return -0.5, len(self.choices) - 0.5
        return self.box(self.parameter["low"], self.parameter["high"])

    def position(self, value: Any) -> float:
        """Return the position of a value: the number itself, or the index of a choice."""
        if self.is_numeric:
            return float(value)
        wanted = _same(value)
        return float([_same(choice) for choice in self.choices].index(wanted))

    def positions(self, values: Sequence[Any]) -> list[float]:
        """Return the positions of values."""
        return [self.position(value) for value in values]

    def box(self, low: Any, high: Any) -> tuple[float, float]:
        """Return the extent of a range of values, half a step beyond both ends if values are discrete."""
        first, last = sorted((self.position(low), self.position(high)))
        if self.is_continuous:
            return first, last
        half = (self.parameter.get("step") or 1) / 2 if self.is_numeric else 0.5
        return max(first - half, first / 2) if self.is_log else first - half, last + half

    def share(self, value: Any) -> float:
        """Return the position of a value between the ends, from 0 to 1, on the parameter's own scale."""
        low, high = self.ends
        position = self.position(value)
        if self.is_log:
            low, high, position = math.log(low), math.log(high), math.log(position)
        return (position - low) / (high - low)

    def draw(self, axes: Axes, which: Literal["x", "y"], *, named: bool = True) -> None:
        """Set the scale, the limits and the ticks of an axis and, if ``named``, its label."""
        if self.is_log:
            axes.set(**{f"{which}scale": "log"})
        axes.set(**{f"{which}lim": self.ends})
        if str(self.parameter["kind"]) == "int" and not self.is_log:
            axes.locator_params(axis=which, integer=True)
        if not self.is_numeric:
            every = -(-len(self.choices) // MOST_TICKS)
            places = range(0, len(self.choices), every)
            axes.set(**{f"{which}ticks": list(places), f"{which}ticklabels": [label(self.choices[i]) for i in places]})
        if named:
            axes.set(**{f"{which}label": label(self.title) + (" (log scale)" if self.is_log else "")})


def _same(value: Any) -> tuple[bool, Any]:
    """Return a key that two values share if they are equal in JSON, where True differs from 1 and a tuple is a list."""
    return isinstance(value, bool), tuple(map(_same, value)) if isinstance(value, list | tuple) else value

"""Figures to draw on, and the scales of parameters and values along their axes.

Figures do not use pyplot, so no windows open and no figures stay in memory.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from adabkb_client._records import StudyInfo
from adabkb_client._values import titled

OBSERVED = "0.35"
"""The color of results, a gray that is visible on any colormap."""
MAX_LABEL_LENGTH = 24
"""The maximum length of a label, in characters; longer ones are shortened."""


class StudyFigure(Figure):
    """A matplotlib figure that notebooks display, whether or not the program uses pyplot."""

    def _repr_png_(self) -> bytes:
        image = BytesIO()
        self.savefig(image, format="png")
        return image.getvalue()


def canvas(figure: FigureBase | None, width: float, height: float) -> FigureBase:
    """Return the figure, or a new one with this size in inches."""
    return StudyFigure(figsize=(width, height), layout="constrained") if figure is None else figure


def panels(figure: FigureBase | None, count: int, columns: int) -> tuple[FigureBase, Sequence[Axes]]:
    """Return a figure with ``count`` axes, in rows of up to ``columns``."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure = canvas(figure, 1.0 + 3.6 * columns, 0.6 + 2.8 * rows)
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(count)]


def dots(axes: Axes, x: Sequence[float], y: Sequence[float], name: str | None = None) -> None:
    """Draw results."""
    axes.scatter(x, y, s=12, color=OBSERVED, linewidths=0, zorder=3, label=name)


def star(axes: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Draw the recommended point."""
    axes.scatter(x, y, s=160, marker="*", color="tab:red", edgecolors="white", zorder=4)


def saying(figure: FigureBase | None, text: str) -> FigureBase:
    """Return a figure that shows a sentence, for example why there is nothing to draw."""
    figure = canvas(figure, 6.4, 2.0)
    figure.text(0.5, 0.5, literally(text), ha="center", va="center", color=OBSERVED, wrap=True)
    return figure


def literally(text: str) -> str:
    """Return text that matplotlib draws literally, with dollar signs escaped."""
    return text.replace("$", r"\$")


def label(value: object) -> str:
    """Return a name or a value as a label."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return literally(text if len(text) <= MAX_LABEL_LENGTH else text[: MAX_LABEL_LENGTH - 1] + "…")


NUMBERS = ("float", "int")
MAX_TICKS = 12
"""The maximum number of choices that are labeled along an axis."""


@dataclass(frozen=True)
class Scale:
    """The scale of a parameter, from its declaration as JSON."""

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
            every = -(-len(self.choices) // MAX_TICKS)
            places = range(0, len(self.choices), every)
            axes.set(**{f"{which}ticks": list(places), f"{which}ticklabels": [label(self.choices[i]) for i in places]})
        if named:
            axes.set(**{f"{which}label": label(self.title) + (" (log scale)" if self.is_log else "")})


def _same(value: Any) -> tuple[bool, Any]:
    """Return a key that two values share if they are equal in JSON, where True differs from 1 and a tuple is a list."""
    return isinstance(value, bool), tuple(map(_same, value)) if isinstance(value, list | tuple) else value


def title(info: StudyInfo) -> str:
    """Return the title of the value, with its unit."""
    return titled("value", info.quantities.get("value", {}))


def within(info: StudyInfo, values: Iterable[float | None]) -> list[float]:
    """Return values as floats, clipped to the natural bounds of the study's value."""
    words = info.quantities.get("value", {})
    low, high = words.get("low"), words.get("high")
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    return [min(max(value, bounds[0]), bounds[1]) for value in numbers(values)]


def numbers(values: Iterable[float | None]) -> list[float]:
    """Return values as floats, with NaN for missing ones."""
    return [math.nan if value is None else value for value in values]

"""Figures to draw on. They do not use pyplot, so no windows open and no figures stay in memory."""

from collections.abc import Sequence
from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

OBSERVED = "0.35"
"""The color of results, a grey that is visible on any colormap."""
LONGEST_LABEL = 24
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
    """Return a figure and that many axes in rows."""
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
    return literally(text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…")

"""The posterior along one parameter, or over two, with the results."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from adabkb_client._analysis import Slice
from adabkb_client._models import Observation, Recommendation, StudyInfo
from adabkb_client.plots._canvas import dots, label, literally, panels, star
from adabkb_client.plots._metrics import numbers, title, within
from adabkb_client.plots._scales import Scale

COLUMNS = 3
LEVELS = 20
"""The number of color bands of a contour."""


def slices(
    info: StudyInfo,
    scales: Sequence[Scale],
    cuts: Sequence[Slice],
    observations: Sequence[Observation],
    figure: FigureBase | None,
) -> FigureBase:
    """Draw the posterior mean and its interval along each parameter, in separate panels."""
    figure, all_axes = panels(figure, len(cuts), COLUMNS)
    for axes, scale, cut in zip(all_axes, scales, cuts, strict=True):
        _line(info, axes, scale, cut)
        having = [each for each in observations if scale.name in each.parameters]  # not where it is inactive
        places = [scale.position(each.parameters[scale.name]) for each in having]
        values = numbers(each.value for each in having)
        dots(axes, places, values, "results (anywhere)")
        axes.set_ylim(_limits([*values, *numbers(each.mean for each in cut.predictions)]))
        scale.draw(axes, "x")
        axes.set_ylabel(literally(title(info)))
    all_axes[0].legend(fontsize="small")
    figure.suptitle(label(info.id))
    return figure


def contour(
    info: StudyInfo,
    scales: Sequence[Scale],
    cut: Slice,
    observations: Sequence[Observation],
    best: Recommendation,
    figure: FigureBase | None,
) -> FigureBase:
    """Draw the posterior mean and its standard deviation over two parameters, in a panel each."""
    figure, both = panels(figure, 2, 2)
    means = numbers(each.mean for each in cut.predictions)
    colors = "viridis_r" if info.direction == "minimize" else "viridis"
    for axes, values, name, map_name in (
        (both[0], means, "posterior mean", colors),
        (both[1], numbers(each.std for each in cut.predictions), "standard deviation", "Blues"),
    ):
        drawn = _surface(axes, scales, cut, values, map_name)
        figure.colorbar(drawn, ax=axes, label=name)
        dots(axes, *_places(scales, [each.parameters for each in observations]))
        if best.model is not None:
            star(axes, *_places(scales, [best.model.parameters]))
        scales[0].draw(axes, "x")
        scales[1].draw(axes, "y")
    figure.suptitle(label(info.id))
    return figure


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of values with a margin of a quarter, since very wide intervals would hide everything else."""
    low, high = min(values), max(values)
    margin = (high - low) / 4 or abs(high) / 4 or 1.0
    return low - margin, high + margin


def _line(info: StudyInfo, axes: Axes, scale: Scale, cut: Slice) -> None:
    """Draw the mean as a line within a band, or, for choices, as points with error bars."""
    places, found = scale.positions(cut.axes[0].values), cut.predictions
    means, lows, highs = (within(info, (getattr(it, name) for it in found)) for name in ("mean", "lcb", "ucb"))
    if scale.is_numeric:
        axes.fill_between(places, lows, highs, alpha=0.25, color="tab:blue", linewidth=0, label="interval")
        axes.plot(places, means, color="tab:blue", label="posterior mean")
        return
    below = [mean - low for mean, low in zip(means, lows, strict=True)]
    above = [high - mean for mean, high in zip(means, highs, strict=True)]
    axes.errorbar(
        places, means, [below, above], fmt="_", ms=14, color="tab:blue", capsize=4, label="posterior mean, interval"
    )


def _surface(axes: Axes, scales: Sequence[Scale], cut: Slice, values: Sequence[float], colors: str) -> Any:
    """Draw values over the grid: bands for numbers, one field for each choice."""
    x, y = (scale.positions(axis.values) for scale, axis in zip(scales, cut.axes, strict=True))
    rows = [[values[column * len(y) + row] for column in range(len(x))] for row in range(len(y))]
    if all(scale.is_numeric for scale in scales) and min(len(x), len(y)) > 1:
        return axes.contourf(x, y, rows, LEVELS, cmap=colors)
    return axes.pcolormesh(x, y, rows, shading="nearest", cmap=colors)


def _places(scales: Sequence[Scale], points: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    having = [point for point in points if all(scale.name in point for scale in scales)]  # not where one is inactive
    first, second = ([scale.position(point[scale.name]) for point in having] for scale in scales)
    return first, second

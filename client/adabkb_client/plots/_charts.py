"""The charts of a study, drawn from API responses."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import Normalize
from matplotlib.figure import FigureBase
from matplotlib.patches import Rectangle

from adabkb_client._analysis import Front, Importance, Slice
from adabkb_client._records import Observation, Parameters, Recommendation, StudyInfo
from adabkb_client.plots._axes import (
    OBSERVED,
    Scale,
    canvas,
    dots,
    label,
    literally,
    numbers,
    panels,
    saying,
    star,
    title,
    within,
)


def history(info: StudyInfo, observations: Sequence[Observation], figure: FigureBase | None) -> FigureBase:
    """Draw the value of each result against its number; excluded ones and those outside of the space are crosses."""
    figure = canvas(figure, 6.4, 3.6)
    axes = figure.add_subplot()
    counted = [each for each in observations if each.counts]
    others = [each for each in observations if not each.counts]
    places, values = [each.seq for each in counted], numbers(each.value for each in counted)
    errors = [each.std_error or 0.0 for each in counted]
    axes.errorbar(places, values, errors, fmt="o", ms=4, color=OBSERVED, elinewidth=1, label="result")
    if others:
        crosses = [each.seq for each in others], numbers(each.value for each in others)
        names = {"outside of the space" if each.outside else "excluded" for each in others}
        axes.plot(*crosses, "x", ms=5, color="0.6", label=", ".join(sorted(names)))
    better = min if info.direction == "minimize" else max
    axes.step(places, list(accumulate(values, better)), where="post", color="tab:red", label="best so far")
    axes.set(xlabel="number of the result", ylabel=f"{literally(title(info))} ({info.direction})", title=label(info.id))
    axes.legend()
    return figure


def front(
    study_id: str, found: Front, observations: Sequence[Observation], across: str, up: str, figure: FigureBase | None
) -> FigureBase:
    """Draw the results, those on the front, and the predictions of the model's front with their standard deviations."""
    if not found.results:
        return saying(figure, f"Study {study_id} has no results yet.")
    figure = canvas(figure, 6.4, 4.4)
    axes = figure.add_subplot()
    measured = [each.metrics for each in observations if each.metrics is not None and each.counts]
    points = [each for each in measured if {across, up} <= each.keys()]
    dots(axes, [each[across] for each in points], [each[up] for each in points], "result")
    known = [each.metrics for each in found.model if {across, up} <= each.metrics.keys()]
    estimates = [(each[across], each[up]) for each in known]
    axes.errorbar(
        numbers(x.mean for x, _ in estimates),
        numbers(y.mean for _, y in estimates),
        numbers(y.std for _, y in estimates),
        numbers(x.std for x, _ in estimates),
        fmt="D",
        ms=6,
        mfc="none",
        color="tab:orange",
        elinewidth=1,
        label="front according to the model",
    )
    on = [each.metrics for each in found.observed]
    axes.scatter(
        [each[across] for each in on], [each[up] for each in on], s=36, color="tab:red", zorder=4, label="front"
    )
    axes.set(xlabel=label(across), ylabel=label(up), title=label(study_id))
    axes.legend()
    return figure


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
        dots(axes, places, values, "results (other parameters may differ)")
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
    """Return limits of an axis: the range of values with a margin of a quarter of it. Leave out the ends of intervals,
    since very wide intervals would hide everything else."""
    low, high = min(values), max(values)
    margin = (high - low) / 4 or abs(high) / 4 or 1.0
    return low - margin, high + margin


def _line(info: StudyInfo, axes: Axes, scale: Scale, cut: Slice) -> None:
    """Draw the mean as a line within a band, or, for choices, as points with error bars."""
    band = "90% interval" if info.algorithm.get("profile") == "auto" else "confidence bounds"
    places, found = scale.positions(cut.axes[0].values), cut.predictions
    means, lows, highs = (within(info, (getattr(it, name) for it in found)) for name in ("mean", "lcb", "ucb"))
    if scale.is_numeric:
        axes.fill_between(places, lows, highs, alpha=0.25, color="tab:blue", linewidth=0, label=band)
        axes.plot(places, means, color="tab:blue", label="posterior mean")
        return
    below = [mean - low for mean, low in zip(means, lows, strict=True)]
    above = [high - mean for mean, high in zip(means, highs, strict=True)]
    axes.errorbar(
        places, means, [below, above], fmt="_", ms=14, color="tab:blue", capsize=4, label=f"posterior mean, {band}"
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


def parallel(
    info: StudyInfo, scales: Sequence[Scale], observations: Sequence[Observation], figure: FigureBase | None
) -> FigureBase:
    """Draw each result as a line across the parameters' scales, colored by its value, with the best one on top."""
    figure = canvas(figure, 2.0 + 1.5 * len(scales), 4.0)
    host = figure.add_subplot()
    sign = -1.0 if info.direction == "minimize" else 1.0
    pairs = zip(numbers(each.value for each in observations), observations, strict=True)
    values, ordered = zip(*sorted(pairs, key=lambda pair: sign * pair[0]), strict=True)
    colors = ScalarMappable(Normalize(min(values), max(values)), colormaps["viridis_r" if sign < 0 else "viridis"])
    lines = [list(_drawn_point(scales, each.parameters)) for each in ordered]
    host.add_collection(LineCollection(lines, colors=colors.to_rgba(np.array(values)), linewidths=1.0, alpha=0.7))
    host.set(xlim=(-0.2, len(scales) - 0.8), ylim=(0.0, 1.0), yticks=[], title=label(info.id))
    host.set_xticks(range(len(scales)), [label(scale.title) for scale in scales])
    host.spines[["left", "right", "top", "bottom"]].set_visible(False)
    for place, scale in enumerate(scales):
        axis = host.twinx()
        axis.spines[["left", "top", "bottom"]].set_visible(False)
        axis.spines["right"].set_position(("data", place))
        scale.draw(axis, "y", named=False)
    figure.colorbar(colors, ax=host, label=f"{literally(title(info))} ({info.direction})", pad=0.12)
    return figure


def _drawn_point(scales: Sequence[Scale], point: Parameters) -> Iterator[tuple[float, float]]:
    """Yield the points of a result's line; inactive parameters leave a gap."""
    for place, scale in enumerate(scales):
        yield place, scale.share(point[scale.name]) if scale.name in point else np.nan


REASONS = {
    "too_few_results": "has too few results to rank the parameters.",
    "constant": "has the same prediction everywhere, so no parameter matters yet.",
}
BAR_HEIGHT = 0.38
"""Height of a bar, where the bars of two parameters are 1 apart."""


def importance(study_id: str, found: Importance, figure: FigureBase | None) -> FigureBase:
    """Draw the total and the first-order index of each parameter, each with its standard error, the largest at the
    top."""
    if found.reason is not None:
        return saying(figure, f"Study {study_id} {REASONS.get(found.reason, f'has no importances: {found.reason}.')}")
    ranked = sorted(found.parameters, key=lambda each: each.total)
    figure = canvas(figure, 6.4, 1.4 + 0.4 * len(ranked))
    axes = figure.add_subplot()
    places = range(len(ranked))
    for shift, color, name, widths, errors in (
        (BAR_HEIGHT / 2, "tab:blue", "total", [each.total for each in ranked], [each.total_error for each in ranked]),
        (
            -BAR_HEIGHT / 2,
            "tab:orange",
            "first order",
            [each.first_order for each in ranked],
            [each.first_order_error for each in ranked],
        ),
    ):
        axes.barh([place + shift for place in places], widths, BAR_HEIGHT, xerr=errors, color=color, label=name)
    axes.set_yticks(list(places), [label(each.name) for each in ranked])
    axes.set(xlim=(0.0, 1.0), xlabel="share of the variance of the posterior mean", title=label(study_id))
    axes.legend(loc="lower right")
    return figure


Cell = Mapping[str, Any]
"""A cell as JSON: see ``PartitionCell``."""
PRUNED: dict[str, Any] = {"facecolor": "0.9", "edgecolor": "0.7", "hatch": "//", "zorder": 0.5}


def leaves(
    info: StudyInfo,
    drawn: Sequence[Scale],
    others: Sequence[Scale],
    cells: Sequence[Cell],
    through: Parameters,
    is_recommended: bool,
    figure: FigureBase | None,
) -> FigureBase:
    """Draw the cells that a line or a plane through a point meets.

    Args:
        info: the study.
        drawn: one or two parameters.
        others: the other parameters.
        cells: the leaves and pruned cells.
        through: the point.
        is_recommended: whether the point is recommended; it is then marked in a plot of two parameters.
        figure: the figure to draw on; None for a new one.
    """
    drawable = [cell for cell in cells if all(scale.name in cell["low"] for scale in drawn)]
    met = [cell for cell in drawable if all(_holds(scale, cell, through) for scale in others)]
    found = [cell for cell in met if cell["status"] == "leaf"]
    pruned = [cell for cell in met if cell["status"] == "pruned"]
    figure = canvas(figure, 6.4, 4.8 if len(drawn) > 1 else 3.6)
    axes = figure.add_subplot()
    if len(drawn) == 1:
        _intervals(axes, drawn[0], found, pruned)
    else:
        boxes = _boxes(drawn, found, cmap="viridis_r" if info.direction == "minimize" else "viridis", edgecolor="white")
        boxes.set_array([cell["mean"] for cell in found])
        axes.add_collection(boxes, autolim=False)
        axes.add_collection(_boxes(drawn, pruned, **PRUNED), autolim=False)
        figure.colorbar(boxes, ax=axes, label="posterior mean at the centroid")
        drawn[1].draw(axes, "y")
        if is_recommended:
            star(axes, *([scale.position(through[scale.name])] for scale in drawn))
    drawn[0].draw(axes, "x")
    count = sum(cell["status"] == "leaf" for cell in cells)
    axes.set_title(f"{label(info.id)}: {len(found)} of {count} leaves")
    return figure


def _holds(scale: Scale, cell: Cell, point: Parameters) -> bool:
    if scale.name not in point or scale.name not in cell["low"]:  # inactive in one of them
        return True
    low, high = scale.box(cell["low"][scale.name], cell["high"][scale.name])
    return low <= scale.position(point[scale.name]) <= high


def _intervals(axes: Axes, scale: Scale, leaves: Sequence[Cell], pruned: Sequence[Cell]) -> None:
    """Draw each leaf as a line at its mean, with a band of one standard deviation."""
    for cell in leaves:
        low, high = scale.box(cell["low"][scale.name], cell["high"][scale.name])
        mean, std = cell["mean"], cell["std"]
        axes.fill_between([low, high], mean - std, mean + std, color="tab:blue", alpha=0.2)
        axes.hlines(mean, low, high, color="tab:blue")
    for cell in pruned:
        axes.axvspan(*scale.box(cell["low"][scale.name], cell["high"][scale.name]), **PRUNED)
    axes.set_ylabel("posterior mean ± standard deviation")


def _boxes(drawn: Sequence[Scale], cells: Sequence[Cell], **style: Any) -> PatchCollection:
    """Return cells as rectangles."""
    rectangles = []
    for cell in cells:
        (left, right), (bottom, top) = (scale.box(cell["low"][scale.name], cell["high"][scale.name]) for scale in drawn)
        rectangles.append(Rectangle((left, bottom), right - left, top - bottom))
    return PatchCollection(rectangles, linewidth=0.6, **style)

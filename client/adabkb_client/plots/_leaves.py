"""The partition of the space: leaves and pruned cells along one parameter or over two."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import FigureBase
from matplotlib.patches import Rectangle

from adabkb_client._models import Parameters, StudyInfo
from adabkb_client.plots._canvas import canvas, label, star
from adabkb_client.plots._scales import Scale

Cell = Mapping[str, Any]
"""A cell in wire form."""
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
        is_recommended: whether to mark the point.
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

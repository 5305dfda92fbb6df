"""All results in parallel coordinates: a line for each, through its parameters and its value."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import FigureBase

from adabkb_client._models import Observation, Parameters, StudyInfo
from adabkb_client.plots._canvas import canvas, label, literally
from adabkb_client.plots._metrics import numbers, title
from adabkb_client.plots._scales import Scale


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
    lines = [list(_line(scales, each.parameters)) for each in ordered]
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


def _line(scales: Sequence[Scale], point: Parameters) -> Iterator[tuple[float, float]]:
    """Yield the points of a result's line; inactive parameters leave a gap."""
    for place, scale in enumerate(scales):
        yield place, scale.share(point[scale.name]) if scale.name in point else np.nan

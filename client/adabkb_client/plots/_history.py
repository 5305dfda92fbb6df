"""The results in order, and the best so far."""

from collections.abc import Sequence
from itertools import accumulate

from matplotlib.figure import FigureBase

from adabkb_client._models import Observation, StudyInfo
from adabkb_client.plots._canvas import OBSERVED, canvas, label, literally
from adabkb_client.plots._metrics import numbers, title


def history(info: StudyInfo, observations: Sequence[Observation], figure: FigureBase | None) -> FigureBase:
    """Draw the value of each observation over its number; those that do not count are crosses."""
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
    axes.set(xlabel="observation", ylabel=f"{literally(title(info))} ({info.direction})", title=label(info.id))
    axes.legend()
    return figure

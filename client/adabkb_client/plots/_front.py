"""The Pareto front of two objectives."""

from collections.abc import Sequence

from matplotlib.figure import FigureBase

from adabkb_client._analysis import Front
from adabkb_client._models import Observation
from adabkb_client.plots._canvas import canvas, dots, label, saying
from adabkb_client.plots._metrics import numbers


def front(
    study_id: str, found: Front, observations: Sequence[Observation], across: str, up: str, figure: FigureBase | None
) -> FigureBase:
    """Draw the results, those on the front, and the predictions of the model's front with their standard deviations."""
    if not found.results:
        return saying(figure, f"Study {study_id} has no results yet.")
    figure = canvas(figure, 6.4, 4.4)
    axes = figure.add_subplot()
    told = [each.metrics for each in observations if each.metrics is not None and each.counts]
    points = [each for each in told if {across, up} <= each.keys()]
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

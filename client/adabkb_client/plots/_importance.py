"""Importance of the parameters: their Sobol' indices as bars."""

from matplotlib.figure import FigureBase

from adabkb_client._analysis import Importance
from adabkb_client.plots._canvas import canvas, label, saying

REASONS = {
    "too_few_results": "has too few results to rank the parameters: at least 4 are needed.",
    "constant": "has the same prediction everywhere, so no parameter matters yet.",
}
BAR = 0.38


def importance(study_id: str, found: Importance, figure: FigureBase | None) -> FigureBase:
    """Draw the total and the first-order index of each parameter with its standard error, the largest at the top."""
    if found.reason is not None:
        return saying(figure, f"Study {study_id} {REASONS.get(found.reason, f'has no importances: {found.reason}.')}")
    ranked = sorted(found.parameters, key=lambda each: each.total)
    figure = canvas(figure, 6.4, 1.4 + 0.4 * len(ranked))
    axes = figure.add_subplot()
    places = range(len(ranked))
    for shift, color, name, widths, errors in (
        (BAR / 2, "tab:blue", "total", [each.total for each in ranked], [each.total_error for each in ranked]),
        (
            -BAR / 2,
            "tab:orange",
            "first order",
            [each.first_order for each in ranked],
            [each.first_order_error for each in ranked],
        ),
    ):
        axes.barh([place + shift for place in places], widths, BAR, xerr=errors, color=color, label=name)
    axes.set_yticks(list(places), [label(each.name) for each in ranked])
    axes.set(xlim=(0.0, 1.0), xlabel="share of the variance of the posterior mean", title=label(study_id))
    axes.legend(loc="lower right")
    return figure

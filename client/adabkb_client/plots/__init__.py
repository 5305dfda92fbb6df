"""The figures of ``study.plot``, drawn with matplotlib from answers of the API."""

from typing import TYPE_CHECKING

from adabkb_client.plots._async_methods import AsyncPlots as AsyncPlotMethods
from adabkb_client.plots._figures import Figures
from adabkb_client.plots._methods import Plots as PlotMethods

if TYPE_CHECKING:
    from adabkb_client._async_study_methods import AsyncStudy
    from adabkb_client._study_methods import Study

__all__ = ["AsyncPlots", "Plots"]


class Plots(PlotMethods):
    """The figures of a study.

    Each method returns a ``matplotlib.figure.Figure``, which a notebook displays and ``savefig`` writes, or draws on
    the given ``figure``, such as ``plt.figure()`` or a subfigure. If there is nothing to draw yet, the figure says so.
    ``metric`` is the metric to draw instead of the value; a study with several objectives requires it.
    """

    def __init__(self, study: "Study") -> None:
        self._transport = study._transport
        self._figures = Figures(study._calls)


class AsyncPlots(AsyncPlotMethods):
    """Awaitable versions of the figures, which are drawn in threads."""

    def __init__(self, study: "AsyncStudy") -> None:
        self._transport = study._transport
        self._figures = Figures(study._calls)

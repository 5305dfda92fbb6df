"""The figures of ``study.plot``, drawn with matplotlib from API responses."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from adabkb_client._calls import Steps
from adabkb_client._study_calls import StudyCalls
from adabkb_client.plots._async_methods import AsyncPlots as AsyncPlotMethods
from adabkb_client.plots._methods import Plots as PlotMethods

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from adabkb_client._async_study_methods import AsyncStudy
    from adabkb_client._study_methods import Study
    from adabkb_client.plots._figures import Figures

__all__ = ["AsyncPlots", "Plots"]


class _ImportedWhenDrawn:
    """``Figures``, whose module is imported by the thread that draws the first one, since matplotlib takes time."""

    def __init__(self, study: StudyCalls) -> None:
        self._study = study

    def __getattr__(self, name: str) -> "Callable[..., Steps[FigureBase]]":
        def drawn(*args: Any, **options: Any) -> "Steps[FigureBase]":
            try:
                from adabkb_client.plots._figures import Figures  # noqa: PLC0415 (matplotlib is optional)
            except ImportError as error:
                raise ImportError("figures need matplotlib: pip install 'adabkb-client[plot]'") from error
            found: FigureBase = yield from getattr(Figures(self._study), name)(*args, **options)
            return found

        return drawn


class Plots(PlotMethods):
    """The figures of a study.

    Each method returns a ``matplotlib.figure.Figure``, which a notebook displays and ``savefig`` writes, or draws on
    the given ``figure``, such as ``plt.figure()`` or a subfigure. If there is nothing to draw yet, the figure says so.
    ``metric`` is the metric to draw instead of the value; a study with several objectives requires it.

    All methods raise ImportError if matplotlib is not installed.
    """

    def __init__(self, study: "Study") -> None:
        self._transport = study._transport
        self._figures = cast("Figures", _ImportedWhenDrawn(study._calls))


class AsyncPlots(AsyncPlotMethods):
    """Awaitable versions of the figures, which are drawn in threads."""

    def __init__(self, study: "AsyncStudy") -> None:
        self._transport = study._transport
        self._figures = cast("Figures", _ImportedWhenDrawn(study._calls))

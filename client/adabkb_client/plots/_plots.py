"""``study.plot``: the figures of a study, for the blocking and the async client."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from matplotlib.figure import FigureBase

from adabkb_client._calls import Steps, documented
from adabkb_client.plots._figures import Figures

if TYPE_CHECKING:
    from adabkb_client._async_resource import AsyncStudyResource
    from adabkb_client._resource import StudyResource

P = ParamSpec("P")
Drawing = Callable[Concatenate[Figures, P], Steps[FigureBase]]


def drawn(steps: Drawing[P]) -> Callable[Concatenate["Plots", P], FigureBase]:
    """Turn a procedure into a method with its arguments and its docstring."""

    def method(self: "Plots", /, *args: P.args, **kwargs: P.kwargs) -> FigureBase:
        return self._transport.perform(steps(self._figures, *args, **kwargs))

    documented(method, steps)
    return method


def awaited(steps: Drawing[P]) -> Callable[Concatenate["AsyncPlots", P], Coroutine[Any, Any, FigureBase]]:
    """Turn a procedure into an async method."""

    async def method(self: "AsyncPlots", /, *args: P.args, **kwargs: P.kwargs) -> FigureBase:
        return await self._transport.perform(steps(self._figures, *args, **kwargs))

    documented(method, steps)
    return method


class Plots:
    """The figures of a study.

    Each method returns a ``matplotlib.figure.Figure``, which a notebook displays and ``savefig`` writes, or draws on
    the given ``figure``, such as ``plt.figure()`` or a subfigure. If there is nothing to draw yet, the figure says so.
    ``metric`` is the metric to draw in place of the value; a study with several objectives requires it.
    """

    def __init__(self, study: "StudyResource") -> None:
        self._transport = study._transport
        self._figures = Figures(study._calls)

    history = drawn(Figures.history)
    slice = drawn(Figures.slice)
    contour = drawn(Figures.contour)
    parallel = drawn(Figures.parallel)
    importance = drawn(Figures.importance)
    leaves = drawn(Figures.leaves)
    front = drawn(Figures.front)


class AsyncPlots:
    """The same figures, to be awaited. Reading their data does not block the event loop, but drawing does."""

    def __init__(self, study: "AsyncStudyResource") -> None:
        self._transport = study._transport
        self._figures = Figures(study._calls)

    history = awaited(Figures.history)
    slice = awaited(Figures.slice)
    contour = awaited(Figures.contour)
    parallel = awaited(Figures.parallel)
    importance = awaited(Figures.importance)
    leaves = awaited(Figures.leaves)
    front = awaited(Figures.front)

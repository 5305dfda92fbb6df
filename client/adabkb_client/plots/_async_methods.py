"""The methods of the asynchronous client that perform the procedures of ``Figures``.

Written by ``python -m tools.client_methods``; change the procedures instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from adabkb_client._http.async_transport import AsyncTransport
    from adabkb_client.plots._figures import Figures


class AsyncPlots:
    """One method for each procedure of ``Figures``."""

    _transport: AsyncTransport
    _figures: Figures

    async def history(self, *, metric: str | None = None, figure: FigureBase | None = None) -> FigureBase:
        """Draw the results in order, and the best so far.

        Raises:
            ValueError: the study has no such metric, or none is named and there are several objectives (as in all
            figures except ``front``).
        """
        return await self._transport.perform_in_threads(self._figures.history(metric=metric, figure=figure))

    async def front(self, *objectives: str, figure: FigureBase | None = None) -> FigureBase:
        """Draw the results of a study with several objectives, with the Pareto front of the results and of the model.

        Args:
            objectives: the names of two objectives; by default the first two.
            figure: the figure to draw on; a new one by default.

        Raises:
            Invalid: the study has one objective.
            ValueError: these are not two of its objectives.
        """
        return await self._transport.perform_in_threads(self._figures.front(*objectives, figure=figure))

    async def slice(
        self, *parameters: str, points: int | None = None, metric: str | None = None, figure: FigureBase | None = None
    ) -> FigureBase:
        """Draw the posterior along each parameter, with the others as in the recommended point.

        Args:
            parameters: the names of parameters; by default all that vary, or the 12 most important ones.
            points: the maximum number of values per parameter.
            metric: the metric to draw instead of the value.
            figure: the figure to draw on; a new one by default.

        Raises:
            ValueError: the study has no such parameter, it is fixed or a catalogue, or it is named twice.
        """
        return await self._transport.perform_in_threads(
            self._figures.slice(*parameters, points=points, metric=metric, figure=figure)
        )

    async def contour(
        self, *parameters: str, points: int | None = None, metric: str | None = None, figure: FigureBase | None = None
    ) -> FigureBase:
        """Draw the posterior mean and standard deviation over two parameters; a star marks the recommended point.

        Args:
            parameters: the names of two parameters; by default the most important ones.
            points, metric, figure: as in ``slice``.

        Raises:
            ValueError: these are not two parameters of the study that vary.
        """
        return await self._transport.perform_in_threads(
            self._figures.contour(*parameters, points=points, metric=metric, figure=figure)
        )

    async def parallel(
        self, *parameters: str, metric: str | None = None, figure: FigureBase | None = None
    ) -> FigureBase:
        """Draw each result as a line through its parameters, colored by its value.

        Args:
            parameters, metric, figure: as in ``slice``.

        Raises:
            ValueError: the study has no such parameter, it is fixed or a catalogue, or it is named twice.
        """
        return await self._transport.perform_in_threads(
            self._figures.parallel(*parameters, metric=metric, figure=figure)
        )

    async def importance(self, *, metric: str | None = None, figure: FigureBase | None = None) -> FigureBase:
        """Draw the Sobol' indices of the parameters: see ``Study.importance``."""
        return await self._transport.perform_in_threads(self._figures.importance(metric=metric, figure=figure))

    async def leaves(self, *parameters: str, metric: str | None = None, figure: FigureBase | None = None) -> FigureBase:
        """Draw the leaves of the partition, and pruned cells (hatched), along a line or a plane through the recommended
        point.

        Args:
            parameters: the names of one or two parameters; by default the two most important ones.
            metric: the metric that the colors show instead of the value.
            figure: the figure to draw on; a new one by default.

        Raises:
            ValueError: these are not one or two parameters of the study that vary.
        """
        return await self._transport.perform_in_threads(self._figures.leaves(*parameters, metric=metric, figure=figure))

"""SciPy's DIRECT, locally biased. It calls its objective, so it runs in a thread that waits for ``tell``."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Thread

from scipy.optimize import direct

from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.methods.base import Method, Parameters

# Never reached: the budget ends the run. The tolerances are off, because, with the defaults, DIRECT stops at once in
# many dimensions.
MAX_EVALUATIONS = 20_000


class _Closed(Exception):
    """Ends the search from within its objective."""


class Direct(Method):
    """DIRECT on the unit cube. In a space with integers or categories, it may request the same parameters again."""

    def __init__(self, space: Space, seed: int) -> None:
        del seed  # it is deterministic
        self._space = space
        self._points: SimpleQueue[Array | None] = SimpleQueue()
        self._values: SimpleQueue[float | None] = SimpleQueue()
        self._thread = Thread(target=self._search, daemon=True)
        self._thread.start()

    def ask(self) -> Parameters:
        """The next point of the search."""
        point = self._points.get()
        if point is None:
            raise RuntimeError("DIRECT ended before its budget")
        return self._space.decode(point)

    def tell(self, parameters: Parameters, value: float) -> None:
        """Pass the value to the waiting objective."""
        del parameters
        self._values.put(value)

    def close(self) -> None:
        """Stop the thread, which waits for a value."""
        self._values.put(None)
        self._thread.join()

    def _search(self) -> None:
        try:
            direct(
                self._objective,
                [(0.0, 1.0)] * self._space.dimension,
                locally_biased=True,
                maxfun=MAX_EVALUATIONS,
                maxiter=MAX_EVALUATIONS,
                vol_tol=0.0,
                len_tol=0.0,
            )
        except _Closed:
            return
        self._points.put(None)

    def _objective(self, point: Array) -> float:
        self._points.put(point.copy())
        value = self._values.get()
        if value is None:
            raise _Closed
        return value

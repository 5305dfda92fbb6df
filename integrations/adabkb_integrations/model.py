"""A model of the engine in this process, for results that the caller stores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from adabkb_service.engine import record
from adabkb_service.engine.answers import Recommendation
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.reports.baseline import keep_near
from adabkb_service.engine.auto.reports.front import results_since_gain
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.metrics import Measured
from adabkb_service.engine.moves import Update
from adabkb_service.engine.policy import GeneralPolicy
from adabkb_service.engine.record import Record
from adabkb_service.engine.sampling import config as sampling
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.engine.systems import policy_of

Array = NDArray[np.float64]
Position = tuple[float, ...]
"""The coordinates of a point in the unit cube."""

WIDTH = 3.0
"""The width of a ``Promise`` in standard deviations: the largest that the search uses, since a model of few results
underestimates its uncertainty."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the evaluation of a point."""

    position: Position
    value: float | None
    """Larger is better; NaN if it is not known, None if the point could not be evaluated."""
    error: float = 0.0
    """Standard error of the value; 0 if unknown."""
    metrics: tuple[Measured, ...] = ()
    """The measured value of each metric of the configuration."""
    plate: int | None = None
    """The number of its plate, if the configuration has plates."""


@dataclass(frozen=True, slots=True)
class Promise:
    """An optimistic prediction at a point: the model's mean plus ``WIDTH`` standard deviations."""

    objectives: tuple[float, ...]
    """Larger is better."""
    violation: float
    """How far the optimistic values of metrics violate their bounds, in standard deviations of the results."""


class Model:
    """A model of some results. It depends only on the space, the seed and the results in their order, except for the
    cells of the partition tree, which suggestions also split."""

    def __init__(self, space: Space, seed: int, config: Config | sampling.Config | None = None) -> None:
        self.space = space
        self.config = config or Config()
        self._seed = seed
        self._spent = 0.0
        policy = policy_of(self.config)
        assert isinstance(policy, GeneralPolicy), "both configurations are of general algorithms"
        self._policy: GeneralPolicy[Any, Any] = policy
        self._state = self._policy.start(space, self.config, seed)
        self._cells: dict[str, str] = {}
        """Key -> status of the changed cells of the partition tree."""
        self._results: dict[int, Result] = {}
        self._known: list[Result] = []
        """The results that the model has learned; the others failed."""
        self._failed: list[Position] = []

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the state, which has addresses of arrays, and what restores the state."""
        kept = {name: each for name, each in vars(self).items() if name != "_state"}
        return {**kept, "learned": (self._policy.dictionary(self._state), self._policy.learned(self._state))}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        dictionary, learned = kept.pop("learned")
        vars(self).update(kept)
        with one_thread():
            state = self._policy.restore(
                self.space, self.config, self._seed, self._record(), self._cells, dictionary, learned
            )
        self._state = self._policy.with_spent(state, self._spent)

    @property
    def policy(self) -> GeneralPolicy[Any, Any]:
        """The algorithm."""
        return self._policy

    @property
    def state(self) -> Any:
        """The state of the algorithm."""
        return self._state

    @property
    def cells(self) -> Mapping[str, str]:
        """Key -> status of the changed cells of the partition tree."""
        return self._cells

    @property
    def size(self) -> int:
        """The number of results in the model."""
        return len(self._results)

    def count(self, metric: int | None) -> int:
        """Return the number of results with a value of a metric, given by its index in the configuration, or of the
        objective if None."""
        if metric is None:
            return sum(not _lacks_value(each) for each in self._known)
        return sum(not math.isnan(each.metrics[metric].value) for each in self._known)

    def agrees_with(self, results: Mapping[int, Result]) -> bool:
        """Return whether the given results, by number, include all results in the model."""
        return self._results.items() <= results.items()

    def learn(self, results: Mapping[int, Result]) -> None:
        """Add the given results, by number, that are new, in the order of the mapping."""
        for number, result in results.items():
            if number not in self._results:
                self._results[number] = result
                self._observe(result)

    def spend(self, cost: float) -> None:
        """Set the total cost of the trials without a result, which counts towards a cost budget."""
        self._spent = cost
        self._state = self._policy.with_spent(self._state, cost)

    def suggest(
        self,
        pending: Sequence[Position] = (),
        moved: Sequence[Position] = (),
        count: int = 1,
        within: Slice | None = None,
    ) -> list[Array]:
        """Return points to evaluate, (d,) each; fewer than ``count`` if a finite space or slice has no more.

        Args:
            pending: points without a result yet.
            moved: suggested points that were replaced by others.
            count: the number of points.
            within: the slice of the space that contains the points; None for the whole space.
        """
        points = []
        without_value = [each.position for each in self._known if _lacks_value(each)]
        arrays = [self._stacked(positions) for positions in ([*without_value, *pending], self._failed, moved)]
        found = self._policy.suggestions(self._state, *arrays)
        if within is not None:
            found = self._policy.suggestions_within(self._state, within, *arrays)
        for suggestion in islice(found, count):
            self._state = suggestion.state
            self._cells |= suggestion.cells
            points.append(suggestion.point)
        return points

    @property
    def gap(self) -> tuple[float | None, float | None]:
        """The gap, and the gap as a share of the range of the results; None for what is not known."""
        found = self._policy.report(self._state)
        return found.gap, found.gap_share

    @property
    def results_since_gain(self) -> int | None:
        """With several objectives, the number of results after the last increase of the hypervolume; None otherwise."""
        return results_since_gain(self._state) if isinstance(self._state, State) else None

    def near(self, baseline: Mapping[int, float], tolerance: float, within: Slice) -> Recommendation | None:
        """Return a point of a slice that is as good as the recommended one, but has fewer changes from a baseline; None
        before the first result.

        Args:
            baseline: positions by axis.
            tolerance: a difference of values that does not matter.
            within: the points of a context; in a space without context, all points.
        """
        recommend = self._policy.recommend
        found = self._policy.recommend_within(self._state, within) if within.fixed else recommend(self._state)
        if found is None:
            return None
        return keep_near(self._state, found, baseline, within, tolerance)

    def recommended(self) -> Position | None:
        """Return the evaluated point with the best posterior mean; None before the first result."""
        found = self._policy.recommend(self._state)
        return None if found is None else tuple(found.point.tolist())

    def promise(self, point: Array) -> Promise:
        """Return the optimistic prediction at a point (d,)."""
        found = self._policy.predict(self._state, point[None])
        assert isinstance(self.config, Config)
        bounds = list(zip(self.config.metrics, self._state.metrics, found.metrics, strict=True))
        goals = [found, *(each for metric, _, each in bounds if metric.goal)]
        violation = 0.0
        for metric, state, each in bounds:
            if not metric.is_bounded:  # its prediction is NaN while no value is known
                continue
            lower, upper = metric.signed_bounds
            mean, width = float(each.mean[0]), WIDTH * float(each.std[0])
            scale = float(np.std(state.record.values)) if state.record.size else 0.0
            violation += max(lower - (mean + width), (mean - width) - upper, 0.0) / (scale or 1.0)
        return Promise(tuple(float(each.mean[0]) + WIDTH * float(each.std[0]) for each in goals), violation)

    def _observe(self, result: Result) -> None:
        if _lacks_value(result):
            self._known.append(result)
            self._apply(self._policy.rebuild(self._state, self._record(), self._cells))
            return
        if result.value is not None:
            try:
                numbers = np.array(result.position), result.value, result.error, result.metrics, result.plate
                self._apply(self._policy.observe(self._state, *numbers))
            except FloatingPointError:  # the value is too large
                pass
            else:
                self._known.append(result)
                return
        self._failed.append(result.position)

    def _apply(self, update: Update[Any]) -> None:
        self._state = update.state
        self._cells |= update.cells

    def _record(self) -> Record:
        """Return the results that the model has, with NaN for numbers that are not known."""
        known = self._known
        has_plates = isinstance(self.config, Config) and self.config.has_plates
        plates = [record.NO_PLATE if each.plate is None else each.plate for each in known]
        return record.of(
            self._stacked([each.position for each in known]),
            np.array([each.value for each in known]),
            np.array([each.error for each in known]),
            np.array([each.metrics for each in known]).reshape(len(known), -1, 2),
            np.array(plates, dtype=np.int64) if has_plates else None,
        )

    def _stacked(self, positions: Sequence[Position]) -> Array:
        return np.array(positions).reshape(-1, self.space.dimension)


def _lacks_value(result: Result) -> bool:
    return result.value is not None and math.isnan(result.value)


def one_thread() -> AbstractContextManager[object]:
    """Limit linear algebra to one thread inside the block.

    With more threads, the small matrices of the engine take several times as long. The number of threads also changes
    the rounding of sums, so suggestions would differ from those of a server, which has one thread by default.
    """
    context: AbstractContextManager[object] = _controller().limit(limits=1)
    return context


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()

"""The interface between the service and the systems, which decide where to evaluate.

A system is a subclass of ``Policy``; a study's definition names it. States are immutable values whose contents only the
system itself knows. Positions are in the unit cube, and larger results are better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, Front, LeftOut, Prediction, Recommendation, Report
from adabkb_service.engine.metrics import FEASIBLE, Measured
from adabkb_service.engine.moves import Suggestion, Update
from adabkb_service.engine.record import Record
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
C = TypeVar("C")
S = TypeVar("S")


class Policy(ABC, Generic[C, S]):
    """A system whose configurations are of type C and whose states are of type S."""

    @abstractmethod
    def start(self, space: Space, config: C, seed: int) -> S:
        """The state of a study in which nothing has happened."""

    @abstractmethod
    def restore(
        self,
        space: Space,
        config: C,
        seed: int,
        record: Record,
        cells: Mapping[str, str],
        dictionary: Sequence[int],
        learned: Mapping[str, object] | None = None,
    ) -> S:
        """The state of a study, from what was stored of it. It decides as the state that was stored would have.

        Args:
            space, config, seed: of the study.
            record: all results that count, in log order.
            cells: key -> "leaf" | "expanded" | "pruned" of every cell ever created, in order of creation; empty if
                there has been no suggestion.
            dictionary: what ``dictionary`` returned.
            learned: what ``learned`` returned.
        """

    @abstractmethod
    def suggestions(
        self, state: S, pending: Array, failed: Array | None = None, moved: Array | None = None
    ) -> Iterator[Suggestion[S]]:
        """Points to evaluate, one after the other. Each is pending when the next one is decided on.

        Args:
            state: of the study.
            pending: (k, d) cube positions of points that were handed out and have no result yet.
            failed: (f, d) cube positions of points that could not be evaluated.
            moved: (m, d) cube positions of points that were handed out, where another point was evaluated in their
                place. A system that repeats points anyway may suggest them again.

        Returns:
            The points. The iterator ends when no point is left.
        """

    def suggestions_within(
        self, state: S, within: Slice, pending: Array, failed: Array | None = None, moved: Array | None = None
    ) -> Iterator[Suggestion[S]]:
        """As ``suggestions``, but of points of a slice of the space.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot hold parameters fixed")

    def suggest(self, state: S, pending: Array, failed: Array | None = None) -> Suggestion[S]:
        """The next point to evaluate: the first of ``suggestions``.

        Raises:
            StopIteration: no point is left.
        """
        return next(self.suggestions(state, pending, failed))

    @abstractmethod
    def observe(
        self, state: S, point: Array, value: float, error: float = 0.0, metrics: Sequence[Measured] = ()
    ) -> Update[S]:
        """The state after a result.

        Args:
            state: of the study.
            point: (d,) cube position of the evaluated point, which need not have been suggested.
            value: the result; larger is better.
            error: its standard error in the user's units; 0 if unknown.
            metrics: what it measures of each metric of the study.

        Raises:
            FloatingPointError: with this result the model would exceed floating point. The result is stored already.
        """

    def prepare(self, state: S) -> S:
        """The same state, with what the next ``observe`` will need computed ahead. This changes no answer."""
        return state

    def learns_next(self, state: S) -> bool:  # noqa: ARG002
        """Whether ``prepare``, or else the next ``observe``, learns hyperparameters. By default it does not."""
        return False

    def with_prepared_of(self, state: S, prepared: S) -> S:  # noqa: ARG002
        """The same state, with what ``prepare`` computed for ``prepared``, another state with the same results."""
        return state

    @abstractmethod
    def rebuild(self, state: S, record: Record, cells: Mapping[str, str]) -> Update[S]:
        """The state after a correction, which has changed the record of results.

        Args:
            state: before the correction.
            record: the results that count now, in log order.
            cells: as for ``restore``. Expanded cells stay expanded, since their children's points were handed out.
        """

    def edited(self, state: S, space: Space, record: Record) -> Update[S]:
        """The state after an edit of the space, which gives all results other positions: the tree is a new one.

        Args:
            state: before the edit.
            space: as it is now.
            record: the results that count in it, in log order.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot go on in another space")

    @abstractmethod
    def dictionary(self, state: S) -> tuple[int, ...]:
        """The inducing points as ordinals of distinct evaluated points, ascending."""

    def learned(self, state: S) -> Mapping[str, object] | None:  # noqa: ARG002
        """What ``restore`` needs beyond the record, the tree and the dictionary, as JSON. By default nothing."""
        return None

    def stopped(self, state: S) -> bool:  # noqa: ARG002
        """Whether the algorithm has come to its own end. By default it never does."""
        return False

    def exhausted(
        self,
        state: S,  # noqa: ARG002
        handed_out: Array,  # noqa: ARG002
        within: Slice | None = None,  # noqa: ARG002
        failed: Array | None = None,  # noqa: ARG002
    ) -> bool:
        """Whether no point is left to be suggested, of a slice if one is given. By default never, as points may be
        suggested repeatedly.

        Args:
            state: of the study.
            handed_out: (k, d) cube positions of points that were handed out and have no result.
            within: the slice.
            failed: (f, d) those of them that could not be evaluated.
        """
        return False

    @abstractmethod
    def report(self, state: S) -> Report:
        """The model in numbers."""

    @abstractmethod
    def predict(self, state: S, points: Array) -> Prediction:
        """The posterior at cube positions (k, d), given the results only: pending points have no part in it."""

    def mean(self, state: S, points: Array) -> Array:
        """The mean of ``predict`` alone, (k,), where that is cheaper."""
        return self.predict(state, points).mean

    def left_out(self, state: S) -> LeftOut | None:  # noqa: ARG002
        """What the posterior would predict of each result from the others; of a part of them, where they are many. By
        default None: the system does not say."""
        return None

    def fewest_results(self, state: S) -> int | None:  # noqa: ARG002
        """Results before which the gap is not known. By default None: it does not depend on their number."""
        return None

    @abstractmethod
    def recommend(self, state: S, feasible: float = FEASIBLE) -> Recommendation | None:
        """The evaluated point of best posterior mean; None before the first result. Where metrics have bounds, only a
        point that keeps them with the probability ``feasible`` comes into question, or else the likeliest one. Of
        several objectives, the result on the front that is farthest from the worst in each of them."""

    def recommend_within(self, state: S, within: Slice, feasible: float = FEASIBLE) -> Recommendation | None:
        """The point of a slice with the best posterior mean, which need not have been evaluated; None before the first
        result. ``feasible`` is as in ``recommend``.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot hold parameters fixed")

    def keep_near(
        self,
        state: S,
        found: Recommendation,
        baseline: Mapping[int, float],
        within: Slice,
        tolerance: float = 0.0,
        feasible: float = FEASIBLE,
    ) -> Recommendation:
        """Of the points of a slice that are as good as a recommended one, one that changes fewer values of a baseline,
        which has positions by axis. ``tolerance`` is a difference, in the user's units, that does not matter.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no baseline")

    def front(self, state: S, feasible: float = FEASIBLE) -> Front:
        """The Pareto front of a study with several objectives; ``feasible`` as in ``recommend``.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has one objective")

    def of_metric(self, state: S, index: int) -> S:
        """The state that models a metric, by its place in the configuration.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no metrics")

    @abstractmethod
    def cell_box(self, state: S, key: str) -> CellBox:
        """The corners and the centroid of a cell, from its key."""

    def cell_indices(self, state: S, keys: Sequence[str]) -> Array:  # noqa: ARG002
        """(k,) what the objective may reach in cells, as this system bounds it, in the user's units; NaN for cells that
        it has no such number for. By default for none."""
        return np.full(len(keys), np.nan)

"""The interface between the service and the algorithms that decide where to evaluate.

An algorithm is a subclass of ``Policy``; a study's definition names it. States are immutable. Positions are in the unit
cube, and larger results are better. Only the model of ``auto`` explains its results further: the functions in
``auto/reports`` take its states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.metrics import FEASIBLE, Measured
from adabkb_service.engine.moves import Suggestion, Update
from adabkb_service.engine.record import Record
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
C = TypeVar("C")
S = TypeVar("S")


class Policy(ABC, Generic[C, S]):
    """An algorithm with configurations of type C and states of type S."""

    @abstractmethod
    def start(self, space: Space, config: C, seed: int) -> S:
        """The state of a new study."""

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
        """The state of a study, restored from stored data. It leads to exactly the same decisions as the state that was
        stored.

        Args:
            space, config, seed: those of the study.
            record: the results that the model uses, in log order.
            cells: key -> "leaf" | "expanded" | "pruned" of every cell ever created, in order of creation; empty
                before the first suggestion.
            dictionary: as returned by ``dictionary``.
            learned: as returned by ``learned``.
        """

    @abstractmethod
    def suggestions(
        self, state: S, pending: Array, failed: Array | None = None, replaced: Array | None = None
    ) -> Iterator[Suggestion[S]]:
        """Points to evaluate, in order. Each counts as pending when the next one is chosen.

        Args:
            state: the state of the study.
            pending: (k, d) cube positions of issued points that have no result yet.
            failed: (f, d) cube positions of points that could not be evaluated.
            replaced: (m, d) cube positions of issued points in place of which a worker evaluated another point. An
                algorithm that repeats points may suggest them again.

        Returns:
            The points. The iterator ends when no point is left.
        """

    def suggest(self, state: S, pending: Array, failed: Array | None = None) -> Suggestion[S]:
        """The next point to evaluate: the first of ``suggestions``.

        Raises:
            StopIteration: no point is left.
        """
        return next(self.suggestions(state, pending, failed))

    @abstractmethod
    def observe(
        self,
        state: S,
        point: Array,
        value: float,
        error: float = 0.0,
        metrics: Sequence[Measured] = (),
        plate: int | None = None,
    ) -> Update[S]:
        """The state after a result.

        Args:
            state: the state of the study.
            point: (d,) cube position of the evaluated point, which need not have been suggested.
            value: the result; larger is better.
            error: the standard error of the result, in the user's units; 0 if unknown.
            metrics: the value of each metric of the study.
            plate: the number of the result's plate; None without a plate.

        Raises:
            FloatingPointError: with this result (which is already stored), the model's numbers would overflow.
        """

    def prepare(self, state: S) -> S:
        """The same state, with work done in advance for the next ``observe``. If ``learns_next`` is true, this call
        only learns hyperparameters, and another call does the rest. All later answers are the same as without these
        calls."""
        return state

    def learns_next(self, state: S) -> bool:
        """Whether the next ``prepare`` (or ``observe``, if that comes first) learns hyperparameters. False by
        default."""
        return False

    def with_prepared_of(self, state: S, prepared: S) -> S:
        """The same state, with the work that was done in advance in ``prepared``, another state with the same
        results."""
        return state

    @abstractmethod
    def rebuild(self, state: S, record: Record, cells: Mapping[str, str]) -> Update[S]:
        """The state after a correction, with another record of results.

        Args:
            state: the state before the correction.
            record: the results that the model uses after it, in log order.
            cells: as for ``restore``. Expanded cells stay expanded, since the points of their children were issued.

        Raises:
            FloatingPointError: the model's numbers would overflow.
        """

    @abstractmethod
    def dictionary(self, state: S) -> tuple[int, ...]:
        """The dictionary (inducing points), as ordinals of distinct evaluated points, ascending."""

    def learned(self, state: S) -> Mapping[str, object] | None:
        """Data that ``restore`` needs beyond the record, the tree and the dictionary, as JSON. None by default."""
        return None

    def stopped(self, state: S) -> bool:
        """Whether the algorithm has terminated by its own rule. False by default."""
        return False

    def exhausted(self, state: S, issued: Array, within: Slice | None = None, failed: Array | None = None) -> bool:
        """Whether no point is left to suggest, in a slice if one is given. False by default, since points may be
        suggested repeatedly.

        Args:
            state: the state of the study.
            issued: (k, d) cube positions of issued points without a result.
            within: the slice; None for the whole space.
            failed: (f, d) cube positions of the issued points that could not be evaluated.
        """
        return False

    @abstractmethod
    def report(self, state: S) -> Report:
        """Statistics of the model."""

    @abstractmethod
    def predict(self, state: S, points: Array) -> Prediction:
        """The posterior at cube positions (k, d), given only the results: pending points are ignored."""

    def mean(self, state: S, points: Array) -> Array:
        """Only the mean of ``predict``, (k,), for algorithms where that is cheaper."""
        return self.predict(state, points).mean

    def with_spent(self, state: S, cost: float) -> S:
        """The state of a study that has also spent this cost on trials without a result. The cost counts towards the
        cost budget. By default the state itself."""
        return state

    @abstractmethod
    def recommend(self, state: S, feasible: float = FEASIBLE) -> Recommendation | None:
        """The evaluated point with the best posterior mean; None before the first result. If metrics have bounds, only
        points that satisfy them with at least the probability ``feasible`` are candidates or, if there are none, the
        point with the largest probability. With several objectives, the result on the front that maximizes the smallest
        of its objectives, each scaled to its range."""

    @abstractmethod
    def cell_box(self, state: S, key: str) -> CellBox:
        """The corners and the centroid of a cell, from its key."""

    def cell_indices(self, state: S, keys: Sequence[str]) -> Array:
        """(k,) the algorithm's upper bound on the objective in each cell, in the user's units; NaN for cells without
        one. By default NaN for all."""
        return np.full(len(keys), np.nan)


class GeneralPolicy(Policy[C, S]):
    """An algorithm for all studies: it also suggests points of a slice of the space, which fixed parameters, contexts
    and plates require, and continues in an edited space."""

    @abstractmethod
    def suggestions_within(
        self, state: S, within: Slice, pending: Array, failed: Array | None = None, replaced: Array | None = None
    ) -> Iterator[Suggestion[S]]:
        """As ``suggestions``, but for points of a slice of the space."""

    @abstractmethod
    def recommend_within(self, state: S, within: Slice, feasible: float = FEASIBLE) -> Recommendation | None:
        """The point of a slice with the best posterior mean, which need not have been evaluated; None before the first
        result. ``feasible`` is as in ``recommend``."""

    @abstractmethod
    def edited(self, state: S, space: Space, config: C, record: Record) -> Update[S]:
        """The state after an edit of the space, which changes the positions of all results: the tree is rebuilt.

        Args:
            state: the state before the edit.
            space, config: those after the edit.
            record: the results in the new space, in log order.

        Raises:
            FloatingPointError: the model's numbers would overflow.
        """

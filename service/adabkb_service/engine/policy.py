"""What a study asks of the system that decides where to evaluate, and what the answers are.

A system is a subclass of ``Policy``; a study's definition names it. States are immutable values that only the system
itself looks into. Positions are in the unit cube, and larger results are better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.moves import Suggestion, Update
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
C = TypeVar("C")
S = TypeVar("S")


class Policy(ABC, Generic[C, S]):
    """A system with configurations C and states S."""

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
        """The state that running the study gave, from what was kept of it.

        Args:
            space, config, seed: of the study.
            record: all results, in log order.
            cells: key -> "leaf" | "expanded" | "pruned" of every cell ever created, in order of creation; empty for a
                study that never suggested.
            dictionary: as ``dictionary`` gave it.
            learned: as the last ``report`` had it; None for a study without one.
        """

    @abstractmethod
    def suggestions(self, state: S, pending: Array, failed: Array | None = None) -> Iterator[Suggestion[S]]:
        """Points to evaluate, one after the other, each pending for the next; ends where there is none left.

        Args:
            state: of the study.
            pending: (k, d) cube positions of points handed out and not yet observed.
            failed: (f, d) those that could not be evaluated.
        """

    def suggest(self, state: S, pending: Array, failed: Array | None = None) -> Suggestion[S]:
        """The next point to evaluate: the first of ``suggestions``.

        Raises:
            StopIteration: there is none left.
        """
        return next(self.suggestions(state, pending, failed))

    @abstractmethod
    def observe(self, state: S, point: Array, value: float, error: float = 0.0) -> Update[S]:
        """The state after a result.

        Args:
            state: of the study.
            point: (d,) cube position of what was evaluated; any point of the space.
            value: the result, larger is better.
            error: its standard error in the user's units; 0 if unknown.

        Raises:
            FloatingPointError: the numbers are beyond what floating point can hold; the result cannot be taken.
        """

    def prepare(self, state: S) -> S:
        """The same state, with what the next ``observe`` will need computed ahead; it changes no answer."""
        return state

    def prepared_alike(self, state: S, prepared: S) -> S:  # noqa: ARG002
        """The same state, with what ``prepare`` computed for another state that has the same results."""
        return state

    @abstractmethod
    def rebuild(self, state: S, record: Record, cells: Mapping[str, str]) -> Update[S]:
        """The study with another record of results, after a correction.

        Args:
            state: of the study.
            record: the results that count, in log order.
            cells: as for ``restore``; what was cut stays cut, as points were handed out for it.
        """

    @abstractmethod
    def dictionary(self, state: S) -> tuple[int, ...]:
        """The inducing points as ordinals of distinct evaluated points, ascending."""

    def stopped(self, state: S) -> bool:  # noqa: ARG002
        """Whether the system itself ends the study; by default it never does."""
        return False

    def exhausted(self, state: S, awaited: Array) -> bool:  # noqa: ARG002
        """Whether no point is left beside the evaluated and the awaited ones, (k, d); by default never, as points are
        repeated."""
        return False

    @abstractmethod
    def report(self, state: S) -> Report:
        """The model in numbers."""

    @abstractmethod
    def predict(self, state: S, points: Array) -> Prediction:
        """The posterior at cube positions (k, d), by the results alone."""

    @abstractmethod
    def recommend(self, state: S) -> Recommendation | None:
        """The evaluated point of best posterior mean; None before the first result."""

    @abstractmethod
    def cell_box(self, state: S, key: str) -> CellBox:
        """A cell's extent."""

"""What the operations ask of a policy. A policy is a module; a study's definition names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.moves import Suggestion, Update
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


class Policy(Protocol):
    """Decides where to evaluate next. States are values that only the policy looks into; positions are in the unit
    cube, and larger results are better.
    """

    def start(self, space: Space, config: Any, seed: int) -> Any:
        """The state of a study in which nothing has happened."""

    def restore(
        self,
        space: Space,
        config: Any,
        seed: int,
        record: Record,
        cells: Mapping[str, str],
        dictionary: Sequence[int],
        learned: Mapping[str, Any] | None,
    ) -> Any:
        """The state that the log gave, from what was kept of it."""

    def suggest(self, state: Any, pending: Array, failed: Array | None = None) -> Suggestion[Any]:
        """The next point to evaluate."""

    def suggestions(self, state: Any, pending: Array, failed: Array | None = None) -> Iterator[Suggestion[Any]]:
        """One point after the other, each pending for the next; ends where there is none left."""

    def observe(self, state: Any, point: Array, value: float, error: float = 0.0) -> Update[Any]:
        """Fold a result in."""

    def rebuild(self, state: Any, record: Record, cells: Mapping[str, str]) -> Update[Any]:
        """The study with another record of results, after a correction."""

    def dictionary(self, state: Any) -> tuple[int, ...]:
        """The dictionary as ordinals of distinct evaluated points, ascending."""

    def stopped(self, state: Any) -> bool:
        """Whether the policy has nothing more to learn."""

    def exhausted(self, state: Any, awaited: Array) -> bool:
        """Whether no point is left beside the evaluated and the awaited ones, (k, d)."""

    def report(self, state: Any) -> Report:
        """The model in numbers."""

    def predict(self, state: Any, points: Array) -> Prediction:
        """The posterior at positions (k, d)."""

    def recommend(self, state: Any) -> Recommendation | None:
        """The best evaluated point by the model; None before the first result."""

    def cell_box(self, state: Any, key: str) -> CellBox:
        """A cell's extent."""

"""The common interface of all methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

Parameters = Mapping[str, Any]


class Method(ABC):
    """The optimizer of one run, which minimizes. ``ask`` and ``tell`` are called in turn."""

    @abstractmethod
    def ask(self) -> Parameters:
        """The next point to evaluate."""

    @abstractmethod
    def tell(self, parameters: Parameters, value: float) -> None:
        """Receive the (noisy) value at the point of the last ``ask``."""

    def recommend(self) -> Parameters | None:
        """The point that the method considers the best, or None if it has no recommendation."""
        return None

    def close(self) -> None:  # noqa: B027
        """Release resources."""

"""The one interface through which every method is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

Parameters = Mapping[str, Any]


class Method(ABC):
    """An optimiser of one run, asked and told in turn. Values are minimised."""

    @abstractmethod
    def ask(self) -> Parameters:
        """The next point to evaluate."""

    @abstractmethod
    def tell(self, parameters: Parameters, value: float) -> None:
        """The (noisy) value at the point last asked for."""

    def recommend(self) -> Parameters | None:
        """The point the method itself takes to be the best, if it has a view of that."""
        return None

    def close(self) -> None:  # noqa: B027
        """Release what the run holds."""

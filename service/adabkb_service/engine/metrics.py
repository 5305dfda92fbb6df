"""Metrics beside the objective: what each result measures too, and the bounds that some of them have to keep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

FEASIBLE = 0.95
"""Probability with which a recommended point has to keep the bounds, by default."""


class Measured(NamedTuple):
    """What a result says of a metric, with the metric's sign (``Metric.sign``)."""

    value: float
    error: float
    """Its standard error; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, with its bounds in its own units; without any, it is recorded and predicted only."""

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    is_cost: bool = False
    """Whether it is what an evaluation costs: positive."""
    goal: float = 0.0
    """Of an objective among several: +1 to maximise it, -1 to minimise it; 0 of all other metrics."""
    reference: float | None = None
    """Of an objective: the value that a point has to be better than, to count in the hypervolume; None to learn it."""

    @property
    def is_bounded(self) -> bool:
        """Whether it is an outcome constraint."""
        return math.isfinite(self.lower) or math.isfinite(self.upper)

    @property
    def sign(self) -> float:
        """What the engine multiplies it by, so that larger values are better: -1 with an upper bound alone."""
        if self.goal:
            return self.goal
        return -1.0 if math.isfinite(self.upper) and not math.isfinite(self.lower) else 1.0

    @property
    def signed_bounds(self) -> tuple[float, float]:
        """The lower and the upper bound of the metric times its sign."""
        return (self.lower, self.upper) if self.sign > 0.0 else (-self.upper, -self.lower)

    def violation(self, value: float) -> float:
        """How far a value is beyond a bound; 0 within both."""
        return max(self.lower - value, value - self.upper, 0.0)

    def relative_violation(self, value: float) -> float:
        """The violation as a share of the bound, so that those of several metrics can be added; of a bound 0, the
        violation itself."""
        bound = self.lower if value < self.lower else self.upper
        return self.violation(value) / (abs(bound) or 1.0) if math.isfinite(bound) else 0.0

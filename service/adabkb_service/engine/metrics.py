"""Metrics of a result: several objectives, metrics with bounds, the cost, and metrics that are only recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

FEASIBLE = 0.95
"""Default probability with which a recommended point must satisfy the bounds."""


class Measured(NamedTuple):
    """The value of a metric in a result, multiplied by the metric's sign (``Metric.sign``)."""

    value: float
    """NaN if it is not known yet."""
    error: float
    """Standard error of the value; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, with bounds in its units. A metric without bounds that is neither an objective nor the cost is only
    recorded and predicted."""

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    is_cost: bool = False
    """Whether it is the cost of an evaluation, which is positive."""
    goal: float = 0.0
    """For one of several objectives: +1 to maximize it, -1 to minimize it; 0 for all other metrics."""
    reference: float | None = None
    """For an objective: the value that a point must be better than to count in the hypervolume; None to learn it."""
    noise_std: float | None = None
    """Standard deviation of a value without its own standard error; 0 for exact values, None to learn it."""

    @property
    def is_bounded(self) -> bool:
        """Whether it is an outcome constraint."""
        return math.isfinite(self.lower) or math.isfinite(self.upper)

    @property
    def sign(self) -> float:
        """The factor by which values are multiplied so that larger ones are better: -1 for an objective to minimize,
        and if there is only an upper bound."""
        if self.goal:
            return self.goal
        return -1.0 if math.isfinite(self.upper) and not math.isfinite(self.lower) else 1.0

    @property
    def signed_bounds(self) -> tuple[float, float]:
        """The lower and the upper bound of the metric times its sign."""
        return (self.lower, self.upper) if self.sign > 0.0 else (-self.upper, -self.lower)

    def is_useful(self, value: float) -> bool:
        """Whether a value is better than the reference; always true without one."""
        return self.reference is None or self.sign * (value - self.reference) > 0.0

    def violation(self, value: float) -> float:
        """How far a value is beyond a bound; 0 within both bounds."""
        return max(self.lower - value, value - self.upper, 0.0)

    def relative_violation(self, value: float) -> float:
        """The violation divided by the size of the bound, so that violations of several metrics can be added. If the
        bound is 0, the violation itself."""
        bound = self.lower if value < self.lower else self.upper
        return self.violation(value) / (abs(bound) or 1.0) if math.isfinite(bound) else 0.0

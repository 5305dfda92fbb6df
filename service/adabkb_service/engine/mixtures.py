"""Mixtures: parameters that are shares of a whole, such as the components of a formula.

A set of shares that satisfies the declared limits is also called a mixture. The share of an absent component is 0. The
check has a tolerance, since shares that were weighed or computed sum to the total only up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_service.engine.wording import brief, listed

TOLERANCE = 1e-6
"""Tolerance, as a fraction of the total. The sum may deviate from the total by this, a share may be smaller than
``least`` by this, and a share up to this counts as 0."""


@dataclass(frozen=True)
class Mixture:
    """Parameters whose values sum to a total."""

    names: tuple[str, ...]
    """Names of the shares, each a float with a lower bound of 0 or more."""
    total: float = 1.0
    at_most: int | None = None
    """The maximum number of shares above 0; None for all of them."""
    least: float = 0.0
    """The minimum of each share that is not 0."""

    @property
    def slack(self) -> float:
        """The tolerance, in the units of the shares."""
        return TOLERANCE * self.total

    @property
    def is_convex(self) -> bool:
        """Whether all points between two mixtures are mixtures."""
        return self.least <= 0.0 and (self.at_most is None or self.at_most >= len(self.names))

    def problem(self, parameters: Mapping[str, Any]) -> str | None:
        """The error message for a point with all shares; None if it is a mixture."""
        shares = {name: float(parameters[name]) for name in self.names}
        present = [name for name, share in shares.items() if share > self.slack]
        total = math.fsum(shares.values())
        if abs(total - self.total) > self.slack:
            return f"sum to {total:.10g}, not to {self.total:.10g} (within {self.slack:.1g}); scale them to that sum"
        if self.at_most is not None and len(present) > self.at_most:
            return f"are above 0 for {len(present)} components, but at most {self.at_most} may be; set others to 0"
        for name in present:
            if shares[name] < self.least - self.slack:
                return f"have {brief(name)} at {shares[name]:.10g}; it must be 0, or at least {self.least:.10g}"
        return None

    def __str__(self) -> str:
        return listed(map(brief, self.names), len(self.names))

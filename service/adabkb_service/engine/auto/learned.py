"""What a checkpoint decided. It depends on the way there, so it is kept; as JSON, beside the tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adabkb_service.engine.auto.likelihood import Constants


@dataclass(frozen=True, slots=True)
class Learned:
    """The model as of a checkpoint."""

    count: int
    """Results it was learned from: the first ones of the record."""
    constants: Constants
    dictionary: tuple[int, ...] | None = None
    """Rows of the record that are inducing points; None for all of them."""
    beta: float = 0.0
    """Confidence width of the certificate, per posterior standard deviation."""
    upper: float = math.inf
    """No value of the objective is larger, with probability 1 - delta; in the user's units."""

    def as_json(self) -> dict[str, Any]:
        """All of it, as finite JSON."""
        return {
            "count": self.count,
            "lengthscales": self.constants.lengthscales.tolist(),
            "noise": self.constants.noise,
            "variance": self.constants.variance,
            "dictionary": None if self.dictionary is None else list(self.dictionary),
            "beta": self.beta,
            "upper": self.upper if math.isfinite(self.upper) else None,
        }


def from_json(kept: Mapping[str, Any]) -> Learned:
    """The inverse of ``as_json``."""
    constants = Constants(np.array(kept["lengthscales"], dtype=float), kept["noise"], kept["variance"])
    rows, upper = kept["dictionary"], kept["upper"]
    return Learned(
        kept["count"],
        constants,
        None if rows is None else tuple(rows),
        kept["beta"],
        math.inf if upper is None else upper,
    )

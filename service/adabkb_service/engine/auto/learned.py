"""What a checkpoint decided. It depends on the way there, so it is kept; as JSON, beside the tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adabkb_service.engine.auto.likelihood import Constants
from adabkb_service.engine.auto.overview import Overview


@dataclass(frozen=True, slots=True)
class Learned:
    """The model as of a checkpoint."""

    count: int
    """Results it was learned from: the first ones of the record."""
    constants: Constants
    dictionary: tuple[int, ...] | None = None
    """Rows of the record that are inducing points; None for all of them."""
    overview: Overview | None = None
    """While the search has stalled."""
    beta: float = 0.0
    """Confidence width of the certificate, per posterior standard deviation."""
    effective_dimension: float = 0.0
    """d_eff = sum over results of s2 / nu at their points."""
    upper: float = math.inf
    """No value of the objective is larger, with probability 1 - delta; in the user's units."""

    def as_json(self) -> dict[str, Any]:
        """All of it, as finite JSON."""
        return {
            "count": self.count,
            **_constants_as_json(self.constants),
            "dictionary": None if self.dictionary is None else list(self.dictionary),
            "overview": None
            if self.overview is None
            else {"rows": list(self.overview.rows), **_constants_as_json(self.overview.constants)},
            "beta": self.beta,
            "effective_dimension": self.effective_dimension,
            "upper": self.upper if math.isfinite(self.upper) else None,
        }


def from_json(kept: Mapping[str, Any]) -> Learned:
    """The inverse of ``as_json``."""
    rows, upper, overview = kept["dictionary"], kept["upper"], kept["overview"]
    return Learned(
        kept["count"],
        _constants(kept),
        None if rows is None else tuple(rows),
        None if overview is None else Overview(tuple(overview["rows"]), _constants(overview)),
        kept["beta"],
        kept["effective_dimension"],
        math.inf if upper is None else upper,
    )


def _constants_as_json(constants: Constants) -> dict[str, Any]:
    return {
        "lengthscales": constants.lengthscales.tolist(),
        "noise": constants.noise,
        "variance": constants.variance,
    }


def _constants(kept: Mapping[str, Any]) -> Constants:
    return Constants(np.array(kept["lengthscales"], dtype=float), kept["noise"], kept["variance"])

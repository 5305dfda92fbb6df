"""The configuration of GP-ThreDS."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from adabkb_service.engine.paper import config as constants


@dataclass(frozen=True)
class Config:
    """The constants of GP-ThreDS. Outputs are in the user's units, with the engine's sign."""

    model: constants.Config
    """The constants of a test, as returned by ``of_a_test``."""
    lowest: float
    highest: float
    """The interval in which the optimum of the objective is expected."""
    grid: int
    """Number of points per axis of the grid of a cell."""
    patience: int
    """Number of results of a test without a decision after which a child is accepted."""
    slack: float
    """The remaining children are rejected if all their upper bounds are below tau by more than this times the side of
    the cell."""
    max_depth: int
    """Depth of the last level of the tree."""


def of_a_test(given: constants.Config) -> constants.Config:
    """The constants of a test: the given ones, changed so that the test is GP-UCB on fixed points."""
    return replace(given, qbar=math.inf, beta="igp", outputs="raw", max_depth=0, prunes=False)

"""The configuration and the state of GP-ThreDS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from adabkb_service.engine.paper import config as constants
from adabkb_service.engine.paper.state import State as TestStudy
from adabkb_service.engine.record import Record


@dataclass(frozen=True)
class Config:
    """The constants of GP-ThreDS. Outputs are in the user's units, with the engine's sign."""

    model: constants.Config
    """The constants of a test, from ``of_a_test``."""
    lowest: float
    highest: float
    """The interval in which the optimum of the objective is expected."""
    grid: int
    """Number of points per axis of the grid of a cell."""
    patience: int
    """Number of results of a test without a decision after which a child is accepted."""
    slack: float
    """The remaining children are rejected if all upper bounds are below tau by this times the side of the cell."""
    max_depth: int
    """Depth of the last level of the tree."""


def of_a_test(given: constants.Config) -> constants.Config:
    """The constants of a test: those given, with the ones replaced that make it GP-UCB on fixed points."""
    return replace(given, qbar=math.inf, beta="igp", outputs="raw", max_depth=0, prunes=False)


@dataclass(frozen=True, slots=True)
class Test:
    """The test of a cell."""

    key: str
    """Key of the cell."""
    study: TestStudy
    """The results of the test. Its fixed points are those of the grid, without those in accepted children."""
    accepted: tuple[int, ...] = ()
    """Numbers of the accepted children."""
    undecided: int = 0
    """Number of results since a child was last accepted."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a study. All but ``reported`` is a function of the results."""

    problem: constants.Problem
    config: Config
    record: Record
    lowest: float
    highest: float
    """The interval whose middle is tau."""
    cells: tuple[str, ...]
    """Keys of the cells of this epoch."""
    chosen: tuple[str, ...]
    """Keys of the children that were accepted in this epoch."""
    tested: int
    """Number of cells of this epoch whose tests have ended."""
    test: Test | None
    """The current test; None when the tree has reached its last level."""
    tree: Mapping[str, str]
    """All cells according to the results, key -> status."""
    reported: Mapping[str, str]
    """All cells as suggestions have reported them, key -> status."""

    @property
    def tau(self) -> float:
        """The threshold of the tests."""
        return (self.lowest + self.highest) / 2

"""What a study tells GP-ThreDS, and its state between two requests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_service.engine.paper import config as constants
from adabkb_service.engine.paper.state import State as TestStudy
from adabkb_service.engine.record import Record


@dataclass(frozen=True)
class Config:
    """What a study tells GP-ThreDS."""

    model: constants.Config
    """Of a test, from ``of_a_test``."""
    lowest: float
    highest: float
    """Where the largest value of the objective is looked for, in the engine's sign."""
    grid: int
    """Points per axis of a cell's grid."""
    patience: int
    """Results of a test without a decision, after which a child is accepted."""
    slack: float
    """How far below tau, per side of the cell, an upper bound must be for a rejection."""
    max_depth: int
    """Halvings of the box."""


def of_a_test(**given: Any) -> constants.Config:
    """A test's constants: some are given, the others make it what it is."""
    return constants.Config(**given, qbar=math.inf, beta="igp", outputs="raw", max_depth=0, prunes=False)


@dataclass(frozen=True, slots=True)
class Test:
    """A cell that is being tested."""

    key: str
    study: TestStudy
    """The grid as fixed points, without those of accepted children; with the test's results."""
    accepted: tuple[int, ...] = ()
    waited: int = 0
    """Results since the last decision."""


@dataclass(frozen=True, slots=True)
class State:
    """A study between two requests: a function of its results."""

    problem: constants.Problem
    config: Config
    record: Record
    lowest: float
    highest: float
    """Of tau's interval."""
    cells: tuple[str, ...]
    """Of this epoch."""
    chosen: tuple[str, ...]
    """Children that the tests of this epoch accepted."""
    tested: int
    """Cells of this epoch whose test is over."""
    test: Test | None
    """Of the next cell; None when the tree is at its end."""
    tree: Mapping[str, str]
    """The cells as the results have made them, key -> status, ..."""
    kept: Mapping[str, str]
    """... and as the suggestions have told."""

    @property
    def tau(self) -> float:
        """The threshold."""
        return (self.lowest + self.highest) / 2

"""The state of GP-ThreDS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adabkb_service.engine.paper import config as constants
from adabkb_service.engine.paper.state import State as TestStudy
from adabkb_service.engine.record import Record
from adabkb_service.engine.threds.config import Config


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

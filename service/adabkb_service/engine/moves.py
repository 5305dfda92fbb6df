"""What a policy's moves give: a point to evaluate, or the state after a result, and what changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.state import State

Array = NDArray[np.float64]


Cells = dict[str, str]
"""What a move changed in the tree: key -> "leaf" | "expanded" | "pruned", new cells and new statuses, in order of
creation."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A point to evaluate."""

    state: State
    point: Array
    """(d,) cube position."""
    cell: str | None
    """Key of the cell whose centroid it is; None when no leaf is left and the incumbent is repeated."""
    depth: int
    cells: Cells
    capped: bool
    """Whether ``MAX_EXPANSIONS`` ended the refinement."""


@dataclass(frozen=True, slots=True)
class Update:
    """The state after a result."""

    state: State
    cells: Cells

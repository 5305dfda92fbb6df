"""What a policy's moves give: a point to evaluate, or the state after a result, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
S = TypeVar("S")


Cells = dict[str, str]
"""What a move changed in the tree: key -> "leaf" | "expanded" | "pruned", new cells and new statuses, in order of
creation."""


@dataclass(frozen=True, slots=True)
class Suggestion(Generic[S]):
    """A point to evaluate."""

    state: S
    point: Array
    """(d,) cube position."""
    cell: str | None
    """Key of the cell it stands for; None when no leaf is left and the incumbent is repeated."""
    depth: int
    cells: Cells
    capped: bool
    """Whether a cap ended the refinement, and not its own rule."""


@dataclass(frozen=True, slots=True)
class Update(Generic[S]):
    """The state after a result."""

    state: S
    cells: Cells

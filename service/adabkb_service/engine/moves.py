"""Results of a policy's methods: a point to evaluate, or the state after a result, with the changed cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
S = TypeVar("S")


Phase = Literal["start", "search", "polish", "explore", "restart", "repeat", "sample"]
"""Purpose of a suggestion: ``start``, too little is known to learn from; ``search``, a better point; ``polish``, to
improve the best point locally, by the search or by a local model; ``explore``, where the model knows little;
``restart``, elsewhere because the search has stalled; ``repeat``, a point whose result is doubted; ``sample``,
a random or quasi-random point, chosen without a model."""
Cells = dict[str, str]
"""Cells that a move created or changed: key -> "leaf" | "expanded" | "pruned", in order of creation."""


@dataclass(frozen=True, slots=True)
class Suggestion(Generic[S]):
    """A point to evaluate."""

    state: S
    """The state after the suggestion."""
    point: Array
    """(d,) position in the unit cube."""
    cell: str | None
    """Key of the cell with this centroid; None without a tree, or if no leaf is left and the incumbent is repeated."""
    depth: int
    """Depth of that cell; 0 without one."""
    cells: Cells
    capped: bool
    """Whether the refinement reached a limit on its steps."""
    phase: Phase = "search"
    trust: tuple[float, ...] = ()
    """Weight of each older study that the search begins from; empty if none counts."""


@dataclass(frozen=True, slots=True)
class Update(Generic[S]):
    """The state after a result."""

    state: S
    cells: Cells

"""What a policy's methods return: a point to evaluate, or the state after a result, each with the changed cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
S = TypeVar("S")


Phase = Literal["start", "search", "polish", "explore", "restart", "repeat", "sample"]
"""Purpose of a suggestion. ``start``: cover the space, since there are too few results to learn from; ``search``: find
a better point; ``polish``: improve the best point locally, by the search or by a local model; ``explore``: evaluate
where the model is uncertain; ``restart``: search elsewhere, because the search brings no improvement; ``repeat``:
repeat a measurement whose result is doubted; ``sample``: a random or quasi-random point, chosen without a model."""
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
    """Key of the leaf that contains the point. The point is usually its centroid. None without a tree, for a point
    chosen in a slice or in a space with a catalogue, or if no leaf is left and the incumbent is repeated."""
    depth: int
    """Depth of this cell; 0 without a cell."""
    cells: Cells
    capped: bool
    """Whether a limit ended the choice of the cell: the maximum number of cuts for one suggestion, or of cells in the
    tree."""
    phase: Phase = "search"
    trust: Mapping[str, float] = field(default_factory=dict)
    """Older study -> its weight in the model; with several objectives, the mean of its weights. Empty if none is
    used."""


@dataclass(frozen=True, slots=True)
class Update(Generic[S]):
    """The state after a result."""

    state: S
    cells: Cells

"""Run a study in the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.policy import State, ada_bkb
from adabkb_service.engine.record import Record, of
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


def record(points: Sequence[Array] | Array, values: Sequence[float] | Array) -> Record:
    """Results without standard errors."""
    return of(np.array(points), np.array(values), np.zeros(len(values)))


@dataclass
class Run:
    """A finished run: the state, and what a database would hold."""

    state: State
    cells: dict[str, str] = field(default_factory=lambda: {"0": "leaf"})
    points: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    suggested: list[str | None] = field(default_factory=list)

    def step(self, objective: Callable[[Array], float], noise: float = 0.0) -> None:
        suggestion = ada_bkb.suggest(self.state, np.zeros((0, self.state.problem.space.dimension)))
        self.cells.update(suggestion.cells)
        self.suggested.append(suggestion.cell)
        value = objective(suggestion.point) + noise
        update = ada_bkb.observe(suggestion.state, suggestion.point, value)
        self.cells.update(update.cells)
        self.points.append(suggestion.point)
        self.values.append(value)
        self.state = update.state


def run(
    space: Space,
    config: Config,
    objective: Callable[[Array], float],
    steps: int,
    *,
    seed: int = 0,
    noise: float = 0.0,
) -> Run:
    """``steps`` evaluations in sequence, or fewer after the early stop."""
    rng = np.random.default_rng(seed)
    result = Run(ada_bkb.start(space, config, seed))
    for _ in range(steps):
        result.step(objective, noise * float(rng.standard_normal()))
        if ada_bkb.stopped(result.state):
            break
    return result


def hills(u: Array) -> float:
    """Two hills on the unit square; the higher one, of height 1, at (0.3, 0.7)."""
    near, far = ((u - (0.3, 0.7)) ** 2).sum(), ((u - (0.8, 0.2)) ** 2).sum()
    return float(np.exp(-10 * near) + 0.7 * np.exp(-10 * far))

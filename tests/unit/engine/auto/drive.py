"""Run a study with the ``auto`` profile in the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from adabkb_service.engine.auto.acquisition.issued import Issued, issued
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import Axis
from adabkb_service.engine.space import Space
from tests.unit.engine.drive import record

Array = NDArray[np.float64]


@dataclass
class Run:
    """A run: the state, and what a database would hold."""

    state: State
    cells: dict[str, str] = field(default_factory=lambda: {"0": "leaf"})
    points: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    suggested: list[str | None] = field(default_factory=list)

    def ask(self, pending: Array | None = None, failed: Array | None = None) -> Array:
        dimension = self.state.problem.space.dimension
        suggestion = auto.suggest(self.state, np.zeros((0, dimension)) if pending is None else pending, failed)
        self.cells.update(suggestion.cells)
        self.suggested.append(suggestion.cell)
        self.state = suggestion.state
        return suggestion.point

    def tell(self, point: Array, value: float) -> None:
        update = auto.observe(self.state, point, value)
        self.cells.update(update.cells)
        self.points.append(point)
        self.values.append(value)
        self.state = update.state

    def step(self, objective: Callable[[Array], float], noise: float = 0.0) -> None:
        point = self.ask()
        self.tell(point, objective(point) + noise)

    def steps(
        self, count: int, at_once: int, objective: Callable[[Array], float], failing: int
    ) -> Iterator[tuple[list[Array], Array]]:
        """Record the suggested points of each step: a batch of ``at_once`` in every fifth step, together with failed
        points (f, d).

        Then evaluate the first point, which is what ``ask`` returns. At step ``failing`` the evaluation fails.
        """
        none = np.zeros((0, self.state.problem.space.dimension))
        failed = none
        for step in range(count):
            found = islice(auto.suggestions(self.state, none, failed), at_once if step % 5 == 1 else 1)
            points = [each.point for each in found]
            point = self.ask(failed=failed)
            assert point.tobytes() == points[0].tobytes()
            yield points, failed
            if step == failing:
                failed = point[None]
            else:
                self.tell(point, objective(point))

    def of_results_alone(self) -> State:
        """The state of a study with the same results and an equal tree, but no other history."""
        plain = auto.start(self.state.problem.space, Config(), 0)
        state = replace(plain, tree=self.state.tree, cells_learned_from=self.state.cells_learned_from)
        for point, value in zip(self.points, self.values, strict=True):
            state = auto.observe(state, point, value).state
        return state

    def restored(self) -> Run:
        """The run restored from what a database would hold, after a round trip through JSON."""
        problem = self.state.problem
        kept = json.loads(
            json.dumps(
                {
                    "positions": np.array(self.points).tolist(),
                    "values": self.values,
                    "cells": list(self.cells.items()),
                    "dictionary": auto.dictionary(self.state),
                    "learned": auto.learned(self.state),
                }
            )
        )
        positions = np.array(kept["positions"], dtype=float).reshape(-1, problem.space.dimension)
        state = auto.restore(
            problem.space,
            problem.config,
            problem.seed,
            record(positions, kept["values"]),
            dict(kept["cells"]),
            kept["dictionary"],
            kept["learned"],
        )
        return Run(state, dict(self.cells), list(self.points), list(self.values), list(self.suggested))


def run(
    space: Space,
    objective: Callable[[Array], float],
    steps: int,
    *,
    config: Config | None = None,
    seed: int = 0,
    noise: float = 0.0,
) -> Run:
    """``steps`` evaluations in sequence."""
    rng = np.random.default_rng(seed)
    result = Run(auto.start(space, config or Config(), seed))
    for _ in range(steps):
        result.step(objective, noise * float(rng.standard_normal()))
    return result


def at_step(step: int, *axes: Axis, config: Config | None = None) -> tuple[State, Issued]:
    """A study whose only points are that many pending ones, all at one place with the first choice."""
    space = Space(axes)
    state = auto.start(space, config or Config(), 0)
    first = state.problem.domain.exact(np.zeros(space.dimension))
    return state, issued(state, np.tile(first, (step, 1)), None, None)


def matern(X: Array, Y: Array, lengthscales: Array) -> Array:
    """An independent implementation of the Matern 3/2 kernel with variance 1."""
    r = math.sqrt(3.0) * cdist(X / lengthscales, Y / lengthscales)
    k: Array = (1.0 + r) * np.exp(-r)
    return k


def sample_path(rng: np.random.Generator, X: Array, lengthscales: Array) -> Array:
    """A function drawn from the prior, at positions (k, d); shape (k,)."""
    L = np.linalg.cholesky(matern(X, X, lengthscales) + 1e-9 * np.eye(len(X)))
    f: Array = L @ rng.standard_normal(len(X))
    return f

"""The cells of GP-ThreDS, and the grid of points that the test of a cell begins with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.candidates import distinct, product
from adabkb_service.engine.cells import path_of
from adabkb_service.engine.paper.config import Problem
from adabkb_service.engine.paper.gp import sketched_gp
from adabkb_service.engine.paper.leaves import listed
from adabkb_service.engine.paper.points import none_yet
from adabkb_service.engine.paper.state import State, summarize
from adabkb_service.engine.threds.config import Config
from adabkb_service.engine.threds.state import Test

Array = NDArray[np.float64]


def new_test(problem: Problem, config: Config, key: str) -> Test:
    """A test of the cell with this key, without results. The first point is the one nearest to the middle."""
    space = problem.space
    low, high = box(key, space.dimension)
    positions = distinct(space.snap(product(list(np.linspace(low, high, config.grid).T))))
    middle = (low + high) / 2
    first = int(np.argmin(np.abs(positions - middle).max(axis=1)))
    positions = np.concatenate([positions[[first]], np.delete(positions, first, axis=0)])
    points = none_yet(space.dimension).add(positions, problem.scaled(positions))
    gp = sketched_gp(problem, points, np.zeros(0, dtype=np.int64))
    state = State(problem, listed(positions), points, gp, summarize(problem, points, gp))
    return Test(key, state)


def box(key: str, dimension: int) -> tuple[Array, Array]:
    """The low and the high corner of a cell, (d,) each. In the number of a child, bit k is 1 if it is the upper half on
    axis k."""
    low, side = np.zeros(dimension), 1.0
    for child in path_of(key)[1:]:
        side /= 2
        low += side * (child >> np.arange(dimension) & 1)
    return low, low + side

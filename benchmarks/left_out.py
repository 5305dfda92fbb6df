"""Leave-one-out validation of the ``auto`` model: coverage of intervals, detection of outliers, and time.

``python -m benchmarks.left_out``; about ten minutes on one core. Studies are

* ``random``, ``suggested``: functions drawn from the prior of the model (``calibration``) in 2 and 5 dimensions, with
  noise of 0.05 and 0.3 standard deviations, at random points or at suggested ones;
* ``noise``: results of noise alone, at random points;
* tables of real experiments, of which rows are drawn at random.

``inside`` is the share of results in their 90% intervals; ``error`` is the mean absolute error of the predictions,
divided by that of the median of all results. ``warned`` is the share of studies with an outlier. For ``caught``, one
result of each study, drawn at random, is raised by 4 standard deviations; it is the share of studies in which this
result is then found to be the outlier. ``ms`` is processor time.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.averaging import averaged
from adabkb_service.engine.auto.reports.left_out import left_out
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis
from adabkb_service.engine.record import of
from adabkb_service.engine.space import Space
from adabkb_service.inference.outliers import is_outlier
from benchmarks.calibration import drawn
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.quality.nature.measured import table

Array = NDArray[np.float64]

COUNTS = (8, 15, 30, 60)
LARGE = (200, 800, 3000)
"""Numbers of results of large studies, which have random points only."""
DIMENSIONS, NOISES = (2, 5), (0.05, 0.3)
TABLES = ("direct_arylation", "suzuki", "photo_pce10")
RAISED = 4.0
MIN_SEEDS = 3
"""Number of seeds of the large studies."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.left_out", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "left_out.json")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    cells = []
    with threadpool_limits(1):
        for kind, count in tqdm(
            [*product(("random", "suggested", "noise", *TABLES), COUNTS), *product(["random"], LARGE)]
        ):
            seeds = options.seeds if count in COUNTS else MIN_SEEDS
            found = np.array([judged(state, seed) for seed in range(seeds) for state in _states(kind, count, seed)])
            names = ("inside", "error", "warned", "caught", "ms")
            means = [None if np.isnan(each) else round(float(each), 4) for each in found.mean(axis=0)]
            cells.append(
                {"results": kind, "count": count, "studies": len(found), **dict(zip(names, means, strict=True))}
            )
    write(options.out, {**provenance("benchmarks.left_out"), "cells": cells})
    print_table(HEADER, rows(cells))


NAMES = ["results", "count", "studies", "inside", "error", "warned", "caught", "ms"]
HEADER = ["points", "results", *NAMES[2:]]


def rows(cells: list[dict[str, Any]]) -> list[list[str]]:
    """The rows of a table of results."""
    return [
        [
            f"{each:.2f}" if isinstance(each, float) else "" if each is None else str(each)
            for each in map(cell.get, NAMES)
        ]
        for cell in cells
    ]


def judged(state: State, seed: int) -> tuple[float, float, float, float, float]:
    """The numbers of one study (inside, error, warned, caught, ms): see the top of the file."""
    averaged(state)  # not timed, since predictions need it, too
    before = time.thread_time()
    found = left_out(state)
    seconds = time.thread_time() - before
    assert found is not None
    values, mean = state.record.values[found.rows], found.predicted.mean
    inside = np.mean((found.predicted.lcb <= values) & (values <= found.predicted.ucb))
    error = np.abs(values - mean).mean() / np.abs(values - np.median(values)).mean()
    least = int(np.argmin(found.tails))
    warned = is_outlier(values[least], values.tolist(), found.tails[least])
    return float(inside), float(error), float(warned), _caught(state, seed), 1e3 * seconds


def _caught(state: State, seed: int) -> float:
    """Whether the outlier is found, as 1 or 0; NaN for large studies, where rebuilding the model takes too long."""
    record = state.record
    if record.size > max(COUNTS):
        return math.nan
    values, row = record.values.copy(), int(np.random.default_rng(seed).integers(record.size))
    values[row] += RAISED * values.std()
    found = left_out(auto.rebuild(state, of(record.positions, values, record.errors), {}).state)
    assert found is not None
    is_least = int(np.argmin(found.tails)) == row
    return float(is_least and is_outlier(values[row], values.tolist(), found.tails[row]))


def _states(kind: str, count: int, seed: int) -> Iterator[State]:
    """Studies of a kind with ``count`` results."""
    if kind in TABLES:
        yield _of_table(kind, count, seed)
        return
    for d, level in product(DIMENSIONS, NOISES):
        rng = np.random.default_rng([seed, d, round(1e3 * level)])
        function, space = drawn(rng, d), Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(d)))
        noise = level * float(function(rng.random((200, d))).std())
        state: State = auto.start(space, auto_module.Config(), seed)
        if kind == "suggested":
            for _ in range(count):
                suggestion = auto.suggest(state, np.zeros((0, d)))
                value = float(function(suggestion.point[None])[0]) + noise * rng.normal()
                state = auto.observe(suggestion.state, suggestion.point, value).state
        else:
            X = rng.random((count, d))
            values = (function(X) if kind == "random" else 0.0) + noise * rng.normal(size=count)
            state = auto.rebuild(state, of(X, values, np.zeros(count)), {}).state
        yield state


def _of_table(name: str, count: int, seed: int) -> State:
    measured = table(name)
    axes: list[Axis] = []
    for parameter, column in zip(measured.names, measured.columns, strict=True):
        if isinstance(column[0], float):
            axes.append(FloatAxis(parameter, min(column), max(column)))
        else:
            axes.append(ChoiceAxis(parameter, tuple(dict.fromkeys(column))))
    space, means = Space(tuple(axes)), measured.means
    chosen = np.random.default_rng(seed).choice(len(means), min(count, len(means)), replace=False)
    points = [dict(zip(measured.names, (column[row] for column in measured.columns), strict=True)) for row in chosen]
    X = np.array([space.encode(point) for point in points])
    start = auto.start(space, auto_module.Config(), seed)
    found: State = auto.rebuild(start, of(X, means[chosen], np.zeros(len(chosen))), {}).state
    return found


if __name__ == "__main__":
    main()

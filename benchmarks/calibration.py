"""How often the 90% interval of a prediction holds the truth, under the ``auto`` profile.

``python -m benchmarks.calibration``; about six minutes on one core. Functions are drawn from the prior of the model:
Matern 3/2 with lengthscales within a factor e of the prior's centre, in 1, 2, 3 and 5 dimensions, noise of 0.001 to 0.5
standard deviations of the function. Results are at random points, or where ``suggest`` wants them. The truth is
looked at

* ``box``: at random points;
* ``far``: at those of them that are more than 0.3 along some axis from the best point by the model;
* ``near``: at random points within 0.05 of that one along every axis;
* ``next``: at the next suggestion, for all counts of results within a quarter of the one that is named.

The constants of ``engine/auto/calibration.py`` were chosen on the functions of ``--first 1000 --functions 30``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.auto import likelihood
from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper.kernels import Matern
from adabkb_service.engine.space import Space
from benchmarks.output import RESULTS, print_table, provenance, write

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
"""Positions (k, d) -> values (k,)."""

COUNTS = (5, 10, 20, 40, 80)
NOISES = (1e-3, 0.05, 0.2, 0.5)
DIMENSIONS = (1, 2, 3, 5)
DESIGNS = ("random", "suggested")
REGIONS = ("box", "far", "near", "next")
SUPPORT = 500
"""Points at which a function is drawn; between them it is interpolated by its own kernel."""
TESTED = 200
FAR, NEAR = 0.3, 0.05


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "calibration.json")
    parser.add_argument("--functions", type=int, default=20, help="per dimension, noise and design")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--declared", action="store_true", help="tell the studies the noise")
    options = parser.parse_args()
    cells = []
    seeds = range(options.first, options.first + options.functions)
    with threadpool_limits(1):
        for design in DESIGNS:
            for level in NOISES:
                cases = [(d, seed) for d in DIMENSIONS for seed in seeds]
                found = np.array(
                    [
                        coverage(design, level, d, seed, is_declared=options.declared)
                        for d, seed in tqdm(cases, desc=design)
                    ]
                )
                cells += [_cell(region, design, level, found[:, i]) for i, region in enumerate(REGIONS)]
    cells = [cell for cell in cells if not (cell["region"] == "next" and cell["design"] == "random")]
    cells.sort(key=lambda cell: REGIONS.index(cell["region"]))
    write(options.out, {**provenance("benchmarks.calibration"), "counts": COUNTS, "cells": cells})
    print_table(header(COUNTS), rows(cells))


def header(counts: Sequence[int]) -> list[str]:
    """Of a table of results."""
    return ["truth at", "results at", "noise", *(f"{count} results" for count in counts)]


def rows(cells: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Of a table of results."""
    return [[c["region"], c["design"], str(c["noise"]), *(f"{share:.2f}" for share in c["coverage"])] for c in cells]


def _cell(region: str, design: str, level: float, found: Array) -> dict[str, Any]:
    """Means over functions, and their standard errors: shares (functions, counts), NaN where a function has none."""
    error = np.nanstd(found, axis=0) / math.sqrt(len(found))
    return {
        "region": region,
        "design": design,
        "noise": level,
        "coverage": np.nanmean(found, axis=0).round(4).tolist(),
        "error": error.round(4).tolist(),
    }


def coverage(design: str, level: float, dimension: int, seed: int, *, is_declared: bool = False) -> Array:
    """Shares of points whose true value lies in [lcb, ucb], (regions, counts)."""
    rng = np.random.default_rng([seed, dimension, round(1e3 * level)])
    function = drawn(rng, dimension)
    space = Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(dimension)))
    tested = rng.random((TESTED, dimension))
    noise = level * function(tested).std()
    config = auto_module.Config(noise_std=noise if is_declared else None)
    state, shares = auto.start(space, config, seed), np.full((len(REGIONS), len(COUNTS)), np.nan)
    ahead: list[tuple[int, bool]] = []
    for count in range(1, round(1.25 * COUNTS[-1]) + 1):
        point = space.snap(rng.random((1, dimension)))[0]
        if design == "suggested":
            suggestion = auto.suggest(state, np.zeros((0, dimension)))
            point = suggestion.point
            ahead.append((count - 1, bool(_holds(state, function, point[None])[0])))
            state = suggestion.state
        state = auto.observe(state, point, float(function(point[None])[0] + noise * rng.normal())).state
        if count in COUNTS:
            shares[:3, COUNTS.index(count)] = _around(state, function, tested, rng)
    for k, count in enumerate(COUNTS):
        found = [holds for before, holds in ahead if 0.75 * count <= before <= 1.25 * count]
        shares[3, k] = np.mean(found) if found else np.nan
    return shares


def _around(state: State, function: Function, tested: Array, rng: np.random.Generator) -> tuple[float, float, float]:
    """Shares at the tested points (k, d), at those far from the best one, and near it."""
    best = auto.recommend(state)
    assert best is not None
    holds, is_far = _holds(state, function, tested), np.abs(tested - best.point).max(axis=1) > FAR
    near = np.clip(best.point + NEAR * (2.0 * rng.random(tested.shape) - 1.0), 0.0, 1.0)
    return holds.mean(), holds[is_far].mean(), _holds(state, function, near).mean()


def _holds(state: State, function: Function, positions: Array) -> NDArray[np.bool_]:
    """At which of the positions (k, d) the true value lies in the interval, (k,)."""
    found, truth = auto.predict(state, positions), function(positions)
    return (found.lcb <= truth) & (truth <= found.ucb)


def drawn(rng: np.random.Generator, dimension: int) -> Function:
    """A function of the prior: positions (k, d) -> values (k,)."""
    kernel = Matern(1.5)
    scales = np.exp(likelihood.prior_centre(dimension) + np.clip(rng.normal(size=dimension), -1.0, 1.0))
    support = rng.random((SUPPORT, dimension)) / scales
    root = np.linalg.cholesky(kernel(support, support) + 1e-8 * np.eye(SUPPORT))
    weights = np.linalg.solve(root.T, rng.normal(size=SUPPORT))
    return lambda positions: kernel(positions / scales, support) @ weights


if __name__ == "__main__":
    main()

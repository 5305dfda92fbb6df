"""How often the 90% interval of a prediction contains the true value, with the ``auto`` profile.

``python -m benchmarks.calibration``; about ten minutes on an idle core. Runs are kept in a file, seed by seed, so a
stopped benchmark resumes. Functions are drawn from the model's prior: Matern 3/2 with lengthscales within a factor e of
the prior's center, in 1, 2, 3 and 5 dimensions, noise of 0.001 to 0.5 standard deviations of the function, which the
studies learn or have declared. Results are at random points, or at suggested ones. The true value is compared with the
interval

* ``box``: at random points;
* ``far``: at those of them that are more than 0.3 along some axis from the point that the model recommends;
* ``near``: at random points within 0.05 of the recommended point along every axis;
* ``next``: at the next suggestion, on average over all numbers of results within 25% of the one in the table.

The constants of ``engine/auto/model/averaged.py`` were chosen on the functions of ``--first 4000 --functions 4``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.model import likelihood
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper.kernels import Matern
from adabkb_service.engine.space import Space
from benchmarks.kept import Kept, Key, path_of
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.pool import keep_all

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
"""Positions (k, d) -> values (k,)."""

COUNTS = (5, 10, 20, 40, 80)
NOISES = (1e-3, 0.05, 0.2, 0.5)
DIMENSIONS = (1, 2, 3, 5)
DESIGNS = ("random", "suggested")
REGIONS = ("box", "far", "near", "next")
SUPPORT = 500
"""Number of points at which a function is drawn; between them, it is interpolated with its own kernel."""
TESTED = 200
"""Number of random points at which intervals are compared with the true values."""
FAR, NEAR = 0.3, 0.05
GOAL = (0.85, 0.95)
"""The range of coverage that counts as good."""
MAX_ONE_SIDED = 2.0
"""The maximum ratio of misses on one side to those on the other, for balanced intervals."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "calibration.json")
    parser.add_argument("--functions", type=int, default=20, help="per dimension, noise and design")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes, one core each")
    parser.add_argument("--runs", type=Path, default=path_of("calibration"), help="file in which the runs are stored")
    options = parser.parse_args()
    seeds, kept = range(options.first, options.first + options.functions), Kept(options.runs)
    kinds = list(product(DESIGNS, (False, True), NOISES))
    runs = [Run(*kind, d, seed) for seed in seeds for kind in kinds for d in DIMENSIONS]
    if keep_all(
        [run for run in runs if run.key not in kept], options.jobs, lambda run, found: kept.add(run.key, found)
    ):
        raise SystemExit("some runs failed, so there is no table; start again to repeat these runs")
    cells = []
    for design, is_declared, level in kinds:
        those = [Run(design, is_declared, level, d, seed) for d in DIMENSIONS for seed in seeds]
        found = np.array([kept[run.key] for run in those])
        kind = {"design": design, "noise": level, "declared": is_declared}
        cells += [_cell({"region": region, **kind}, found[:, i]) for i, region in enumerate(REGIONS)]
    cells = [cell for cell in cells if not (cell["region"] == "next" and cell["design"] == "random")]
    cells.sort(key=lambda cell: REGIONS.index(cell["region"]))
    made = {**provenance("benchmarks.calibration"), "functions": options.functions}
    write(options.out, {**made, "counts": COUNTS, "cells": cells})
    print_table(header(COUNTS), rows(cells))
    print(summary(COUNTS, cells))


@dataclass(frozen=True, slots=True)
class Run:
    """A study of one function."""

    design: str
    is_declared: bool
    level: float
    dimension: int
    seed: int

    @property
    def key(self) -> Key:
        """See ``Kept``."""
        return self.design, "declared" if self.is_declared else "learned", self.level, self.dimension, self.seed

    def run(self) -> list[Any]:
        """Return ``misses``, (regions, counts, 2), as lists."""
        found = misses(self.design, self.level, self.dimension, self.seed, is_declared=self.is_declared)
        return cast("list[Any]", found.tolist())


def header(counts: Sequence[int]) -> list[str]:
    """The header of a table of results."""
    return ["truth at", "results at", "noise", *(f"{count} results" for count in counts), "below / above"]


def rows(cells: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """The rows of a table of results. The last column has the shares below and above the interval over all counts."""
    return [
        [
            c["region"],
            c["design"],
            f"{c['noise']}, declared" if c["declared"] else f"{c['noise']}",
            *(f"{share:.2f}" for share in c["coverage"]),
            f"{np.mean(c['below']):.2f} / {np.mean(c['above']):.2f}",
        ]
        for c in cells
    ]


def summary(counts: Sequence[int], cells: Sequence[Mapping[str, Any]]) -> str:
    """How many cells are within the goal, and which are not, in sentences."""
    each = [
        (count, cell["noise"], share) for cell in cells for count, share in zip(counts, cell["coverage"], strict=True)
    ]
    below, above = [one for one in each if one[2] < GOAL[0]], [one for one in each if one[2] > GOAL[1]]
    few, noisy = sum(count <= 10 for count, *_ in below), sum(noise >= 0.2 for _, noise, _ in below)
    balanced = [max(side) <= MAX_ONE_SIDED * min(side) for side in map(_sides, cells)]
    lowest, highest = min(share for *_, share in each), max(share for *_, share in each)
    return (
        f"{len(each) - len(below) - len(above)} of the {len(each)} cells are within {GOAL[0]:.0%} to {GOAL[1]:.0%}, "
        f"{len(above)} above and {len(below)} below; the lowest has {lowest:.0%}, the highest {highest:.0%}. Of those "
        f"below, {few} have 5 or 10 results, and {noisy} have noise of 0.2 and more. In "
        f"{sum(balanced)} of {len(cells)} rows, misses on one side are at most twice those on the other."
    )


RANGES_HEADER = ["Where", "Noise, in standard deviations of the function", "Share"]


def ranges(counts: Sequence[int], cells: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The lowest and the highest coverage of some groups of cells, in words."""
    near = [cell for cell in cells if (cell["region"], cell["design"]) == ("near", "suggested")]
    noisy = [cell for cell in near if cell["noise"] > 0.05]
    groups = [
        ("the whole space", "all levels", [cell for cell in cells if cell["region"] == "box"], counts),
        (
            "near the best point, with results at suggested points",
            "up to 0.05",
            [cell for cell in near if cell["noise"] <= 0.05],
            counts,
        ),
        ("the same, with 5 or 10 results", "above 0.05", noisy, [count for count in counts if count <= 10]),
        ("the same, with 20 or more results", "above 0.05", noisy, [count for count in counts if count > 10]),
    ]
    found = []
    for where, noise, those, at in groups:
        shares = [cell["coverage"][list(counts).index(count)] for cell in those for count in at]
        found.append([where, noise, f"{min(shares):.0%} to {max(shares):.0%}"])
    return found


def _sides(cell: Mapping[str, Any]) -> tuple[float, float]:
    return float(np.mean(cell["below"])), float(np.mean(cell["above"]))


def _cell(kind: dict[str, Any], found: Array) -> dict[str, Any]:
    """Means over functions, and the standard errors of the coverage: shares (functions, counts, 2) of points where the
    truth is below and above the interval, NaN where a function has none."""
    below, above = np.nanmean(found, axis=0).T
    error = np.nanstd(found.sum(axis=2), axis=0) / math.sqrt(len(found))
    numbers = {"coverage": 1.0 - below - above, "error": error, "below": below, "above": above}
    return {**kind, **{name: values.round(4).tolist() for name, values in numbers.items()}}


def misses(design: str, level: float, dimension: int, seed: int, *, is_declared: bool = False) -> Array:
    """Shares of points whose true value is below lcb and above ucb, (regions, counts, 2)."""
    rng = np.random.default_rng([seed, dimension, round(1e3 * level)])
    function = drawn(rng, dimension)
    space = Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(dimension)))
    tested = rng.random((TESTED, dimension))
    noise = level * function(tested).std()
    config = auto_module.Config(noise_std=noise if is_declared else None)
    state, shares = auto.start(space, config, seed), np.full((len(REGIONS), len(COUNTS), 2), np.nan)
    ahead: list[tuple[int, Array]] = []
    for count in range(1, round(1.25 * COUNTS[-1]) + 1):
        point = space.snap(rng.random((1, dimension)))[0]
        if design == "suggested":
            suggestion = auto.suggest(state, np.zeros((0, dimension)))
            point = suggestion.point
            ahead.append((count - 1, _missed(state, function, point[None])[0]))
            state = suggestion.state
        state = auto.observe(state, point, float(function(point[None])[0] + noise * rng.normal())).state
        if count in COUNTS:
            shares[:3, COUNTS.index(count)] = _around(state, function, tested, rng)
    for k, count in enumerate(COUNTS):
        found = [missed for before, missed in ahead if 0.75 * count <= before <= 1.25 * count]
        if found:
            shares[3, k] = np.mean(found, axis=0)
    return shares


def _around(state: State, function: Function, tested: Array, rng: np.random.Generator) -> Array:
    """(3, 2) shares at the tested points (k, d), at those far from the best one, and near it."""
    best = auto.recommend(state)
    assert best is not None
    missed, is_far = _missed(state, function, tested), np.abs(tested - best.point).max(axis=1) > FAR
    near = np.clip(best.point + NEAR * (2.0 * rng.random(tested.shape) - 1.0), 0.0, 1.0)
    regions = missed, missed[is_far], _missed(state, function, near)
    return np.array([each.mean(axis=0) for each in regions])


def _missed(state: State, function: Function, positions: Array) -> NDArray[np.bool_]:
    """For each position (k, d), whether the true value is below the interval, and whether above it, (k, 2)."""
    found, truth = auto.predict(state, positions), function(positions)
    return np.column_stack([truth < found.lcb, truth > found.ucb])


def drawn(rng: np.random.Generator, dimension: int) -> Function:
    """Draw a function from the prior: positions (k, d) -> values (k,)."""
    kernel = Matern(1.5)
    scales = np.exp(likelihood.prior_center(dimension) + np.clip(rng.normal(size=dimension), -1.0, 1.0))
    support = rng.random((SUPPORT, dimension)) / scales
    root = np.linalg.cholesky(kernel(support, support) + 1e-8 * np.eye(SUPPORT))
    weights = np.linalg.solve(root.T, rng.normal(size=SUPPORT))
    return lambda positions: kernel(positions / scales, support) @ weights


if __name__ == "__main__":
    main()

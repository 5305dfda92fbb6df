"""How often the 90% interval of a prediction holds the truth, under the ``auto`` profile.

``python -m benchmarks.calibration``; about five minutes on one core. Functions are drawn from the prior of the model:
Matern 3/2 with lengthscales within a factor e of the prior's centre, in 1 to 3 dimensions, noise of 0.001, 0.1 and
0.5 standard deviations of the function. Results are at random points, or where ``suggest`` wants them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.auto import likelihood
from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper.kernels import Matern
from adabkb_service.engine.space import Space
from benchmarks.output import RESULTS, print_table, provenance, write

Array = NDArray[np.float64]

COUNTS = (10, 20, 40, 80)
NOISES = (1e-3, 0.1, 0.5)
DIMENSIONS = (1, 2, 3)
SUPPORT = 500
"""Points at which a function is drawn; between them it is interpolated by its own kernel."""
TESTED = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "calibration.json")
    parser.add_argument("--functions", type=int, default=20, help="per dimension, noise and design")
    options = parser.parse_args()
    cells = []
    with threadpool_limits(1):
        for design in ("random", "suggested"):
            for level in NOISES:
                cases = [(d, seed) for d in DIMENSIONS for seed in range(options.functions)]
                found = np.array([coverage(design, level, d, seed) for d, seed in tqdm(cases, desc=design)])
                spread = found.std(axis=0) / math.sqrt(len(cases))
                cells.append(
                    {
                        "design": design,
                        "noise": level,
                        "coverage": found.mean(axis=0).tolist(),
                        "error": spread.tolist(),
                    }
                )
    write(options.out, {**provenance("benchmarks.calibration"), "counts": COUNTS, "cells": cells})
    rows = [[f"{c['design']}, noise {c['noise']}", *(f"{share:.3f}" for share in c["coverage"])] for c in cells]
    print_table(["results", *map(str, COUNTS)], rows)


def coverage(design: str, level: float, dimension: int, seed: int) -> list[float]:
    """Share of random points whose true value lies in [lcb, ucb], at each of the counts."""
    rng = np.random.default_rng([seed, dimension, round(1e3 * level)])
    function = drawn(rng, dimension)
    space = Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(dimension)))
    tested = rng.random((TESTED, dimension))
    truth = function(tested)
    noise = level * truth.std()
    state, shares = auto.start(space, auto_module.Config(), seed), []
    for count in range(1, COUNTS[-1] + 1):
        point = space.snap(rng.random((1, dimension)))[0]
        if design == "suggested":
            suggestion = auto.suggest(state, np.zeros((0, dimension)))
            state, point = suggestion.state, suggestion.point
        state = auto.observe(state, point, float(function(point[None])[0] + noise * rng.normal())).state
        if count in COUNTS:
            found = auto.predict(state, tested)
            shares.append(float(((found.lcb <= truth) & (truth <= found.ucb)).mean()))
    return shares


def drawn(rng: np.random.Generator, dimension: int) -> Callable[[Array], Array]:
    """A function of the prior: positions (k, d) -> values (k,)."""
    kernel = Matern(1.5)
    scales = np.exp(likelihood.prior_centre(dimension) + np.clip(rng.normal(size=dimension), -1.0, 1.0))
    support = rng.random((SUPPORT, dimension)) / scales
    root = np.linalg.cholesky(kernel(support, support) + 1e-8 * np.eye(SUPPORT))
    weights = np.linalg.solve(root.T, rng.normal(size=SUPPORT))
    return lambda positions: kernel(positions / scales, support) @ weights


if __name__ == "__main__":
    main()

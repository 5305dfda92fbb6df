"""Compare the default constants of the ``paper`` profile with variants. ``python -m benchmarks.defaults``

Unit coordinates, standardized outputs, noise s.d. 0.01, each box shifted by up to 10% of its width per axis and seed,
so that no minimizer sits at a centroid (the six functions' minimizers stay inside). The score is the simple regret
after 25, 50 and 100 evaluations, floored at 1e-3, as a ratio to random search: geometric mean over functions and seeds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper.policy import Config, ada_bkb
from benchmarks.functions import Function
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.paper.functions import FUNCTIONS

Array = NDArray[np.float64]
Method = Callable[[float], Array]
"""The last result -> the next point in the cube, (d,); before the first result, NaN."""

CHOSEN = ("Branin", "SixHumpCamel", "Hartmann_3", "Ackley_5", "Levy_8", "Rastrigin_8")
NOISE_STD = 0.01
BUDGETS = (25, 50, 100)
FLOOR = 1e-3
SHIFT = 0.1


def variants(dimension: int) -> dict[str, Config]:
    """Name -> constants; the first is the default."""
    default, root = Config(), dimension**0.5
    return {
        "default": default,
        "lengthscale 0.1 sqrt(d)": replace(default, lengthscale=0.1 * root),
        "lengthscale 0.3 sqrt(d)": replace(default, lengthscale=0.3 * root),
        "F = 1": replace(default, norm_bound=1.0),
        "F = 4": replace(default, norm_bound=4.0),
        "ridge 1e-3, xi 0.03": replace(default, ridge=1e-3, noise_std=0.03),
        "ridge 1e-5, xi 0.003": replace(default, ridge=1e-5, noise_std=0.003),
        "Gaussian": replace(default, kernel="gaussian"),
        "N = 3": replace(default, branching=3),
    }


def shifted(function: Function, seed: int) -> Function:
    """The function on a randomly shifted box."""
    box = np.array(function.box, dtype=float)
    move = np.random.default_rng(seed).uniform(-SHIFT, SHIFT, len(box)) * (box[:, 1] - box[:, 0])
    return replace(function, box=tuple(map(tuple, (box + move[:, None]).tolist())))


def regrets(function: Function, method: Method, seed: int) -> list[float]:
    """The simple regret of a method after each budget."""
    noise = np.random.default_rng(seed).normal(0.0, NOISE_STD, max(BUDGETS))
    found: list[float] = []
    value = math.nan
    for step in range(max(BUDGETS)):
        u = method(value)
        parameters = function.space.decode(u)
        x = np.array([parameters[axis.name] for axis in function.space.axes])
        found.append(function.regret(x))
        value = function.evaluate(x) + noise[step]
    return [max(min(found[:budget]), FLOOR) for budget in BUDGETS]


def engine(function: Function, config: Config, seed: int) -> Method:
    """Ada-BKB as a method."""
    state = ada_bkb.start(function.space, config, seed)
    last: ada_bkb_module.Suggestion[ada_bkb_module.State] | None = None

    def points(value: float) -> Array:
        nonlocal last
        held = state if last is None else ada_bkb.observe(last.state, last.point, -value).state
        last = ada_bkb.suggest(held, np.zeros((0, function.dimension)))
        return last.point

    return points


def uniform(function: Function, seed: int) -> Method:
    """Random search as a method."""
    random = np.random.default_rng(1000 + seed)
    return lambda _: random.random(function.dimension)


def main() -> None:
    """Run all variants, and write and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "defaults.json")
    options = parser.parse_args()
    names = list(variants(1))
    scores: dict[str, list[list[float]]] = {name: [] for name in names}
    cases = [(shifted(f, seed), seed) for f in map(FUNCTIONS.__getitem__, CHOSEN) for seed in range(options.seeds)]
    with threadpool_limits(1):
        for function, seed in tqdm(cases, unit="case"):
            reference = np.array(regrets(function, uniform(function, seed), seed))
            for name, config in variants(function.dimension).items():
                own = regrets(function, engine(function, config, seed), seed)
                scores[name].append((own / reference).tolist())
    ratios = {name: np.exp(np.log(rows).mean(axis=0)).round(3).tolist() for name, rows in scores.items()}
    result: dict[str, Any] = {
        **provenance("benchmarks.defaults"),
        "budgets": BUDGETS,
        "seeds": options.seeds,
        "ratio_to_random": ratios,
    }
    write(options.out, result)
    print_table(["constants", *map(str, BUDGETS)], [[name, *map(str, row)] for name, row in ratios.items()])


if __name__ == "__main__":
    main()

"""Why the engine's regret differs from the authors': deviations of their code from the paper, and orders of ties.

``python -m benchmarks.paper.explain``. Two experiments compare average regrets with the authors':

* readings: the engine as it is; with the root evaluated first; with the start of the authors' code; and with both the
  start and the index of their code. With both, the engine repeats most of their runs.
* ties: with F = 1 on raw outputs, all cells far from the data have exactly the prior's index, so only their order
  decides which of them is evaluated next. Here the order is random, with coarser cells still first.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.paper.leaves import Ints, Leaves
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.paper import as_coded, authors
from benchmarks.paper.authors import STEPS
from benchmarks.paper.functions import FUNCTIONS
from benchmarks.paper.runs import run

TRACED = {name: found for name in FUNCTIONS if (found := authors.results(name)) is not None}
PERCENTILES = (0, 25, 50, 75, 100)

Change = Callable[[], AbstractContextManager[object]]
READINGS: dict[str, Change] = {
    "engine": nullcontext,
    "root first": as_coded.root_first,
    "authors' start": as_coded.start,
    "and index": as_coded.start_and_index,
}
"""Reading -> change of the engine."""


def random_order(seed: int) -> Callable[[Leaves, Ints], int]:
    """A replacement for ``Leaves.first_of``: coarser cells first, then by a rank derived from seed and key."""

    def first_of(leaves: Leaves, candidates: Ints) -> int:
        depth = leaves.depth[candidates]
        shallow = candidates[depth == depth.min()]
        return int(min(shallow, key=lambda cell: zlib.crc32(f"{seed}/{leaves.keys[cell]}".encode())))

    return first_of


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper.explain", description=__doc__.partition("\n")[0])
    parser.add_argument("--functions", nargs="+", choices=TRACED, default=list(TRACED), metavar="NAME")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=5, help="noise seeds of the readings: 0, 1, ...")
    parser.add_argument("--orders", type=int, default=20, help="random tie orders, and noise seeds: 0, 1, ...")
    parser.add_argument("--out", type=Path, default=RESULTS / "explain.json")
    options = parser.parse_args()

    by_reading: dict[str, dict[str, list[float]]] = {}
    by_order: dict[str, list[float]] = {}
    with threadpool_limits(1):
        for name in tqdm(options.functions, unit="function"):
            by_reading[name] = {
                reading: [ratio(name, options.steps, seed, change()) for seed in range(options.seeds)]
                for reading, change in READINGS.items()
            }
            by_order[name] = [
                ratio(name, options.steps, seed, patch.object(Leaves, "first_of", random_order(seed)))
                for seed in range(options.orders)
            ]
    numbers = {"readings": by_reading, "tie_orders": by_order}
    write(options.out, {**provenance("benchmarks.paper.explain"), "steps": options.steps, **numbers})
    show(by_reading, by_order)


def ratio(name: str, steps: int, seed: int, change: AbstractContextManager[object]) -> float:
    """Average regret of a run of the changed engine, relative to the authors'."""
    with change:
        outcome = run(FUNCTIONS[name], authors.config(name), steps, seed, noise_std=authors.noise_std(name))
    return float(outcome.average_regret / TRACED[name]["average_regret"])


def show(by_reading: dict[str, dict[str, list[float]]], by_order: dict[str, list[float]]) -> None:
    print("Average regret relative to the authors', by reading: median (min-max) over noise seeds")
    print_table(
        ["function", *READINGS],
        [
            [name, *(f"{np.median(r):.3f} ({min(r):.2f}-{max(r):.2f})" for r in ratios.values())]
            for name, ratios in by_reading.items()
        ],
    )
    print("\nThe same over random tie orders: percentiles, and where the engine's order lies")
    print_table(
        ["function", *(f"{p}%" for p in PERCENTILES), "at most 1.1", "better than engine"],
        [
            [
                name,
                *(f"{value:.2f}" for value in np.percentile(ratios, PERCENTILES)),
                f"{sum(r <= 1.1 for r in ratios)}/{len(ratios)}",
                f"{sum(r < np.median(by_reading[name]['engine']) - 1e-3 for r in ratios)}/{len(ratios)}",
            ]
            for name, ratios in by_order.items()
        ],
    )


if __name__ == "__main__":
    main()

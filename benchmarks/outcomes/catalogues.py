"""``python -m benchmarks.outcomes.catalogues``: speed and quality of suggestions from catalogues.

Speed: the time of one suggestion in catalogues of 1,000 to 100,000 rows of random numbers, after 20 and 300 results.

Quality: the 1,728 measured reactions of direct arylation. As a catalogue, each reaction is a row. The numbers of a row
are its concentration, its temperature, and for its ligand, base and solvent either the leading principal components of
their computed descriptors, or a 1 for its own choice and a 0 for each other one. As categories, the same five columns
are parameters.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from adabkb_service.engine.auto.domain.components import principal
from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.axes import Axis, ChoiceAxis
from adabkb_service.engine.catalogue import CatalogueAxis, table
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes.runs import Table as Printed
from benchmarks.output import RESULTS, print_table, provenance, takes_no_options, write
from benchmarks.quality.nature.descriptors import descriptors
from benchmarks.quality.nature.measured import Table
from benchmarks.quality.nature.measured import table as measured

Ints = NDArray[np.int64]

OUT = RESULTS / "outcomes-catalogues.json"
FILE = "direct_arylation"
NUMBERS = ("concentration", "temperature")
BUDGET, SEEDS = 50, 10
COUNTS = (10, 20, 30, 50)
"""Numbers of experiments after which the variants are compared."""
GOOD = 95.0
"""Yield in percent that 10 of the reactions reach."""
ROWS = (1_000, 10_000, 100_000)
RESULTS_SO_FAR = (20, 300)
COLUMNS = 8
REPEATS = 11


@cache
def reactions() -> Table:
    """The measured reactions."""
    return measured(FILE)


def columns(name: str, way: str) -> Array:
    """The numbers that represent a column of the table, (rows, numbers)."""
    column = reactions().columns[reactions().names.index(name)]
    if name in NUMBERS:
        return np.array(column, dtype=np.float64)[:, None]
    choices = sorted(set(column))
    if way == "catalogue":
        known = descriptors(FILE, name)
        places = principal(np.array([known[choice] for choice in choices]))
    else:
        places = np.eye(len(choices))
    return places[[choices.index(value) for value in column]]


def space(way: str, order: Ints) -> Space:
    """The space of a variant, with its rows or choices in the given order."""
    found = reactions()
    if way == "categories":
        return Space(tuple(_axis(name, column, order) for name, column in zip(found.names, found.columns, strict=True)))
    numbers = np.concatenate([columns(name, way) for name in found.names], axis=1)
    names = [f"row {row}" for row in order]
    heads = [f"number {number}" for number in range(numbers.shape[1])]
    return Space((CatalogueAxis("reaction", table(names, heads, numbers[order], digest=f"{way} {order[:9]}")),))


def _axis(name: str, column: tuple[Any, ...], order: Ints) -> Axis:
    choices = tuple(dict.fromkeys(column[row] for row in order))
    return ChoiceAxis(name, tuple(sorted(choices)) if name in NUMBERS else choices, ordered=name in NUMBERS)


def best_yields(way: str, seed: int) -> list[float]:
    """The best yield after each experiment of a run."""
    found, order = reactions(), np.random.default_rng(seed).permutation(len(reactions().means))
    yields = found.means
    if way == "random":
        return list(np.maximum.accumulate(yields[order[:BUDGET]]))
    rows = {values: row for row, values in enumerate(zip(*found.columns, strict=True))}
    own = space(way, order)
    state, told = auto.start(own, Config(), seed), []
    for _ in range(BUDGET):
        suggestion = auto.suggest(state, np.zeros((0, own.dimension)))
        parameters = own.decode(suggestion.point)
        if way == "categories":
            row = rows[tuple(parameters[name] for name in found.names)]
        else:
            row = int(str(parameters["reaction"]).split()[1])
        told.append(float(yields[row]))
        state = auto.observe(suggestion.state, suggestion.point, told[-1]).state
    return list(np.maximum.accumulate(told))


WAYS = {
    "catalogue": "row with computed descriptors",
    "catalogue of 0 and 1": "row with one-hot columns",
    "categories": "five parameters, three of them categories",
    "random": "random row, without a model",
}
"""The variants, and how the tables name them."""


def seconds(rows: int, results: int) -> Iterator[float]:
    """Durations of suggestions from a catalogue of random numbers, after a number of results."""
    rng = np.random.default_rng(rows)
    numbers = rng.normal(size=(rows, COLUMNS))
    values = -((numbers[:, :4] - 0.5) ** 2).sum(axis=1)
    names = [f"row {row}" for row in range(rows)]
    axis = CatalogueAxis("row", table(names, [f"n{each}" for each in range(COLUMNS)], numbers, digest=f"random {rows}"))
    own = Space((axis,))
    state = auto.start(own, Config(), 0)
    for row in rng.choice(rows, results, replace=False):
        state = auto.observe(state, axis.positions(np.array([row])), float(values[row])).state
    for _ in range(REPEATS + 1):
        before = time.perf_counter()
        suggestion = auto.suggest(state, np.zeros((0, 1)))
        yield time.perf_counter() - before
        (row,) = axis.rows(suggestion.point)
        state = auto.observe(suggestion.state, suggestion.point, float(values[row])).state


def main() -> None:
    """Measure speed and quality, and write the file."""
    takes_no_options("benchmarks.outcomes.catalogues", __doc__)
    speed = []
    with threadpool_limits(1):
        for rows in ROWS:
            for results in RESULTS_SO_FAR:
                first, *others = seconds(rows, results)
                told = {"first": first, "median": median(others), "largest": max(others)}
                speed.append({"rows": rows, "results": results, **{k: round(v, 4) for k, v in told.items()}})
        runs = [
            {"way": way, "seed": seed, "best": [round(float(each), 2) for each in best_yields(way, seed)]}
            for way in WAYS
            for seed in range(SEEDS)
        ]
    write(OUT, {"provenance": provenance("benchmarks.outcomes.catalogues"), "speed": speed, "runs": runs})
    for each in tables(OUT):
        print(f"\n{each.title}")
        print_table(each.header, each.rows)


def tables(path: Path) -> Iterator[Printed]:
    """The times of suggestions, and the best yields, from a file."""
    found = json.loads(path.read_text())
    times = ("first", "median", "largest")
    yield Printed(
        f"Time of a suggestion: the first one in a process, and {REPEATS} others",
        ("rows", "results", *(f"{each}, ms" for each in times)),
        [
            (f"{each['rows']:,}", str(each["results"]), *(f"{1000 * each[name]:.0f}" for name in times))
            for each in found["speed"]
        ],
    )
    yield Printed(
        f"Best yield: median of {SEEDS} seeds (10% quantile), share of runs with {GOOD:.0f}% or more",
        ("representation of a reaction", f"{COUNTS[0]} experiments", *map(str, COUNTS[1:])),
        [(name, *_cells(found["runs"], way)) for way, name in WAYS.items()],
    )


def _cells(runs: list[dict[str, Any]], way: str) -> list[str]:
    """Median, 10% quantile and share of good runs at each of the counts."""
    best = np.array([run["best"] for run in runs if run["way"] == way])[:, np.array(COUNTS) - 1]
    low, middle, good = np.quantile(best, 0.1, axis=0), np.median(best, axis=0), (best >= GOOD).mean(axis=0)
    return [f"{m:.1f} ({q:.1f}), {g:.0%}" for m, q, g in zip(middle, low, good, strict=True)]


if __name__ == "__main__":
    main()

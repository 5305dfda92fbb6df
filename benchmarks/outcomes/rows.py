"""``python -m benchmarks.outcomes.rows``: catalogues whose rows are measured experiments, compared with BayBE and
Optuna.

``catalogue`` and ``baybe`` choose among the rows. In ``direct_arylation``, ligand, base and solvent have computed
descriptors: a row of the catalogue has their leading principal components, BayBE gets the descriptors themselves. The
rows of the other tables have numbers only. Optuna has no catalogues: ``tpe category`` chooses a name from a category of
all rows, and ``tpe nearest`` chooses the numbers of the catalogue, and the nearest row is evaluated. ``random`` draws
rows without replacement. A seed determines the order of the rows. The score is 0 for the best row, and 1 for the median
one; all methods are told the mean of a row's measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.catalogue import CatalogueAxis, table
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import catalogues, runs
from benchmarks.outcomes.catalogues import Ints
from benchmarks.output import RESULTS
from benchmarks.quality.nature.descriptors import descriptors
from benchmarks.quality.nature.measured import Measured
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-rows.json"
PROBLEMS: Mapping[str, Measured] = {
    each.file: each
    for each in (
        Measured(catalogues.FILE, maximized=True),
        Measured("photo_wf3"),
        Measured("suzuki", maximized=True),
        Measured("colors_bob"),
        Measured("alkox", maximized=True),
    )
}
"""Settings of catalogues were chosen on the first one."""
BUDGET, SEEDS = 30, 5
COUNTS = (10, 20, 30)
"""Evaluations after which methods are compared."""


@dataclass(frozen=True)
class Rows:
    """A table with its rows in the order of a seed."""

    measured: Measured
    seed: int

    @cached_property
    def order(self) -> Ints:
        """The number in the table of each row."""
        return generator(f"rows {self.measured.file}", self.seed).permutation(len(self.measured.table.means))

    @cached_property
    def numbers(self) -> Array:
        """The numbers of each row, (rows, n)."""
        found = self.measured.table
        if self.measured.file == catalogues.FILE:
            columns = [catalogues.columns(name, "catalogue") for name in found.names]
        else:
            columns = [np.array(column, dtype=np.float64)[:, None] for column in found.columns]
        numbers: Array = np.concatenate(columns, axis=1)
        return numbers[self.order]

    @property
    def frame(self) -> pd.DataFrame:
        """The rows with the values of the table."""
        found = self.measured.table
        given = pd.DataFrame(dict(zip(found.names, found.columns, strict=True)))
        return given.iloc[self.order].reset_index(drop=True)

    @property
    def described(self) -> dict[str, dict[str, tuple[float, ...]]]:
        """The descriptors of the columns that are not numbers."""
        found = self.measured.table
        texts = [name for name, column in zip(found.names, found.columns, strict=True) if isinstance(column[0], str)]
        return {name: descriptors(self.measured.file, name) for name in texts}


class Search:
    """The scores of the rows that a method evaluates."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._values = rows.measured.table.means * (1.0 if rows.measured.maximized else -1.0)
        self.scores: list[float] = []

    def __call__(self, row: int) -> float:
        """Evaluate a row; returns a value to be maximised."""
        number = int(self._rows.order[row])
        self.scores.append(self._rows.measured.score(number))
        return float(self._values[number])


def catalogue(rows: Rows, measure: Search, seed: int, budget: int) -> None:
    """Search a catalogue with ``auto``."""
    names = [f"row {row}" for row in range(len(rows.order))]
    heads = [f"number {number}" for number in range(rows.numbers.shape[1])]
    digest = f"{rows.measured.file} {rows.seed}"
    axis = CatalogueAxis("row", table(names, heads, rows.numbers, digest=digest))
    state = auto.start(Space((axis,)), Config(), seed)
    for _ in range(budget):
        suggestion = auto.suggest(state, np.zeros((0, 1)))
        (row,) = axis.rows(suggestion.point)
        state = auto.observe(suggestion.state, suggestion.point, measure(int(row))).state


def baybe(rows: Rows, measure: Search, seed: int, budget: int) -> None:
    """Search with BayBE."""
    from benchmarks.outcomes import row_peers  # noqa: PLC0415 (the peers may be missing)

    row_peers.baybe(rows.frame, rows.described, measure, seed, budget)


def tpe_category(rows: Rows, measure: Search, seed: int, budget: int) -> None:
    """Search a category with Optuna."""
    from benchmarks.outcomes import row_peers  # noqa: PLC0415

    row_peers.tpe_category(len(rows.order), measure, seed, budget)


def tpe_nearest(rows: Rows, measure: Search, seed: int, budget: int) -> None:
    """Search the numbers of the nearest row with Optuna."""
    from benchmarks.outcomes import row_peers  # noqa: PLC0415

    row_peers.tpe_nearest(rows.numbers, measure, seed, budget)


def random(rows: Rows, measure: Search, seed: int, budget: int) -> None:
    """Evaluate random rows."""
    for row in generator(f"random {rows.measured.file}", seed).permutation(len(rows.order))[:budget]:
        measure(int(row))


METHODS: Mapping[str, Callable[[Rows, Search, int, int], None]] = {
    "catalogue": catalogue,
    "baybe": baybe,
    "tpe category": tpe_category,
    "tpe nearest": tpe_nearest,
    "random": random,
}


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = BUDGET

    def run(self) -> dict[str, Any]:
        """Return the smallest score after each evaluation."""
        rows = Rows(PROBLEMS[self.problem], self.seed)
        search = Search(rows)
        METHODS[self.method](rows, search, self.seed, self.budget)
        return {"best": [float(f"{each:.4g}") for each in np.minimum.accumulate(search.scores)]}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median score per table of experiments."""
    yield from runs.scored(path, PROBLEMS, METHODS, COUNTS)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.rows",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "score", y_scale="log"),
        budget=BUDGET,
        packages={"baybe": ("baybe", "botorch"), "tpe category": ("optuna",), "tpe nearest": ("optuna",)},
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())

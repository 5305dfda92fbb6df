"""``python -m benchmarks.outcomes.exclusions``: combinations of choices that are excluded, compared with BayBE and
Optuna.

The problems are tables of measured experiments in which every combination was measured. Each seed draws two parameters,
excludes about half of the pairs of their values, and determines the order of the choices. Every value of the first
parameter keeps a partner. ``constraint`` declares constraints on the two parameters; ``baybe`` declares them as
``DiscreteExcludeConstraint``. Optuna has no such constraints: in ``tpe dependent``, the second of the two parameters
has another name, and other choices, for each value of the first. ``random`` draws allowed combinations without
replacement. The score is 0 for the best allowed combination, and 1 for the median one; all methods are told the mean of
the measurements of a combination.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.auto.policy import Config, auto
from adabkb_service.engine.axes import ChoiceAxis, Value
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.space import Space
from benchmarks.outcomes import runs
from benchmarks.output import RESULTS
from benchmarks.quality.nature.measured import FLOOR, Measured
from benchmarks.quality.problems import generator

OUT = RESULTS / "outcomes-exclusions.json"
PROBLEMS: Mapping[str, Measured] = {
    each.file: each
    for each in (
        Measured("buchwald_a", maximized=True, grid=True),
        Measured("redoxmers", grid=True),
        Measured("lnp3", maximized=True, grid=True),
    )
}
BUDGET, SEEDS = 30, 5
COUNTS = (10, 20, 30)
"""Evaluations after which methods are compared."""
EXCLUDED = 0.5
"""Probability that a pair is excluded."""
Point = dict[str, Value]


@dataclass(frozen=True)
class Excluding:
    """A table in which pairs of values of two parameters are excluded."""

    measured: Measured
    seed: int

    @cached_property
    def choices(self) -> dict[str, list[Value]]:
        """The values of each parameter, in the order of the seed."""
        rng, found = generator(f"order {self.measured.file}", self.seed), self.measured.table
        each = {name: sorted(set(column)) for name, column in zip(found.names, found.columns, strict=True)}
        return {
            name: values if self.is_number(name) else [values[i] for i in rng.permutation(len(values))]
            for name, values in each.items()
        }

    def is_number(self, name: str) -> bool:
        """Whether the values of a parameter are numbers."""
        found = self.measured.table
        return isinstance(found.columns[found.names.index(name)][0], float)

    @cached_property
    def pair(self) -> tuple[str, str]:
        """The names of the two parameters."""
        first, second = generator(f"pair {self.measured.file}", self.seed).choice(list(self.choices), 2, replace=False)
        return str(first), str(second)

    @cached_property
    def allowed(self) -> dict[Value, list[Value]]:
        """The values of the second parameter that each value of the first one may have."""
        rng, (first, second) = generator(f"excluded {self.measured.file}", self.seed), self.pair
        found = {}
        for value in self.choices[first]:
            kept = rng.random(len(self.choices[second])) >= EXCLUDED
            kept[rng.integers(len(kept))] = True
            found[value] = [other for other, keep in zip(self.choices[second], kept, strict=True) if keep]
        return found

    @cached_property
    def values(self) -> dict[tuple[Value, ...], float]:
        """The allowed combinations, and their values, to be maximised."""
        found, (first, second) = self.measured.table, self.pair
        sign = 1.0 if self.measured.maximized else -1.0
        at, other = found.names.index(first), found.names.index(second)
        combinations = zip(zip(*found.columns, strict=True), sign * found.means, strict=True)
        return {each: float(value) for each, value in combinations if each[other] in self.allowed[each[at]]}


class Search:
    """The scores of the combinations that a method evaluates."""

    def __init__(self, excluding: Excluding) -> None:
        self._names, self._values = excluding.measured.table.names, excluding.values
        every = np.array(list(self._values.values()))
        self._best, self._median = float(every.max()), float(np.median(every))
        self.scores: list[float] = []

    def __call__(self, point: Mapping[str, Value]) -> float:
        """Evaluate an allowed combination; returns a value to be maximised.

        Raises:
            KeyError: the combination is excluded.
        """
        value = self._values[tuple(point[name] for name in self._names)]
        self.scores.append(max((self._best - value) / (self._best - self._median), FLOOR))
        return value


def constraint(excluding: Excluding, measure: Search, seed: int, budget: int) -> None:
    """Search with ``auto`` under constraints."""
    first, second = excluding.pair
    axes = tuple(
        ChoiceAxis(name, tuple(choices), ordered=excluding.is_number(name))
        for name, choices in excluding.choices.items()
    )
    constraints = tuple(
        Constraint(f"{first} != {json.dumps(value)} or {second} in {json.dumps(partners)}")
        for value, partners in excluding.allowed.items()
    )
    space = Space(axes, constraints)
    state = auto.start(space, Config(), seed)
    for _ in range(budget):
        suggestion = auto.suggest(state, np.zeros((0, space.dimension)))
        value = measure(space.decode(suggestion.point))
        state = auto.observe(suggestion.state, suggestion.point, value).state


def baybe(excluding: Excluding, measure: Search, seed: int, budget: int) -> None:
    """Search with BayBE."""
    from benchmarks.outcomes import exclusion_peers  # noqa: PLC0415 (the peers may be missing)

    numbers = {name for name in excluding.choices if excluding.is_number(name)}
    exclusion_peers.baybe(excluding.choices, numbers, excluding.pair, excluding.allowed, measure, seed, budget)


def tpe_dependent(excluding: Excluding, measure: Search, seed: int, budget: int) -> None:
    """Search with Optuna."""
    from benchmarks.outcomes import exclusion_peers  # noqa: PLC0415

    exclusion_peers.tpe_dependent(excluding.choices, excluding.pair, excluding.allowed, measure, seed, budget)


def random(excluding: Excluding, measure: Search, seed: int, budget: int) -> None:
    """Evaluate random combinations."""
    every, names = list(excluding.values), excluding.measured.table.names
    for number in generator(f"random {excluding.measured.file}", seed).permutation(len(every))[:budget]:
        measure(dict(zip(names, every[number], strict=True)))


METHODS: Mapping[str, Callable[[Excluding, Search, int, int], None]] = {
    "constraint": constraint,
    "baybe": baybe,
    "tpe dependent": tpe_dependent,
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
        excluding = Excluding(PROBLEMS[self.problem], self.seed)
        search = Search(excluding)
        METHODS[self.method](excluding, search, self.seed, self.budget)
        return {"best": [float(f"{each:.4g}") for each in np.minimum.accumulate(search.scores)]}


def tables(path: Path) -> Iterator[runs.Table]:
    """The median score per table of experiments."""
    yield from runs.scored(path, PROBLEMS, METHODS, COUNTS)


def benchmark() -> runs.Benchmark:
    """The benchmark; its runs are stored in ``OUT`` by default."""
    return runs.Benchmark(
        "benchmarks.outcomes.exclusions",
        __doc__,
        Job,
        list(PROBLEMS),
        list(METHODS),
        SEEDS,
        OUT,
        tables,
        runs.Axes("best", "score", y_scale="log"),
        budget=BUDGET,
        packages={"baybe": ("baybe", "botorch"), "tpe dependent": ("optuna",)},
    )


if __name__ == "__main__":
    raise SystemExit(benchmark().main())

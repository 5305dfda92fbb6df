"""Tables whose choices have descriptors: the value of informative and of useless descriptors.

``python -m benchmarks.quality.nature.descriptors`` measures it (about five minutes). The numbers are those of
``benchmarks/quality/data/descriptors.py``.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from adabkb_service.engine.axes import Axis, ChoiceAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.methods import METHODS
from benchmarks.quality.nature.measured import FOLDER, Measured, MeasuredInstance
from benchmarks.quality.problems import generator

COUNTS = (10, 15, 20, 30)
SEEDS = 20
USELESS = (3, 10)
"""Numbers of useless (random) descriptors."""
GOOD = 95.0
"""Yield in percent."""


@lru_cache(maxsize=8)
def descriptors(file: str, parameter: str) -> dict[str, tuple[float, ...]]:
    """Choice -> descriptors, from a separate table."""
    path: Path = FOLDER / f"{file}-{parameter}.csv"
    with path.open(newline="") as lines:
        _, *rows = csv.reader(lines)
    return {choice: tuple(map(float, numbers)) for choice, *numbers in rows}


@dataclass(frozen=True)
class Described(Measured):
    """A table with computed or random descriptors of its choices."""

    useless: int = 0

    @property
    def name(self) -> str:
        """The name in the results."""
        return f"described_{self.file}" + (f"_useless{self.useless}" if self.useless else "")

    def draw(self, seed: int) -> MeasuredInstance:
        """As for the table without descriptors, so that equal seeds can be compared."""
        plain = Measured(self.file, self.maximized, self.grid).draw(seed)
        rng = generator(self.name, seed)
        axes = tuple(self._described(axis, rng) for axis in plain.space.axes)
        return replace(plain, space=Space(axes))

    def _described(self, axis: Axis, rng: np.random.Generator) -> Axis:
        if not isinstance(axis, ChoiceAxis) or axis.ordered:
            return axis
        if self.useless:
            columns: Array = rng.normal(size=(self.useless, len(axis.choices)))
        else:
            known = descriptors(self.file, axis.name)
            columns = np.array([known[str(choice)] for choice in axis.choices]).T
        return replace(axis, descriptors=tuple(tuple(column) for column in columns.tolist()))


ARYLATION = Measured("direct_arylation", maximized=True, grid=True)
DESCRIBED: dict[str, Measured] = {
    "without": ARYLATION,
    "from the structures": Described("direct_arylation", maximized=True, grid=True),
    **{f"{count} random": Described("direct_arylation", maximized=True, grid=True, useless=count) for count in USELESS},
}


def best_yields(problem: Measured, seed: int) -> list[float]:
    """The best yield after each experiment of a run."""
    instance = problem.draw(seed)
    method = METHODS["auto"].create(instance.space, seed)
    found: list[float] = []
    for _ in range(max(COUNTS)):
        parameters = method.ask()
        value = instance.evaluate(parameters).value
        method.tell(parameters, value)
        found.append(max([-value, *found[-1:]]))
    method.close()
    return found


def main() -> None:
    print("| descriptors |" + "".join(f" {count} |" for count in COUNTS) + "\n|---|" + "---|" * len(COUNTS))
    with threadpool_limits(1):
        for name, problem in DESCRIBED.items():
            runs = np.array([best_yields(problem, seed) for seed in range(SEEDS)])[:, np.array(COUNTS) - 1]
            low, middle, good = np.quantile(runs, 0.1, axis=0), np.median(runs, axis=0), (runs >= GOOD).mean(axis=0)
            cells = [f"{m:.1f} ({q:.1f}), {g:.0%}" for m, q, g in zip(middle, low, good, strict=True)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

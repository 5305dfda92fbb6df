"""The results of a study, in log order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.metrics import Measured

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

NO_PLATE = -1
"""Plate number of a result without a plate."""


@dataclass(frozen=True, slots=True)
class Record:
    """The table of the T results that the model uses, in log order: without excluded ones and those outside the
    space."""

    positions: Array
    """(T, d) positions in the unit cube."""
    values: Array
    """(T,) results, multiplied by the engine's sign, so that larger is better. NaN for a value that is not known
    yet."""
    errors: Array
    """(T,) standard errors of the results, in the user's units; 0 if unknown."""
    ordinals: Ints
    """(T,) ordinal of each result's point; distinct points are numbered 0, 1, ... in order of first observation."""
    plates: Ints | None = None
    """(T,) plate number of each result, -1 for a result without a plate; None in a study without plates."""
    metrics: tuple[Record, ...] = ()
    """For each metric of the study, a record of the same T results with the values of the metric."""

    @property
    def size(self) -> int:
        """T, the number of results."""
        return len(self.values)

    @property
    def points(self) -> int:
        """Number of distinct points."""
        return int(self.ordinals.max(initial=-1)) + 1

    def plates_of(self, rows: Ints | Bools | slice) -> Ints | None:
        """The plates of some results; None in a study without plates."""
        return None if self.plates is None else self.plates[rows]

    def add(
        self,
        position: Array,
        value: float,
        error: float,
        metrics: Sequence[Measured] = (),
        plate: int | None = None,
    ) -> Record:
        """The record with one more result, at a position (d,)."""
        before = rows_at(self.positions, position)
        ordinal = self.ordinals[before[0]] if len(before) else self.points
        record = Record(
            np.concatenate([self.positions, position[None]]),
            np.append(self.values, value),
            np.append(self.errors, error),
            np.append(self.ordinals, ordinal),
            None if self.plates is None else np.append(self.plates, NO_PLATE if plate is None else plate),
        )
        return record.with_metrics(
            (np.append(metric.values, measured.value), np.append(metric.errors, measured.error))
            for metric, measured in zip(self.metrics, metrics, strict=True)
        )

    def first(self, count: int) -> Record:
        """The first ``count`` results."""
        rows = slice(count)
        columns = self.positions[rows], self.values[rows], self.errors[rows], self.ordinals[rows]
        first = Record(*columns, self.plates_of(rows))
        return first.with_metrics((metric.values[:count], metric.errors[:count]) for metric in self.metrics)

    def with_metrics(self, columns: Iterable[tuple[Array, Array]]) -> Record:
        """The record with these values and standard errors of metrics, (T,) each."""
        metrics = tuple(replace(self, values=values, errors=errors) for values, errors in columns)
        return replace(self, metrics=metrics) if metrics else self

    def known(self) -> Record:
        """The record of the results that have a value. Some of their metrics may not be known."""
        has = ~np.isnan(self.values)
        if has.all():
            return self
        found = of(self.positions[has], self.values[has], self.errors[has], plates=self.plates_of(has))
        return found.with_metrics((metric.values[has], metric.errors[has]) for metric in self.metrics)

    def first_rows(self) -> Ints:
        """The row of the first result of each distinct point, (points,), by ordinal."""
        return np.unique(self.ordinals, return_index=True)[1]


def of(
    positions: Array, values: Array, errors: Array, metrics: Array | None = None, plates: Ints | None = None
) -> Record:
    """The record of results in log order: positions (T, d), values (T,), standard errors (T,), values and standard
    errors of metrics (T, metrics, 2), and, in a study with plates, plates (T,)."""
    columns = () if metrics is None else [(column[:, 0], column[:, 1]) for column in metrics.transpose(1, 0, 2)]
    if not len(values):
        return empty(positions.shape[-1], has_plates=plates is not None).with_metrics(columns)
    _, first, inverse = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return Record(positions, values, errors, rank[inverse.ravel()], plates).with_metrics(columns)


def empty(dimension: int, *, has_plates: bool = False) -> Record:
    """A record without results, in ``dimension`` dimensions, of a study with or without plates."""
    none = np.zeros(0, dtype=np.int64)
    return Record(np.zeros((0, dimension)), np.zeros(0), np.zeros(0), none, none if has_plates else None)


def holds(positions: Array, position: Array) -> bool:
    """Whether positions (k, d) contain a position (d,)."""
    return len(rows_at(positions, position)) > 0


def rows_at(positions: Array, position: Array) -> Ints:
    """The rows of positions (k, d) that equal a position (d,). They are compared bit for bit, since equal parameters
    have equal positions."""
    candidates: Ints = (positions[:, 0] == position[0]).nonzero()[0]
    if not len(candidates):
        return candidates
    rows: Ints = candidates[(positions[candidates] == position).all(axis=1)]
    return rows

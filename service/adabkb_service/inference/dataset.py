"""The log as arrays: results that count, and points that are still awaited.

A pure function of the events, whatever the leases say, so decisions do not depend on clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space
from adabkb_service.storage.rows import EventRow

Array = NDArray[np.float64]

COUNTS_MOVED_SINCE = 3
"""The first engine revision in which ``Dataset.counts_moved`` holds."""


@dataclass(frozen=True, slots=True)
class Result:
    """An observation in the engine's terms."""

    position: Array
    """(d,) in the unit cube."""
    value: float
    """Larger is better."""
    error: float
    """Its standard error; 0 if unknown."""
    excluded: bool
    metrics: tuple[Measured, ...] = ()
    """In the order of the study's metrics."""


@dataclass
class Dataset:
    """The events so far, folded."""

    space: Space
    sign: float
    """+1 if the study maximises, -1 if it minimises."""
    counts_moved: bool = True
    """Whether a point in whose place another one was evaluated counts as taken."""
    metrics: tuple[Metric, ...] = ()
    """What each result measures beside its value."""
    results: dict[int, Result] = field(default_factory=dict)
    """In the order of the log, by observation seq; that of a stopped trial by minus its number."""
    awaited: dict[int, Array] = field(default_factory=dict)
    """Trial number -> (d,) position, of every trial without a result. Failed trials stay: the policy must know of a
    point that cannot be evaluated, or it would be the next suggestion again."""
    failed: set[int] = field(default_factory=set)
    """Numbers of the awaited trials that failed."""
    moved: dict[int, Array] = field(default_factory=dict)
    """Trial number -> (d,) position that was handed out, of every trial whose result is of another point."""
    known: dict[bytes, dict[str, Any]] = field(default_factory=dict)
    """Position -> the parameters it was encoded from: a user's own may be finer than what decoding gives."""

    def apply(self, event: EventRow) -> None:
        """Take one event in; taking it in twice changes nothing."""
        payload = event.payload
        if event.kind in ("suggested", "queued"):
            assert event.trial is not None
            self.awaited[event.trial] = self._encoded(payload["parameters"])
        elif event.brings_result or event.kind == "corrected":
            result = self.results[_key(event)] = self.result(event)
            if event.trial is not None:
                handed_out = self.awaited.pop(event.trial, None)
                self.failed.discard(event.trial)
                if self.counts_moved and handed_out is not None and not np.array_equal(handed_out, result.position):
                    self.moved[event.trial] = handed_out
        elif event.kind == "failed" and event.trial in self.awaited:
            self.failed.add(event.trial)
        elif event.kind == "retried" and event.trial is not None:
            self.failed.discard(event.trial)

    def result(self, event: EventRow) -> Result:
        """The observation of an ``observed`` or ``corrected`` event, or what is expected of a ``stopped`` trial."""
        payload = event.payload
        if event.kind == "stopped":
            payload = {**payload, **payload["estimate"]}
        return Result(
            position=self._encoded(payload["parameters"]),
            value=self.sign * payload["value"],
            error=payload.get("std_error") or 0.0,
            excluded=payload.get("excluded", False),
            metrics=tuple(_measured(metric, payload) for metric in self.metrics),
        )

    def parameters_at(self, position: Array) -> dict[str, Any]:
        """The parameters of a point, as they were handed out or observed if they were."""
        return self.known.get(position.tobytes()) or self.space.decode(position)

    def pending(self) -> Array:
        """Positions of the awaited points that may still get a result, by trial number, shape (k, d)."""
        return self._stack([self.awaited[number] for number in sorted(self.awaited.keys() - self.failed)])

    def failed_points(self) -> Array:
        """Positions of the awaited points that failed, by trial number, shape (f, d)."""
        return self._stack([self.awaited[number] for number in sorted(self.failed)])

    def moved_points(self) -> Array:
        """Positions of the points in whose place another one was evaluated, by trial number, shape (m, d)."""
        return self._stack([self.moved[number] for number in sorted(self.moved)])

    def handed_out(self) -> Array:
        """All three: what was handed out and has no result."""
        return np.concatenate([self.pending(), self.failed_points(), self.moved_points()])

    def record(self) -> Record:
        """The results that count, in log order."""
        counted = [result for result in self.results.values() if not result.excluded]
        return record.of(
            self._stack([result.position for result in counted]),
            np.array([result.value for result in counted]),
            np.array([result.error for result in counted]),
            np.array([result.metrics for result in counted]).reshape(len(counted), len(self.metrics), 2),
        )

    def distinct_points(self) -> list[Array]:
        """Positions by ordinal: the distinct points of the record, in order of first observation."""
        found = self.record()
        return list(found.positions[found.first_rows()])

    def _encoded(self, parameters: dict[str, Any]) -> Array:
        position = self.space.encode(parameters)
        self.known[position.tobytes()] = parameters
        return position

    def _stack(self, positions: list[Array]) -> Array:
        return np.array(positions).reshape(-1, self.space.dimension)


def _key(event: EventRow) -> int:
    return -(event.trial or 0) if event.kind == "stopped" else int(event.payload["observation"])


def _measured(metric: Metric, payload: Mapping[str, Any]) -> Measured:
    return Measured(metric.sign * payload["metrics"][metric.name], payload["std_errors"].get(metric.name, 0.0))

"""A study's log as arrays: results, and points without a result.

A dataset is a pure function of the events. It does not depend on leases, so decisions do not depend on clocks. Points
outside an edited space are kept, since a later edit may include them again. Until then they have no position and are
ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record
from adabkb_service.engine.metrics import Measured, Metric
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space
from adabkb_service.storage.event_payloads import Numbers, Stopped
from adabkb_service.storage.rows import EventRow, ResultRow, SuggestedRow

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Result:
    """An observation in the engine's units and sign."""

    parameters: dict[str, Any]
    position: Array | None
    """Point in the unit cube, (d,); None outside the space."""
    value: float
    """Larger is better; NaN while it is not known."""
    error: float
    """Standard error of the value; 0 if unknown."""
    excluded: bool
    metrics: tuple[Measured, ...] = ()
    """Measured metrics, in the order of the study's metrics; NaN for those that are not known yet."""
    plate: int | None = None
    """Number of the plate of its trial or, without a trial, of the plate that the result names; None without one."""

    @property
    def has_value(self) -> bool:
        """Whether the value is known."""
        return not math.isnan(self.value)


@dataclass(frozen=True, slots=True)
class IssuedPoint:
    """A point that was issued or queued as a trial."""

    parameters: dict[str, Any]
    position: Array | None
    """As in ``Result``."""


@dataclass
class Dataset:
    """The data from the events applied so far."""

    space: Space
    sign: float
    """+1 if the study maximizes, -1 if it minimizes."""
    metrics: tuple[Metric, ...] = ()
    """Metrics of each result besides the value."""
    objective: Metric | None = None
    """With several objectives, the first one: its values are ``Result.value``, and the other objectives are among
    ``metrics``. None with a single objective."""
    results: dict[int, Result] = field(default_factory=dict)
    """Number of an observation -> result, in log order. The key of a stopped trial's estimate is minus the number of
    the trial."""
    without_result: dict[int, IssuedPoint] = field(default_factory=dict)
    """Trial number -> point, for every trial without a result. It includes failed trials, since the policy must know
    which points cannot be evaluated, and withdrawn ones, since the policy would otherwise suggest their points
    again."""
    failed: set[int] = field(default_factory=set)
    """Numbers of the trials in ``without_result`` that failed."""
    replaced: dict[int, IssuedPoint] = field(default_factory=dict)
    """Trial number -> issued point, for every trial that was evaluated at another point."""
    plates: dict[int, int] | None = None
    """Trial number -> number of its plate; None in a study without plates."""
    stopped_costs: dict[int, float] = field(default_factory=dict)
    """Trial number -> cost, for stopped trials without a result."""
    known: dict[bytes, dict[str, Any]] = field(default_factory=dict)
    """Position (as bytes) -> parameters from which it was encoded. They may be more precise than the parameters decoded
    from the position."""

    def copy(self) -> Dataset:
        """A copy that later events do not change."""
        return replace(
            self,
            results=dict(self.results),
            without_result=dict(self.without_result),
            failed=set(self.failed),
            replaced=dict(self.replaced),
            plates=None if self.plates is None else dict(self.plates),
            stopped_costs=dict(self.stopped_costs),
            known=dict(self.known),
        )

    def apply(self, event: EventRow) -> None:
        """Add the data of an event. Applying an event twice has the same effect as once."""
        match event.kind:
            case "suggested" | "queued":
                assert event.trial is not None
                self.without_result[event.trial] = self._place(event.payload["parameters"])
                plate = event.payload.get("plate")
                if self.plates is not None and plate is not None:
                    self.plates[event.trial] = plate
            case "observed" | "corrected" | "measured":
                self._add(event.payload["observation"], event.trial, self.result(event))
            case "stopped" if event.brings_result:
                if event.trial is not None and "cost" in event.payload:
                    self.stopped_costs[event.trial] = event.payload["cost"]
                self._add(-(event.trial or 0), event.trial, self.result(event))
            case "failed" if event.trial in self.without_result:
                self.failed.add(event.trial)
            case "retried" if event.trial is not None:
                self.failed.discard(event.trial)

    def _add(self, key: int, trial: int | None, result: Result) -> None:
        """Add or replace a result."""
        self.results[key] = result
        if trial is not None:
            issued = self.without_result.pop(trial, None)
            self.failed.discard(trial)
            if issued is not None and not _are_same(issued, result):
                self.replaced[trial] = issued

    def move_to(self, space: Space) -> None:
        """Recompute all positions after an edit of the space."""
        self.space, self.known = space, {}
        self.results = {
            key: replace(each, position=self._position(each.parameters)) for key, each in self.results.items()
        }
        self.without_result = {number: self._place(each.parameters) for number, each in self.without_result.items()}
        self.replaced = {number: self._place(each.parameters) for number, each in self.replaced.items()}

    def result(self, event: ResultRow) -> Result:
        """The result that an event adds or changes; for a ``stopped`` event, the estimated result."""
        if event.kind == "stopped":
            payload, excluded, plate = _expected(event.payload), False, None
        else:
            payload, plate = event.payload, event.payload.get("plate")
            excluded = event.kind != "observed" and event.payload.get("excluded", False)
        value, error = self._value(payload)
        return Result(
            parameters=event.payload["parameters"],
            position=self._position(event.payload["parameters"]),
            value=value,
            error=error,
            excluded=excluded,
            metrics=tuple(_measured(metric, payload) for metric in self.metrics),
            plate=plate if event.trial is None else (self.plates or {}).get(event.trial),
        )

    def parameters_at(self, position: Array) -> dict[str, Any]:
        """The parameters at a position, (d,): as issued or reported if the point is in the dataset, else decoded."""
        return self.known.get(position.tobytes()) or self.space.measured(position)

    def pending(self) -> Array:
        """Positions of the points that may still get a value, shape (k, d): first those of results without a value, in
        log order, then those of trials that have neither a result nor failed, by number."""
        without_value = [each.position for each in self.counted_results().values() if not each.has_value]
        unfinished = sorted(self.without_result.keys() - self.failed)
        return self._stack([*without_value, *(self.without_result[number].position for number in unfinished)])

    def failed_points(self) -> Array:
        """Positions of the points that failed, by trial number, shape (f, d)."""
        return self._stack([self.without_result[number].position for number in sorted(self.failed)])

    def replaced_points(self) -> Array:
        """Issued positions of the trials that were evaluated at another point, by trial number, shape (m, d)."""
        return self._stack([self.replaced[number].position for number in sorted(self.replaced)])

    def issued_positions(self) -> Array:
        """Positions of all issued points that have no value: pending, failed and replaced, shape (k + f + m, d)."""
        return np.concatenate([self.pending(), self.failed_points(), self.replaced_points()])

    def counted_results(self) -> dict[int, Result]:
        """The results that are not excluded and lie inside the space, in log order."""
        return {key: each for key, each in self.results.items() if not each.excluded and each.position is not None}

    def keys_with_value(self, metric: str | None = None) -> list[int]:
        """The keys in ``results`` of the counted results that have a value of a metric (of the objective if None), in
        log order."""
        if metric is None or (self.objective is not None and self.objective.name == metric):
            return [key for key, each in self.counted_results().items() if each.has_value]
        index = [each.name for each in self.metrics].index(metric)
        return [key for key, each in self.counted_results().items() if not math.isnan(each.metrics[index].value)]

    def record(self) -> Record:
        """The counted results as arrays, in log order; NaN for numbers that are not known."""
        counted = self.counted_results().values()
        return record.of(
            self._stack([result.position for result in counted]),
            np.array([result.value for result in counted]),
            np.array([result.error for result in counted]),
            np.array([result.metrics for result in counted]).reshape(len(counted), len(self.metrics), 2),
            None if self.plates is None else self._plates(counted),
        )

    def _plates(self, results: Iterable[Result]) -> NDArray[np.int64]:
        """The plates of results, -1 for those without one."""
        plates = [record.NO_PLATE if each.plate is None else each.plate for each in results]
        return np.array(plates, dtype=np.int64)

    def distinct_points(self) -> list[Array]:
        """Positions, (d,) each, of the distinct evaluated points, in order of the first result. The index of a point is
        its ordinal."""
        found = self.record().known()
        return list(found.positions[found.first_rows()])

    def _value(self, payload: Numbers) -> Measured:
        if self.objective is not None:
            return _measured(self.objective, payload)
        return Measured(self.sign * payload.get("value", math.nan), payload.get("std_error") or 0.0)

    def _place(self, parameters: dict[str, Any]) -> IssuedPoint:
        return IssuedPoint(parameters, self._position(parameters))

    def _position(self, parameters: dict[str, Any]) -> Array | None:
        point = self.space.present(parameters)
        if point is None:
            return None
        position = self.space.encode(point)
        self.known[position.tobytes()] = point
        return position

    def _stack(self, positions: Iterable[Array | None]) -> Array:
        """The positions that are not None, shape (k, d)."""
        return np.array([each for each in positions if each is not None]).reshape(-1, self.space.dimension)


def _are_same(issued: IssuedPoint, result: Result) -> bool:
    if issued.position is None or result.position is None:
        return issued.parameters == result.parameters
    return np.array_equal(issued.position, result.position)


def is_decision(event: EventRow) -> TypeGuard[SuggestedRow]:
    """Whether the engine chose the point of this event."""
    return event.kind == "suggested" and event.payload["origin"] == "policy"


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive results in the log. A run ends before the next event for which ``ends_run`` is true, or at the end of
    the log. Other events, such as failures, may lie between the results."""

    end: int
    """Seq of the event that ends the run; if the log ends first, the seq that follows the log."""
    is_rebuilt: bool
    """Whether the event that ends the run rebuilds the model from all results."""
    results: int
    """The number of results."""


def run_at(log: Sequence[EventRow], index: int, before: int) -> Run:
    """Return the run that contains the event at ``index``. ``before`` is the number of results of the run before this
    event."""
    results = before
    for event in islice(log, index, None):
        if ends_run(event) and event is not log[index]:
            return Run(event.seq, not is_decision(event), results)
        results += event.brings_result
    return Run(log[-1].seq + 1, is_rebuilt=False, results=results)


def ends_run(event: EventRow) -> bool:
    """Whether an event ends a run: a decision of the model, an edit, or a change of a result."""
    return is_decision(event) or event.kind == "edited" or event.changes_result


def _expected(stopped: Stopped) -> Numbers:
    """The estimate of a stopped trial as the numbers of a result; its other numbers are unknown."""
    estimate, metric = stopped["estimate"], stopped.get("metric")
    assert estimate is not None
    if metric is None:
        return {**estimate, "metrics": {}, "std_errors": {}}
    return {
        "value": stopped["value"],
        "metrics": {metric: estimate["value"]},
        "std_errors": {metric: estimate["std_error"]},
    }


def _measured(metric: Metric, payload: Numbers) -> Measured:
    value = payload["metrics"].get(metric.name, math.nan)
    return Measured(metric.sign * value, payload["std_errors"].get(metric.name, 0.0))

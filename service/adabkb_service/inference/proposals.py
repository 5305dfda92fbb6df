"""New points for a study: decided on by the engine, or quasi-random where it cannot decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.answers import Prediction
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.moves import Phase
from adabkb_service.engine.slices import Slice
from adabkb_service.inference.restriction import Restriction
from adabkb_service.storage import observations, trials
from adabkb_service.storage.rows import Origin, StudyRow

Array = NDArray[np.float64]

ATTEMPTS = 50
"""Draws per fallback point to find a new one."""
MOST_TRIALS = 1 << 32
"""A number larger than the number of trials of a study, which separates the random streams of trials."""
MOST_KNOWN = 10_000
"""The maximum number of trials, and of results, that a fallback point is compared with."""


class Expected(NamedTuple):
    """A prediction in the units and sign of the objective or of a metric. ``Prediction`` defines the bounds."""

    mean: float
    std: float
    lcb: float
    ucb: float
    metrics: dict[str, Expected] | None = None
    """Predictions of the study's metrics that have results, by name; None without metrics."""
    feasible_probability: float | None = None
    """Probability that the point satisfies all outcome constraints."""
    is_of_first: bool = False
    """Whether the numbers are those of the first of several objectives, which is also among the metrics."""

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite."""
        metrics = self.metrics or {}
        return all(map(math.isfinite, self[:4])) and all(metric.is_finite for metric in metrics.values())

    def as_json(self) -> dict[str, Any]:
        """The form stored in an event."""
        found: dict[str, Any] = {} if self.is_of_first else dict(zip(self._fields[:4], self, strict=False))
        if self.metrics is not None:
            metrics = {name: metric.as_json() for name, metric in self.metrics.items()}
            found |= {"metrics": metrics, "feasible_probability": self.feasible_probability}
        return found


def expected(
    found: Prediction, sign: float, metrics: Sequence[Metric], objective: Metric | None = None
) -> list[Expected]:
    """Predictions of the engine in the units and signs of the metrics and of the objective. With several objectives,
    ``objective`` is the first one."""
    own = in_units(found, sign)
    if not metrics:
        return own
    assert found.feasible is not None, "there are metrics"
    columns = [in_units(each, metric.sign) for each, metric in zip(found.metrics, metrics, strict=True)]
    names = [metric.name for metric in metrics]
    rows = zip(own, found.feasible.tolist(), *columns, strict=True)
    if objective is None:
        return [
            of_objective._replace(metrics=_with_results(names, row), feasible_probability=probability)
            for of_objective, probability, *row in rows
        ]
    names = [objective.name, *names]
    return [
        first._replace(metrics=_with_results(names, (first, *row)), feasible_probability=probability, is_of_first=True)
        for first, probability, *row in rows
    ]


def _with_results(names: Sequence[str], predictions: Sequence[Expected]) -> dict[str, Expected]:
    """By name, without those of metrics that have no result yet."""
    return {name: each for name, each in zip(names, predictions, strict=True) if not math.isnan(each.mean)}


def in_units(found: Prediction, sign: float) -> list[Expected]:
    """Predictions of the engine without metrics, with this sign."""
    mean, low, high = found.mean, found.lcb, found.ucb
    if sign < 0:
        mean, low, high = -mean, -high, -low
    columns = (mean.tolist(), found.std.tolist(), low.tolist(), high.tolist())
    return [Expected(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point to issue as a new trial."""

    parameters: dict[str, Any]
    origin: Origin
    cell: str | None = None
    capped: bool = False
    """Whether the refinement reached the engine's cap on expansions."""
    phase: Phase | None = None
    expected: Expected | None = None
    """Prediction there from the results alone; None if unavailable."""
    fixed: dict[str, Any] | None = None
    """Fixed parameter values."""
    trust: dict[str, float] | None = None
    """Weight of each older study that the search begins from, by name; None without any."""
    gap: float | None = None
    """The gap after the results that the point depends on; None if not known."""


@dataclass(frozen=True)
class Changed:
    """A parameter that differs from the baseline."""

    parameter: str
    baseline: Any
    value: Any
    gain: float
    """Expected loss of the objective, in its units, if only this value is reset to the baseline."""


@dataclass(frozen=True)
class Recommended:
    """A recommended point, in the objective's units and sign."""

    parameters: dict[str, Any]
    mean: float
    std: float
    expected: Expected | None
    """The prediction there, for its metrics; None without metrics."""
    changes: list[Changed] | None = None
    """Differences from the baseline; None without a baseline."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A point decided on, and the engine's state once it is issued."""

    proposal: Proposal
    state: Any
    cells: dict[str, str]
    point: Array


def fallbacks(
    connection: Connection,
    study: StudyRow,
    count: int,
    before: Sequence[Proposal],
    within: Restriction,
) -> list[Proposal]:
    """Quasi-random points for the next trials, seeded by (seed, trial number), so that a retry draws the same ones.

    In a finite space the draw avoids known points where possible. If parameters are fixed, no new points may be left;
    then fewer are returned, unless repeats are useful.

    Args:
        connection: to read from.
        study: row of the study.
        count: number of the next trials.
        before: points of the first of these trials.
        within: what the points have in common.
    """
    definition = definition_of(study.definition)
    space = definition.space()
    fixed = within.after(before[0].parameters) if before else within.continued
    known: set[bytes] | None = None
    points: list[Proposal] = []
    for number in range(study.trials + 1 + len(before), study.trials + 1 + count):
        may_begin = within.plate is not None and not before and not points
        for given in (fixed, within.fixed) if may_begin else (fixed,):
            left = Slice(space, given or {})
            if known is None and math.isfinite(left.size):
                known = _known(connection, study) | {space.encode(point.parameters).tobytes() for point in before}
            may_repeat = given is None or definition.noise_std is not None
            drawn = _drawn(left, study.seed, number, known or set(), may_repeat=may_repeat)
            if drawn is not None:
                break
        else:
            return points
        if known is not None:
            known.add(drawn.tobytes())
        points.append(Proposal({**space.decode(drawn), **(given or {})}, "fallback", fixed=given))
        fixed = within.after((before or points)[0].parameters)
    return points


def _drawn(left: Slice, seed: int, number: int, known: set[bytes], *, may_repeat: bool) -> Array | None:
    """A random point, (d,), of a slice for the trial with this number, not a known one if possible; None if there is
    none."""
    if not left.size:  # all rows of a catalogue are withdrawn
        return None
    for attempt in range(ATTEMPTS):
        drawn = left.drawn(seed, number + attempt * MOST_TRIALS)
        if drawn.tobytes() not in known:
            return drawn
    return drawn if may_repeat else None


def _known(connection: Connection, study: StudyRow) -> set[bytes]:
    space = definition_of(study.definition).space()
    handed_out = trials.page(connection, study.id, state=None, after=0, limit=MOST_KNOWN)
    evaluated = observations.page(connection, study.id, 0, MOST_KNOWN)
    points = [row.parameters for row in handed_out] + [row.parameters for row in evaluated]
    positions = map(space.position, points)
    return {position.tobytes() for position in positions if position is not None}

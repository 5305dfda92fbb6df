"""New points for a study: chosen by the engine, or quasi-random if the engine has failed or does not reply in time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from adabkb_service.contract.stored import StoredDefinition
from adabkb_service.engine.answers import Prediction
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.moves import Phase
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.inference.restriction import Restriction
from adabkb_service.storage import observations, trials
from adabkb_service.storage.columns import StoredPrediction
from adabkb_service.storage.rows import StudyRow

Array = NDArray[np.float64]

ATTEMPTS = 50
"""The maximum number of draws of a fallback point until one is new."""
MAX_TRIALS = 1 << 32
"""More than the number of trials of any study. Attempt k for trial n uses the random stream n + k * MAX_TRIALS."""
MAX_COMPARED = 10_000
"""A fallback point is compared with at most this many trials, and with at most this many results."""


class Expected(NamedTuple):
    """A prediction in the units and sign of the objective or of a metric. ``Prediction`` defines the bounds."""

    mean: float
    std: float
    lcb: float
    ucb: float
    metrics: dict[str, Expected] | None = None
    """Metric -> its prediction, for the metrics that have results; None in a study without metrics."""
    feasible_probability: float | None = None
    """Probability that the point satisfies all outcome constraints; None if there are none."""
    finish_probability: float | None = None
    """Probability that a trial at the point finishes instead of failing; None if this is not learned, and in events."""
    is_of_first: bool = False
    """Whether mean, std and bounds are those of the first of several objectives, which is also among ``metrics``."""

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite."""
        metrics = self.metrics or {}
        return all(map(math.isfinite, self[:4])) and all(metric.is_finite for metric in metrics.values())

    def as_json(self) -> StoredPrediction:
        """The JSON form, as in events and responses."""
        found: StoredPrediction = {}
        if not self.is_of_first:
            found = {"mean": self.mean, "std": self.std, "lcb": self.lcb, "ucb": self.ucb}
        if self.metrics is not None:
            metrics = {name: metric.as_json() for name, metric in self.metrics.items()}
            found["metrics"] = metrics
        if self.feasible_probability is not None:
            found["feasible_probability"] = self.feasible_probability
        if self.finish_probability is not None:
            found["finish_probability"] = self.finish_probability
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
    is_bounded = any(metric.is_bounded for metric in metrics)
    probabilities = found.feasible.tolist() if is_bounded else [None] * len(own)
    rows = zip(own, probabilities, *columns, strict=True)
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
    """Name -> prediction, without metrics that have no result yet."""
    return {name: each for name, each in zip(names, predictions, strict=True) if not math.isnan(each.mean)}


def in_units(found: Prediction, sign: float) -> list[Expected]:
    """Predictions of the engine, multiplied by ``sign``, without those of metrics."""
    mean, low, high = found.mean, found.lcb, found.ucb
    if sign < 0:
        mean, low, high = -mean, -high, -low
    columns = (mean.tolist(), found.std.tolist(), low.tolist(), high.tolist())
    return [Expected(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point to issue as a new trial."""

    parameters: dict[str, Any]
    origin: Literal["policy", "fallback"]
    cell: str | None = None
    capped: bool = False
    """As in ``engine.moves.Suggestion``."""
    phase: Phase | None = None
    expected: Expected | None = None
    """The prediction at the point, from the results alone; None if there is none."""
    fixed: dict[str, Any] | None = None
    """Fixed parameter values."""
    trust: dict[str, float] | None = None
    """Older study -> its weight in the model; None without older studies."""
    gap: float | None = None
    """The gap when the point was chosen; None if it was not known."""


@dataclass(frozen=True)
class Changed:
    """A parameter that differs from the baseline."""

    parameter: str
    baseline: Any
    value: Any
    gain: float
    """How much worse the objective is expected to be, in its units, if only this parameter is set to the baseline."""


@dataclass(frozen=True)
class Recommended:
    """A recommended point, in the objective's units and sign."""

    parameters: dict[str, Any]
    mean: float
    std: float
    expected: Expected | None
    """The prediction at the point, for its interval and metrics; None if it is not finite."""
    changes: list[Changed] | None = None
    """Differences from the baseline; None without a baseline."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A point that the engine chose, and the engine's state after it is issued."""

    proposal: Proposal
    state: Any
    cells: dict[str, str]
    point: Array


def fallbacks(
    connection: Connection,
    study: StudyRow,
    definition: StoredDefinition,
    count: int,
    before: Sequence[Proposal],
    within: Restriction,
    uncommitted: Iterable[dict[str, Any]] = (),
) -> list[Proposal]:
    """Quasi-random points for the next trials. Each is determined by the study's seed and the trial's number, so a
    repeated call draws the same points.

    In a finite space, known points (those of trials and results) are avoided where possible. If there are too few new
    points, known ones are repeated. With fixed parameters and no declared noise, fewer points are returned instead.

    Args:
        connection: a connection to the database.
        study: the row of the study.
        definition: its definition.
        count: number of the next trials.
        before: points for the first of these trials, which need no fallback.
        within: the restriction on the points.
        uncommitted: points of trials and results that are not in the database yet.
    """
    space = definition.space()
    fixed = within.after(before[0].parameters) if before else within.continued
    known: set[bytes] | None = None
    points: list[Proposal] = []
    for number in range(study.trials + 1 + len(before), study.trials + 1 + count):
        may_begin = within.plate is not None and not before and not points
        for given in (fixed, within.fixed) if may_begin else (fixed,):
            left = Slice(space, given or {})
            if known is None and math.isfinite(left.size):
                decided = {space.encode(point.parameters).tobytes() for point in before}
                known = _known(connection, study.id, space, uncommitted) | decided
            may_repeat = given is None or definition.declares_noise
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
    """A quasi-random point, (d,), of a slice, for the trial with this number. If no new point is found, a known point
    if ``may_repeat``, otherwise None. None also if the slice has no points."""
    if not left.size:  # no feasible point, or all rows of a catalogue are withdrawn
        return None
    for attempt in range(ATTEMPTS):
        drawn = left.drawn(seed, number + attempt * MAX_TRIALS)
        if drawn.tobytes() not in known:
            return drawn
    return drawn if may_repeat else None


def _known(connection: Connection, study_id: str, space: Space, uncommitted: Iterable[dict[str, Any]]) -> set[bytes]:
    issued = trials.page(connection, study_id, state=None, after=0, limit=MAX_COMPARED)
    evaluated = observations.page(connection, study_id, 0, MAX_COMPARED)
    points = [*(row.parameters for row in issued), *(row.parameters for row in evaluated), *uncommitted]
    positions = map(space.position, points)
    return {position.tobytes() for position in positions if position is not None}

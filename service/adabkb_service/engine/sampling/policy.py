"""Sampling without a model: the points of a study depend on its seed, and not on results.

With n results and issued points, the next suggestion is the first of the points n, n + 1, ... of a sequence that
satisfies the constraints and, unless points may be repeated, is new. So a replayed study has the same points, and
workers that request points at the same time get consecutive ones.

Predictions are the mean and the standard deviation of all results, everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record as results
from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.metrics import FEASIBLE, Measured
from adabkb_service.engine.moves import Suggestion, Update
from adabkb_service.engine.policy import GeneralPolicy
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record
from adabkb_service.engine.sampling.config import Config
from adabkb_service.engine.sampling.sobol import shifted_sobol
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]

TRIED = 2048
"""The number of points of the sequence that are tried to find a free one."""
LISTED = 100_000
"""If none of these is free, all points are searched, provided there are at most this many."""


@dataclass(frozen=True)
class State:
    """The state of a study."""

    space: Space
    config: Config
    seed: int
    record: Record

    @property
    def center_and_spread(self) -> tuple[float, float]:
        """Mean and standard deviation of the results; 0 and 1 before the first one."""
        values = self.record.values
        if not len(values):
            return 0.0, 1.0
        size = float(np.abs(values).max()) or 1.0  # scaled, so that no sum of squares overflows
        return float(np.mean(values / size)) * size, float(np.std(values / size)) * size


class Sampling(GeneralPolicy[Config, State]):
    """Random or quasi-random points."""

    def start(self, space: Space, config: Config, seed: int) -> State:
        """See ``Policy.start``."""
        return State(space, config, seed, results.empty(space.dimension))

    def restore(
        self,
        space: Space,
        config: Config,
        seed: int,
        record: Record,
        cells: Mapping[str, str],  # noqa: ARG002
        dictionary: Sequence[int],  # noqa: ARG002
        learned: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> State:
        """See ``Policy.restore``."""
        return State(space, config, seed, record)

    def suggestions(
        self, state: State, pending: Array, failed: Array | None = None, replaced: Array | None = None
    ) -> Iterator[Suggestion[State]]:
        """See ``Policy.suggestions``."""
        return self.suggestions_within(state, Slice(state.space, {}), pending, failed, replaced)

    def suggestions_within(
        self, state: State, within: Slice, pending: Array, failed: Array | None = None, replaced: Array | None = None
    ) -> Iterator[Suggestion[State]]:
        """See ``GeneralPolicy.suggestions_within``."""
        out = np.concatenate([each for each in (pending, failed, replaced) if each is not None])
        while not self.exhausted(state, out, within):
            point = _next(state, within, out)
            yield Suggestion(state, point, None, 0, {}, capped=False, phase="sample")
            out = np.concatenate([out, point[None]])

    def observe(
        self,
        state: State,
        point: Array,
        value: float,
        error: float = 0.0,
        metrics: Sequence[Measured] = (),  # noqa: ARG002
        plate: int | None = None,  # noqa: ARG002
    ) -> Update[State]:
        """See ``Policy.observe``."""
        return Update(replace(state, record=state.record.add(point, value, error)), {})

    def rebuild(self, state: State, record: Record, cells: Mapping[str, str]) -> Update[State]:  # noqa: ARG002
        """See ``Policy.rebuild``."""
        return Update(replace(state, record=record), {})

    def edited(self, state: State, space: Space, config: Config, record: Record) -> Update[State]:
        """See ``GeneralPolicy.edited``."""
        return Update(replace(state, space=space, config=config, record=record), dict(NEW_TREE))

    def dictionary(self, state: State) -> tuple[int, ...]:  # noqa: ARG002
        """Return no ordinals, since there is no model."""
        return ()

    def exhausted(
        self,
        state: State,
        issued: Array,
        within: Slice | None = None,
        failed: Array | None = None,  # noqa: ARG002
    ) -> bool:
        """See ``Policy.exhausted``: whether all points of a finite space were issued or evaluated."""
        within = within or Slice(state.space, {})
        if not within.size:  # no feasible point, or all rows of a catalogue are withdrawn
            return True
        if state.config.repeats or state.record.size + len(issued) < within.size:
            return False
        known = np.concatenate([state.record.positions, issued])
        return len(np.unique(known[within.offers(known)], axis=0)) >= within.size

    def report(self, state: State) -> Report:
        """See ``Policy.report``; there is no gap."""
        center, spread = state.center_and_spread
        return Report(
            gap=None,
            best_lcb=None,
            beta=0.0,
            leaves=1,
            depth=0,
            dictionary=0,
            basis=0,
            effective_dimension=0.0,
            points=state.record.points,
            observations=state.record.size,
            offset=center,
            scale=spread,
            clipped=0,
        )

    def predict(self, state: State, points: Array) -> Prediction:
        """Return the mean and the standard deviation of all results, for any point."""
        center, spread = state.center_and_spread
        mean, std = np.full(len(points), center), np.full(len(points), spread)
        return Prediction.normal(mean, std)

    def recommend(self, state: State, feasible: float = FEASIBLE) -> Recommendation | None:  # noqa: ARG002
        """Return the evaluated point with the best mean result; None before the first result."""
        record = state.record
        if not record.size:
            return None
        counts = np.bincount(record.ordinals)
        means = np.bincount(record.ordinals, weights=record.values / counts[record.ordinals])
        best = int(np.argmax(means))
        _, spread = state.center_and_spread
        return Recommendation(record.positions[record.first_rows()[best]], float(means[best]), spread)

    def recommend_within(self, state: State, within: Slice, feasible: float = FEASIBLE) -> Recommendation | None:  # noqa: ARG002
        """Return the best evaluated point of the slice or, without one, the best point of all, moved into the slice."""
        rows = np.flatnonzero(within.holds(state.record.positions))
        record = state.record
        found = self.recommend(replace(state, record=_rows(record, rows) if len(rows) else record))
        return found if found is None or len(rows) else replace(found, point=within.exact(found.point))

    def cell_box(self, state: State, key: str) -> CellBox:  # noqa: ARG002
        """Return the whole box, since there is no tree."""
        d = state.space.dimension
        return CellBox(np.zeros(d), np.ones(d), np.full(d, 0.5))


def _rows(record: Record, rows: NDArray[np.int64]) -> Record:
    return results.of(record.positions[rows], record.values[rows], record.errors[rows])


def _next(state: State, within: Slice, out: Array) -> Array:
    """Return the next point, (d,), given the issued points, (k, d). If none of ``TRIED`` points of the sequence is
    free, return a random free point of a small finite space, else a random point."""
    known = () if state.config.repeats else [*state.record.positions, *out]
    taken = {point.tobytes() for point in known}
    first, point = state.record.size + len(out), None
    for number in itertools.count(first):
        if number == first + TRIED:
            break
        point = _point(state, within, number)
        if point is not None and point.tobytes() not in taken:
            return point
    if within.size <= LISTED:
        free = [each for each in within.points[within.offers(within.points)] if each.tobytes() not in taken]
        if free:
            chosen: Array = free[int(uniforms(state.seed, first, 1)[0] * len(free))]
            return chosen
    return within.drawn(state.seed, first)


def _point(state: State, within: Slice, number: int) -> Array | None:
    """Return point ``number`` of the sequence, (d,); None if it is not feasible."""
    if state.config.design == "random":
        return within.drawn(state.seed, number)
    draws = shifted_sobol(state.seed, number, state.space.dimension)
    for k, axis in within.catalogues.items():
        offered = axis.table.offered
        draws[k] = axis.positions(offered[[int(draws[k] * len(offered))]])[0]
    point = within.exact(draws)
    return point if within.feasible is None or within.feasible.admits(point) else None


sampling = Sampling()

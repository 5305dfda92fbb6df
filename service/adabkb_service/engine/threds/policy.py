"""GP-ThreDS (Salgia, Vakili and Zhao 2021): threshold tests on a dyadic tree of cells, as in the code of its authors.

An epoch tests for each of its cells whether the objective exceeds a threshold tau in the cell. A test is GP-UCB on a
grid of the cell, with a Gaussian process of the results of this test only. A child of the cell, half as long per axis,
is accepted if a lower bound in it exceeds tau, or if ``patience`` results have brought no decision. The remaining
children are rejected once all their upper bounds are below tau by a margin. The accepted children are the cells of the
next epoch, and tau rises towards the largest possible value of the optimum. If no child was accepted, tau is lowered
and the same cells are tested again.

The implementation differs from the authors' code in two ways. The next point is chosen after a child was accepted,
among the remaining children, and not before. Bounds below 0 stay as they are; the authors' code replaces them.

A result outside the tested cell is recorded but does not affect the test.

Changed cells are reported with the next suggestion and not with the result that changes them, because a result may be
corrected before the next suggestion. So the reported cells are a function of the suggestions. When the tree has reached
its last level, no suggestion follows, and the result reports them.

A test runs ``ada_bkb`` on the fixed points of its grid, without a tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record as results
from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.cells import ROOT, child_keys, depth_of
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.engine.moves import Cells, Suggestion, Update
from adabkb_service.engine.paper import config as constants
from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper import report as reports
from adabkb_service.engine.paper.leaves import TIE
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.restore import restored
from adabkb_service.engine.paper.state import absorb, add_points
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.record import Record
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.engine.threds.config import Config
from adabkb_service.engine.threds.grid import box, new_test
from adabkb_service.engine.threds.state import State, Test

Array = NDArray[np.float64]

LARGEST = 1e100
"""Largest magnitude of a result, so that the sum of many squares does not overflow."""
STEP_BACK = 0.4
"""In the next epoch, the interval of tau begins at the last tau minus this factor times the first length of the
interval times 2^-depth."""


class GPThreDS(Policy[Config, State]):
    """GP-ThreDS. Points may be suggested repeatedly."""

    def start(self, space: Space, config: Config, seed: int) -> State:
        """The initial state: the root is being tested, and nothing is observed."""
        problem = constants.Problem(space, config.model, seed)
        nothing, test = results.empty(space.dimension), new_test(problem, config, ROOT)
        cells = {ROOT: "leaf"}
        return State(problem, config, nothing, config.lowest, config.highest, (ROOT,), (), 0, test, cells, cells)

    def restore(
        self,
        space: Space,
        config: Config,
        seed: int,
        record: Record,
        cells: Mapping[str, str],
        dictionary: Sequence[int],  # noqa: ARG002
        learned: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> State:
        """The state of a study, computed by observing its results one after the other. See ``Policy.restore``."""
        return self._replayed(self.start(space, config, seed), record, cells)

    def rebuild(self, state: State, record: Record, cells: Mapping[str, str]) -> Update[State]:
        """The state after a correction, with another record of results. See ``Policy.rebuild``."""
        blank = self.start(state.problem.space, state.config, state.problem.seed)
        return _reported_at_the_end(self._replayed(blank, record, cells))

    def suggestions(
        self,
        state: State,
        pending: Array,
        failed: Array | None = None,
        replaced: Array | None = None,  # noqa: ARG002
    ) -> Iterator[Suggestion[State]]:
        """See ``Policy.suggestions``. The iterator is endless: when the tree has reached its last level, the best
        evaluated point is repeated. Failed points are treated like pending ones."""
        cells = _changes(state)
        state = replace(state, reported={**state.reported, **cells})
        key = None if state.test is None else state.test.key
        for point in self._points(state, pending, failed):
            yield Suggestion(state, point, key, depth_of(key or ROOT), cells, capped=False)
            cells = {}

    def observe(
        self,
        state: State,
        point: Array,
        value: float,
        error: float = 0.0,
        metrics: object = (),  # noqa: ARG002
        plate: int | None = None,  # noqa: ARG002
    ) -> Update[State]:
        """Fold a result. It may end the test, and with it the epoch. Its standard error is not used.

        Raises:
            FloatingPointError: the magnitude of the value exceeds ``LARGEST``.
        """
        if abs(value) > LARGEST:
            raise FloatingPointError("results too large for floating point: rescale them")
        state = replace(state, record=state.record.add(point, value, error))
        test = state.test
        if test is None:
            return Update(state, {})
        low, high = box(test.key, len(point))
        if not ((low <= point) & (point <= high)).all():
            return Update(state, {})
        study, (where,) = add_points(test.study, point[None])
        study = absorb(study, where, value)
        test = replace(test, study=study, undecided=test.undecided + 1)
        return _reported_at_the_end(_decided(state, test))

    def dictionary(self, state: State) -> tuple[int, ...]:  # noqa: ARG002
        """No ordinals: the posterior is exact."""
        return ()

    def stopped(self, state: State) -> bool:
        """Whether the tree has reached its last level."""
        return state.test is None

    def exhausted(
        self,
        state: State,
        issued: Array,  # noqa: ARG002
        within: Slice | None = None,  # noqa: ARG002
        failed: Array | None = None,
    ) -> bool:
        """Return whether all points that remain in the test are among the failed ones. The test can then never end."""
        if state.test is None or failed is None or not len(failed):
            return False
        study = state.test.study
        left = study.points.positions.array[study.tree.point[study.tree.leaves]]
        return {point.tobytes() for point in left} <= {point.tobytes() for point in failed}

    def report(self, state: State) -> Report:
        """Statistics of the model of the current test. There is no gap."""
        study = None if state.test is None else state.test.study
        return Report(
            gap=None,
            best_lcb=None,
            beta=0.0 if study is None else study.summary.beta,
            leaves=len(state.cells),
            depth=depth_of(state.cells[0]),
            dictionary=0,
            basis=0 if study is None else len(study.gp.sketch.basis),
            effective_dimension=0.0 if study is None else study.summary.effective_dimension,
            points=state.record.points,
            observations=state.record.size,
            offset=0.0,
            scale=1.0,
            clipped=0 if study is None else study.clipped,
        )

    def predict(self, state: State, points: Array) -> Prediction:
        """The posterior at cube positions (k, d), given all results, not only those of the current test."""
        return reports.predict(_of_all_results(state), points)

    def recommend(self, state: State, feasible: float = FEASIBLE) -> Recommendation | None:  # noqa: ARG002
        """The evaluated point with the best posterior mean, given all results; None before the first result."""
        return reports.recommend(_of_all_results(state))

    def cell_box(self, state: State, key: str) -> CellBox:
        """The corners and the centroid of the cell with this key."""
        low, high = box(key, state.problem.space.dimension)
        return CellBox(low, high, state.problem.space.snap((low + high)[None] / 2)[0])

    def _points(self, state: State, pending: Array, failed: Array | None) -> Iterator[Array]:
        if state.test is None:
            best = self.recommend(state)
            assert best is not None, "only a result can end the last test"
            return itertools.repeat(best.point)
        return (suggestion.point for suggestion in ada_bkb.suggestions(state.test.study, pending, failed))

    def _replayed(self, state: State, record: Record, cells: Mapping[str, str]) -> State:
        """The state after these results, given the cells that have been reported."""
        for position, value, error in zip(record.positions, record.values, record.errors, strict=True):
            state = self.observe(state, position, float(value), float(error)).state
        return replace(state, reported=cells)


def _reported_at_the_end(state: State) -> Update[State]:
    """The update after a result. It reports changed cells only if no suggestion will follow."""
    if state.test is not None:
        return Update(state, {})
    cells = _changes(state)
    return Update(replace(state, reported={**state.reported, **cells}), cells)


def _changes(state: State) -> Cells:
    """The changes of cells that have not been reported. Reported cells that no longer exist after a correction are
    marked as pruned, since points were issued for them."""
    left = {key: "pruned" if status == "leaf" else status for key, status in state.reported.items()}
    now = left | {key: status for key, status in state.tree.items() if left.get(key) != "expanded"}
    return {key: status for key, status in now.items() if state.reported.get(key) != status}


def _decided(state: State, test: Test) -> State:
    """After a result, accept a child, reject all remaining children, or neither."""
    study = test.study
    points, summary = study.tree.point[study.tree.leaves], study.summary
    width = summary.beta * summary.deviation[points]
    side = 0.5 ** depth_of(test.key)
    if (summary.mean[points] + width).max() < state.tau - state.config.slack * side:
        return _concluded(state, test)
    lower = summary.mean[points] - width
    best = lower.max()
    if best <= state.tau and test.undecided < state.config.patience:
        return replace(state, test=test)
    low, high = box(test.key, state.problem.space.dimension)
    children = (study.points.positions.array[points] > (low + high) / 2) @ 2 ** np.arange(len(low))
    child = int(children[np.argmax(lower >= best - TIE * abs(best))])
    tree = study.tree.without(children == child)
    test = replace(test, study=replace(study, tree=tree), accepted=(*test.accepted, child), undecided=0)
    return replace(state, test=test) if tree.count else _concluded(state, test)


def _concluded(state: State, test: Test) -> State:
    """End the test, and after the last test of the epoch the epoch as well."""
    problem, config = state.problem, state.config
    children = child_keys(test.key, 2**problem.space.dimension)
    chosen = tuple(children[child] for child in sorted(test.accepted))
    found = {test.key: "expanded", **{key: "leaf" if key in chosen else "pruned" for key in children}}
    state = replace(state, chosen=state.chosen + chosen, tested=state.tested + 1, tree={**state.tree, **found})
    if state.tested == len(state.cells):
        state = _next_epoch(state)
    at_end = depth_of(state.cells[0]) >= config.max_depth
    return replace(state, test=None if at_end else new_test(problem, config, state.cells[state.tested]))


def _next_epoch(state: State) -> State:
    if not state.chosen:
        shift = (state.highest - state.lowest) / 2
        return replace(state, lowest=state.lowest - shift, highest=state.highest - shift, tested=0)
    halvings = depth_of(state.chosen[0])
    lowest = state.tau - STEP_BACK * 0.5**halvings * (state.config.highest - state.config.lowest)
    return replace(state, lowest=lowest, cells=state.chosen, chosen=(), tested=0)


def _of_all_results(state: State) -> ada_bkb_module.State:
    return restored(state.problem, state.record, {}, None)


gp_threds = GPThreDS()

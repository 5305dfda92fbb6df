"""GP-ThreDS (Salgia, Vakili and Zhao 2021): threshold tests down a dyadic tree, as the code of its authors has it.

An epoch tests each of its cells for whether the objective passes a threshold tau in it: a Gaussian process of the
test's own results alone, on a grid of the cell, is asked where its upper bound is largest, until each of the children,
half as long, is accepted (a lower bound passes tau, or ``patience`` results brought no decision) or what is left is
rejected (no upper bound comes near tau). The accepted children are the next epoch's cells and tau rises towards the
largest value that the optimum may have; if there are none, tau is lowered and the same cells are tested again.

Taken differently from their code: the next point is looked for after a child was accepted, among what is left, not
before; bounds below 0 count as they are. A result outside the cell under test is kept, but decides nothing.

What a result does to the cells is told with the next suggestion, so that the cells that are kept are a function of the
suggestions: a result may be corrected before anybody asks what to make of it. At the end of the tree no suggestion
follows, and the result itself tells.

A test is GP-UCB on fixed points: everything about it is ``ada_bkb``'s.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record as results
from adabkb_service.engine.answers import CellBox, Prediction, Recommendation, Report
from adabkb_service.engine.candidates import distinct, product
from adabkb_service.engine.cells import ROOT, child_keys, depth_of, path_of
from adabkb_service.engine.moves import Cells, Suggestion, Update
from adabkb_service.engine.paper import config as constants
from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper import report as reports
from adabkb_service.engine.paper.gp import sketched_gp
from adabkb_service.engine.paper.leaves import TIE, listed
from adabkb_service.engine.paper.points import none_yet
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.restore import restored
from adabkb_service.engine.paper.state import absorb, add_points, summarize
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space
from adabkb_service.engine.threds.state import Config, State, Test

Array = NDArray[np.float64]

LARGEST = 1e100
"""Of a result: the sum of many squares stays within floating point."""
STEP_BACK = 0.4
"""How far tau's interval begins below the last tau, as a share of its first length and per halving."""


def start(space: Space, config: Config, seed: int) -> State:
    """The root is to be tested, nothing is observed."""
    problem = constants.Problem(space, config.model, seed)
    nothing, test = results.empty(space.dimension), _new_test(problem, config, ROOT)
    cells = {ROOT: "leaf"}
    return State(problem, config, nothing, config.lowest, config.highest, (ROOT,), (), 0, test, cells, cells)


def restore(
    space: Space,
    config: Config,
    seed: int,
    record: Record,
    cells: Mapping[str, str],
    dictionary: Sequence[int],  # noqa: ARG001
    learned: Mapping[str, object] | None = None,  # noqa: ARG001
) -> State:
    """The state that the results gave, one after the other: O(T) steps."""
    return _replayed(start(space, config, seed), record, cells)


def rebuild(state: State, record: Record, cells: Mapping[str, str]) -> Update[State]:
    """The study with another record of results."""
    return _told(_replayed(start(state.problem.space, state.config, state.problem.seed), record, cells))


def suggestions(state: State, pending: Array, failed: Array | None = None) -> Iterator[Suggestion[State]]:
    """One point after the other, each pending for the next; without end. At the end of the tree, the best one.

    Args:
        state: of the study.
        pending: (k, d) cube positions of points handed out and not yet observed.
        failed: (f, d) those that could not be evaluated; they count as pending for ever.
    """
    cells = _changes(state)
    state = replace(state, kept={**state.kept, **cells})
    key = None if state.test is None else state.test.key
    for point in _points(state, pending, failed):
        yield Suggestion(state, point, key, depth_of(key or ROOT), cells, capped=False)
        cells = {}


def _points(state: State, pending: Array, failed: Array | None) -> Iterator[Array]:
    if state.test is None:
        best = recommend(state)
        assert best is not None, "the tree ends by results"
        return itertools.repeat(best.point)
    return (suggestion.point for suggestion in ada_bkb.suggestions(state.test.study, pending, failed))


def observe(state: State, point: Array, value: float, error: float = 0.0) -> Update[State]:
    """Take a result in; it may end the test, and that the epoch.

    Args:
        state: of the study.
        point: (d,) cube position of what was evaluated; any point of the space.
        value: the result, larger is better.
        error: its standard error, which is not used.

    Raises:
        FloatingPointError: the numbers are beyond what floating point can hold; the state is unchanged.
    """
    if abs(value) > LARGEST:
        raise FloatingPointError("results too large for floating point: rescale them")
    state = replace(state, record=state.record.add(point, value, error))
    test = state.test
    if test is None:
        return Update(state, {})
    low, high = _box(test.key, len(point))
    if not ((low <= point) & (point <= high)).all():
        return Update(state, {})
    study, (where,) = add_points(test.study, point[None])
    study = absorb(study, where, value)
    return _told(_judged(state, replace(test, study=study, waited=test.waited + 1)))


def dictionary(state: State) -> tuple[int, ...]:  # noqa: ARG001
    """None: the posterior is exact."""
    return ()


def stopped(state: State) -> bool:
    """Whether cells are as small as they may be."""
    return state.test is None


def report(state: State) -> Report:
    """The numbers of the current test. There is no certificate."""
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


def predict(state: State, points: Array) -> Prediction:
    """The posterior of all results, tests or not, at cube positions (k, d)."""
    return reports.predict(_of_all_results(state), points)


def recommend(state: State) -> Recommendation | None:
    """The evaluated point of best mean by all results; None before the first."""
    return reports.recommend(_of_all_results(state))


def cell_box(state: State, key: str) -> CellBox:
    """A cell's corners and centroid."""
    low, high = _box(key, state.problem.space.dimension)
    return CellBox(low, high, state.problem.space.snap((low + high)[None] / 2)[0])


def _replayed(state: State, record: Record, cells: Mapping[str, str]) -> State:
    """The state after these results, with these cells kept."""
    for position, value, error in zip(record.positions, record.values, record.errors, strict=True):
        state = observe(state, position, float(value), float(error)).state
    return replace(state, kept=cells)


def _told(state: State) -> Update[State]:
    """With what there is to tell now."""
    if state.test is not None:
        return Update(state, {})
    cells = _changes(state)
    return Update(replace(state, kept={**state.kept, **cells}), cells)


def _changes(state: State) -> Cells:
    """What is to be told of the cells. Those that there would not be without a result that was corrected count as
    pruned, but stay, as points were handed out for them."""
    left = {key: "pruned" if status == "leaf" else status for key, status in state.kept.items()}
    now = left | {key: status for key, status in state.tree.items() if left.get(key) != "expanded"}
    return {key: status for key, status in now.items() if state.kept.get(key) != status}


def _judged(state: State, test: Test) -> State:
    """After a result: accept a child, reject what is left, or neither."""
    study = test.study
    points, summary = study.tree.point[study.tree.leaves], study.summary
    width = summary.beta * summary.deviation[points]
    side = 0.5 ** depth_of(test.key)
    if (summary.mean[points] + width).max() < state.tau - state.config.slack * side:
        return _concluded(state, test)
    lower = summary.mean[points] - width
    best = lower.max()
    if best <= state.tau and test.waited < state.config.patience:
        return replace(state, test=test)
    low, high = _box(test.key, state.problem.space.dimension)
    children = (study.points.positions.array[points] > (low + high) / 2) @ 2 ** np.arange(len(low))
    child = int(children[np.argmax(lower >= best - TIE * abs(best))])
    tree = study.tree.without(children == child)
    test = replace(test, study=replace(study, tree=tree), accepted=(*test.accepted, child), waited=0)
    return replace(state, test=test) if tree.count else _concluded(state, test)


def _concluded(state: State, test: Test) -> State:
    """The test is over; with the last one the epoch is, too."""
    problem, config = state.problem, state.config
    children = child_keys(test.key, 2**problem.space.dimension)
    chosen = tuple(children[child] for child in sorted(test.accepted))
    found = {test.key: "expanded", **{key: "leaf" if key in chosen else "pruned" for key in children}}
    state = replace(state, chosen=state.chosen + chosen, tested=state.tested + 1, tree={**state.tree, **found})
    if state.tested == len(state.cells):
        state = _next_epoch(state)
    at_end = depth_of(state.cells[0]) >= config.max_depth
    return replace(state, test=None if at_end else _new_test(problem, config, state.cells[state.tested]))


def _next_epoch(state: State) -> State:
    if not state.chosen:
        shift = (state.highest - state.lowest) / 2
        return replace(state, lowest=state.lowest - shift, highest=state.highest - shift, tested=0)
    halvings = depth_of(state.chosen[0])
    lowest = state.tau - STEP_BACK * 0.5**halvings * (state.config.highest - state.config.lowest)
    return replace(state, lowest=lowest, cells=state.chosen, chosen=(), tested=0)


def _new_test(problem: constants.Problem, config: Config, key: str) -> Test:
    """A test without results; its grid's middle comes first."""
    space = problem.space
    low, high = _box(key, space.dimension)
    positions = distinct(space.snap(product(list(np.linspace(low, high, config.grid).T))))
    middle = (low + high) / 2
    first = int(np.argmin(np.abs(positions - middle).max(axis=1)))
    positions = np.concatenate([positions[[first]], np.delete(positions, first, axis=0)])
    points = none_yet(space.dimension).add(positions, problem.scaled(positions))
    gp = sketched_gp(problem, points, np.zeros(0, dtype=np.int64))
    study = ada_bkb_module.State(problem, listed(positions), points, gp, summarize(problem, points, gp))
    return Test(key, study)


def _box(key: str, dimension: int) -> tuple[Array, Array]:
    """Corners, (d,) each: bit k of a child's number says which half of axis k it is, 1 for the upper one."""
    low, side = np.zeros(dimension), 1.0
    for child in path_of(key)[1:]:
        side /= 2
        low += side * (child >> np.arange(dimension) & 1)
    return low, low + side


def _of_all_results(state: State) -> ada_bkb_module.State:
    return restored(state.problem, state.record, {}, None)


class GPThreDS(Policy[Config, State]):
    """GP-ThreDS; a grid's points may be repeated."""

    start = staticmethod(start)
    restore = staticmethod(restore)
    suggestions = staticmethod(suggestions)
    observe = staticmethod(observe)
    rebuild = staticmethod(rebuild)
    dictionary = staticmethod(dictionary)
    report = staticmethod(report)
    predict = staticmethod(predict)
    recommend = staticmethod(recommend)
    cell_box = staticmethod(cell_box)
    stopped = staticmethod(stopped)


gp_threds = GPThreDS()

"""Ada-BKB (paper, Algorithm 1), split at the evaluation: ``suggestions`` repeats lines 4-6 and 11 until a point must be
evaluated; ``observe`` performs the rest of lines 7-11 with the result.

The paper leaves some questions open and contradicts itself on others; docs/algorithm.md lists all answers. Line 5 also
applies to the root, where the prior's s is 1 / sqrt(lambda). The index uses the parent's current bound. The leaf that
contains the incumbent is never pruned. Among leaves with equal indices the shallowest wins, then the one with the
smallest path. A suggestion takes at most ``MAX_EXPANSIONS`` expansions; one that reaches them is ``capped``.

Pending points are treated as in GP-BUCB (Desautels et al. 2014): they reduce the variance as if they had been observed,
and leave the mean unchanged. Without pending points, every step is the paper's. With them, a leaf whose point is
pending is expanded, so that its point is not issued twice. A point is repeated only if all leaves are pending and at
h_max.

The algorithms that the paper compares Ada-BKB with are variants of it (``Config``). Without the sketch (qbar is
infinite), without pruning and with its own V_h, it is Ada-GP-UCB. With fixed points as leaves and V_h = 0, nothing is
expanded or pruned: this is BKB or Random-BKB, and without the sketch GP-UCB. ``batch_drift`` makes it Ada-BBKB, which
the paper names in its outlook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.cells import child_keys
from adabkb_service.engine.moves import Cells, Suggestion, Update
from adabkb_service.engine.paper import index
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.gp import SketchedGP
from adabkb_service.engine.paper.leaves import TIE
from adabkb_service.engine.paper.points import Points
from adabkb_service.engine.paper.report import cell_box, learned, predict, recommend, report
from adabkb_service.engine.paper.restore import dictionary, rebuild, restore, start
from adabkb_service.engine.paper.state import State, absorb, add_points, expand, prune
from adabkb_service.engine.policy import Policy

__all__ = ["MAX_EXPANSIONS", "Config", "State", "Suggestion", "Update", "ada_bkb"]

Array = NDArray[np.float64]

MAX_EXPANSIONS = 100
"""The maximum number of cells that one suggestion expands."""


class AdaBKB(Policy[Config, State]):
    """Ada-BKB with given constants, and its variants. Points may be suggested repeatedly."""

    start = staticmethod(start)
    restore = staticmethod(restore)
    rebuild = staticmethod(rebuild)
    dictionary = staticmethod(dictionary)
    learned = staticmethod(learned)
    report = staticmethod(report)
    predict = staticmethod(predict)
    recommend = staticmethod(recommend)
    cell_box = staticmethod(cell_box)

    def suggestions(
        self,
        state: State,
        pending: Array,
        failed: Array | None = None,
        replaced: Array | None = None,  # noqa: ARG002
    ) -> Iterator[Suggestion[State]]:
        """See ``Policy.suggestions``. The iterator is endless, and failed points stay pending."""
        pending = pending if failed is None else np.concatenate([pending, failed])
        state, pending_points = add_points(state, pending)
        fantasized = _with_pending_observed(state.gp, state.points, pending_points)
        while True:
            suggestion, fantasized = _refine(state, fantasized, pending_points)
            yield suggestion
            state, (point,) = add_points(suggestion.state, suggestion.point[None])
            fantasized = _with_pending_observed(fantasized, state.points, [point])
            pending_points = [*pending_points, point]

    def observe(
        self,
        state: State,
        point: Array,
        value: float,
        error: float = 0.0,  # noqa: ARG002
        metrics: Sequence[object] = (),  # noqa: ARG002
        plate: int | None = None,  # noqa: ARG002
    ) -> Update[State]:
        """Fold a result: update the posterior, the dictionary, beta and l*, and prune. The standard error of the result
        is ignored.

        Raises:
            FloatingPointError: the model would exceed floating point with this result.
        """
        state, (where,) = add_points(state, point[None])
        state = absorb(state, where, value)
        if not (np.isfinite(state.summary.mean).all() and np.isfinite(state.summary.beta)):
            raise FloatingPointError("results too large for floating point: rescale them, or use standardized outputs")
        state, pruned = prune(state)
        return Update(state, dict.fromkeys(pruned, "pruned"))

    def stopped(self, state: State) -> bool:
        """The paper's early stop (line 12): no leaf is left, or only one at h_max."""
        tree = state.tree
        if not len(state.points.values):
            return False
        return tree.count == 0 or (tree.count == 1 and int(tree.depth[tree.leaves[0]]) >= state.problem.max_depth)

    def cell_indices(self, state: State, keys: Sequence[str]) -> Array:
        """I_t of cells, (k,), in the user's units. NaN for cells that are not leaves, and if the index is the expected
        improvement."""
        tree, summary = state.tree, state.summary
        if tree.listed or state.problem.config.index != "ucb":
            return np.full(len(keys), np.nan)
        values = summary.offset + summary.scale * _index(state, summary.deviation)
        found = dict(zip(tree.keys[tree.leaves].tolist(), values.tolist(), strict=True))
        return np.array([found.get(key, np.nan) for key in keys])


def _refine(state: State, fantasized: SketchedGP, pending_points: list[int]) -> tuple[Suggestion[State], SketchedGP]:
    """Lines 4-6 and 11, until a point must be evaluated.

    Args:
        state: the state of the study.
        fantasized: posterior as if the pending points had been observed.
        pending_points: ids of the pending points.

    Returns:
        The suggestion, and ``fantasized`` with the points of the new cells.
    """
    cells: Cells = {}
    for _ in range(MAX_EXPANSIONS):
        leaf, repeat = _choose(state, fantasized, pending_points)
        if leaf is None or not _expands(state, fantasized, leaf, repeat):
            return _suggestion(state, leaf, cells, capped=False), fantasized
        known = state.points.size
        key = str(state.tree.keys[leaf])
        state = expand(state, leaf)
        fantasized = fantasized.add(state.points.scaled.array[known:]) if pending_points else state.gp
        cells[key] = "expanded"
        cells.update(dict.fromkeys(child_keys(key, state.problem.config.branching), "leaf"))
        state, pruned = prune(state)
        cells.update(dict.fromkeys(pruned, "pruned"))
    return _suggestion(state, _choose(state, fantasized, pending_points)[0], cells, capped=True), fantasized


def _with_pending_observed(gp: SketchedGP, points: Points, pending_points: list[int]) -> SketchedGP:
    """The posterior as if these points (ids) had been added to the dictionary and observed once more."""
    new = np.setdiff1d(np.array(pending_points, dtype=np.int64), gp.sketch.dictionary)
    if len(new):
        gp = gp.include(new, points)
    for point in pending_points:
        gp = gp.observe(point)
    return gp


def _choose(state: State, fantasized: SketchedGP, pending_points: list[int]) -> tuple[int | None, bool]:
    """Line 4: the leaf with the largest index (None if no leaf is left), and whether its point is pending.

    Leaves that are pending and cannot be expanded are skipped, unless all leaves are of this kind.
    """
    tree = state.tree
    if not tree.count:
        return None, False
    deviation = np.sqrt(fantasized.posterior.variance()) if pending_points else state.summary.deviation
    values = _index(state, deviation)
    if not pending_points:
        return index.best(tree, values), False
    pending = np.isin(tree.point[tree.leaves], pending_points)
    deepest = tree.depth[tree.leaves] >= state.problem.max_depth
    free = ~(pending & deepest)
    leaf = index.best(tree, values, free if free.any() else None)
    return leaf, bool(np.isin(tree.point[leaf], pending_points))


def _index(state: State, deviation: Array) -> Array:
    """The index of every leaf, (L,). ``deviation``, (P,), is the posterior standard deviation with the pending
    points observed, divided by sqrt(lambda)."""
    summary, config = state.summary, state.problem.config
    if config.index == "ucb" or summary.incumbent is None:
        return index.indices(state.tree, summary.mean + summary.beta * deviation)
    best = float(summary.mean[state.points.evaluated].max())
    return index.expected_improvements(state.tree, summary.mean, np.sqrt(config.ridge) * deviation, best)


def _expands(state: State, fantasized: SketchedGP, leaf: int, repeat: bool) -> bool:
    """Line 5: whether to expand a leaf, since beta s <= V_h and h < h_max. If ``repeat``, its point is pending; it is
    then expanded for any s."""
    tree = state.tree
    if tree.depth[leaf] >= state.problem.max_depth:
        return False
    if repeat:
        return True
    point = tree.point[leaf]
    if state.problem.config.chaining is not None and not len(state.points.values):
        return False  # Ada-GP-UCB evaluates the root first
    deviation = np.sqrt(max(fantasized.posterior.raw_variance()[point], 0.0))
    bound = tree.variation[leaf]
    return bool(state.summary.beta * deviation <= bound * (1.0 + TIE))


def _suggestion(state: State, leaf: int | None, cells: Cells, *, capped: bool) -> Suggestion[State]:
    tree, positions = state.tree, state.points.positions.array
    if leaf is None:
        incumbent = 0 if state.summary.incumbent is None else state.summary.incumbent
        return Suggestion(state, positions[incumbent], None, 0, cells, capped)
    return Suggestion(
        state,
        positions[tree.point[leaf]],
        None if tree.listed else str(tree.keys[leaf]),
        int(tree.depth[leaf]),
        cells,
        capped,
    )


ada_bkb = AdaBKB()

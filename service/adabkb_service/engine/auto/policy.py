"""Ada-BKB with learned hyperparameters: the ``auto`` profile.

The algorithm is a loop that the service cuts into three moves, because the evaluation happens elsewhere:

``suggest``: condition the posterior on pending points as if they had been observed at their means; find the position
    x* with the largest upper confidence bound f~ = mean + beta s in the whole box (``search``); cut the tree around x*
    until the centroid of the cell that holds it is almost as good (``refine``). That centroid is the suggestion.
``observe``: condition the posterior on the result. At geometrically growing counts of results a checkpoint is due: the
    hyperparameters are learned anew, cells are pruned, and the gap is certified (``learning``, ``certificate``). It
    takes effect with the next result.
``prepare``: compute a checkpoint that is due ahead of that result, while a worker evaluates. It changes no answer.

A failed point counts as a vague result on the worse side of the record: its region loses what made it attractive, but a
single failure does not close it. No point is suggested twice, except as a replicate where results are declared to be
noisy. docs/algorithm.md describes the parts, docs/decisions/0005 says how the constants were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine import record as records
from adabkb_service.engine.answers import CellBox
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.learning import learn_at_once, learn_behind, prepare, prepared_alike
from adabkb_service.engine.auto.refine import TOLERANCE, Refined, UpperBound, refine
from adabkb_service.engine.auto.report import dictionary, learned, predict, recommend, report
from adabkb_service.engine.auto.restore import marks_changed, rebuild, restore, start
from adabkb_service.engine.auto.search import maximize_ucb
from adabkb_service.engine.auto.state import State, incumbent
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.tree import LEAF, PRUNED, Tree, box_of, part_name
from adabkb_service.engine.auto.warp import Warp
from adabkb_service.engine.moves import Cells, Suggestion, Update
from adabkb_service.engine.policy import Policy

__all__ = ["Config", "State", "auto"]

Array = NDArray[np.float64]

EARLY_BETA, EARLY_STEPS = 1.5, 20
"""Confidence width of the first steps: with a small budget, exploration at larger widths costs too much."""
BETAS = (0.5, 1.5, 1.5, 3.0)
"""Confidence widths of the search from then on, in turn: from greedy to curious."""
THINNED_BETA = 2.0
"""Confidence width of the curious steps once the search has stalled, which use the model of thinned data."""
FAILED_QUANTILE = 0.25
"""Quantile of the results so far that a failed point counts as."""
FAILED_NOISE = 0.1
"""Noise ratio of a failed point."""


def suggestions(state: State, pending: Array, failed: Array | None = None) -> Iterator[Suggestion[State]]:
    """One point after the other, each pending for the next; ends when every point of a finite space is taken.

    Args:
        state: of the study.
        pending: (k, d) cube positions of points handed out and not yet observed.
        failed: (f, d) those that could not be evaluated.
    """
    failed = np.zeros((0, state.problem.space.dimension)) if failed is None else failed
    view = _with_pending_observed(_with_failures_imputed(state.surrogate, state.warp, state, failed), state, pending)
    while not exhausted(state, np.concatenate([pending, failed])):
        suggestion = _decide(state, view, pending, failed)
        yield suggestion
        state, point = suggestion.state, suggestion.point[None]
        view = _with_pending_observed(view, state, point)
        pending = np.concatenate([pending, point])


def observe(state: State, point: Array, value: float, error: float = 0.0) -> Update[State]:
    """Fold a result in.

    Args:
        state: of the study.
        point: (d,) cube position of what was evaluated; any point of the space.
        value: the result, larger is better.
        error: its standard error in the user's units; 0 if unknown.

    Raises:
        FloatingPointError: the numbers are beyond what floating point can hold; the state is unchanged.
    """
    learn = learn_at_once if state.problem.config.revision == 1 else learn_behind
    after = learn(state, point, value, error)
    return Update(after, marks_changed(state.tree, after.tree))


def exhausted(state: State, awaited: Array) -> bool:
    """Whether every point of a finite space is evaluated or awaited (k, d), and repeats are of no use."""
    size = state.problem.domain.size
    if state.declares_noise or state.record.size + len(awaited) < size:
        return False
    return len(np.unique(np.concatenate([state.record.positions, awaited]), axis=0)) >= size


def cell_box(state: State, key: str) -> CellBox:
    """A cell's corners and centroid."""
    box = box_of(state.problem.domain, key)
    return CellBox(*box.ends(), box.centroid())


def _decide(state: State, view: Surrogate, pending: Array, failed: Array) -> Suggestion[State]:
    """The next point: search for the largest upper confidence bound, then refine the tree there."""
    problem, record = state.problem, state.record
    awaited = np.concatenate([pending, failed])
    step = record.size + len(awaited)
    beta = EARLY_BETA if step < EARLY_STEPS else BETAS[step % len(BETAS)]
    thinned = state.checkpoint.thinned
    if thinned is not None and beta == max(BETAS):
        beta = THINNED_BETA
        view = _with_pending_observed(
            _with_failures_imputed(*thinned.surrogate(problem, record), state, failed), state, pending
        )

    def evaluated(point: Array) -> bool:
        return records.holds(record.positions, point)

    def handed_out(point: Array) -> bool:
        return records.holds(awaited, point)

    def taken(point: Array) -> bool:
        return evaluated(point) or handed_out(point)

    def barred(point: Array) -> bool:
        return handed_out(point) or (evaluated(point) and not state.declares_noise)

    best = incumbent(state)
    around = None if best is None else record.positions[best]
    target = maximize_ucb(problem.domain, view, beta, around, (problem.seed, step), barred)
    tolerance = TOLERANCE * beta * float(view.mean_and_std(target[None])[1][0])
    found = refine(state.tree, problem.root, target, tolerance, UpperBound(view, beta), taken)
    tree, key, cells = _cells_changed(found)
    return Suggestion(replace(state, tree=tree), found.point, key, key.count("."), cells, found.capped)


def _cells_changed(found: Refined) -> tuple[Tree, str, Cells]:
    """The tree, the key of the cell found, and the statuses that the cuts and the choice of it changed."""
    tree, cells = found.tree, {}
    key = tree.key(found.cuts[0].cell if found.cuts else found.cell)
    if tree.axis[found.cell] == PRUNED:  # the search contradicts the certificate, and wins
        tree, cells[key] = tree.mark(np.array([found.cell]), LEAF), "leaf"
    entered = [*(cut.cell for cut in found.cuts), found.cell][1:]
    for cut, child in zip(found.cuts, entered, strict=True):
        names = [f"{key}.{part_name(cut.axis, part)}" for part in range(cut.parts)]
        cells[key] = "expanded"
        cells.update(dict.fromkeys(names, "leaf"))
        key = names[tree.part[child]]
    return tree, key, cells


def _with_pending_observed(view: Surrogate, state: State, points: Array) -> Surrogate:
    """The posterior as if these points had been observed at their means: the variance falls, the mean stays.

    One by one, so that points asked for together are those that would have been asked for in turn, bit for bit.
    """
    noise = np.array([state.checkpoint.hyperparameters.noise_ratio])
    for point in points:
        view = view.condition(point[None], None, noise)
    return view


def _with_failures_imputed(view: Surrogate, warp: Warp, state: State, failed: Array) -> Surrogate:
    """The posterior with the failed points as vague results on the worse side of the record."""
    if not len(failed):
        return view
    values = state.record.values
    imputed = np.quantile(values, FAILED_QUANTILE, keepdims=True) if len(values) else np.array([-1.0])
    outputs = np.repeat(warp.forward(imputed), len(failed))
    return view.condition(failed, outputs, np.full(len(failed), FAILED_NOISE))


class Auto(Policy[Config, State]):
    """The ``auto`` profile; it never stops by itself."""

    start = staticmethod(start)
    restore = staticmethod(restore)
    suggestions = staticmethod(suggestions)
    observe = staticmethod(observe)
    prepare = staticmethod(prepare)
    prepared_alike = staticmethod(prepared_alike)
    rebuild = staticmethod(rebuild)
    dictionary = staticmethod(dictionary)
    learned = staticmethod(learned)
    exhausted = staticmethod(exhausted)
    report = staticmethod(report)
    predict = staticmethod(predict)
    recommend = staticmethod(recommend)
    cell_box = staticmethod(cell_box)


auto = Auto()

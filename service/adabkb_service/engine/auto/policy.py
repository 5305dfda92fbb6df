"""Ada-BKB with learned hyperparameters: the ``auto`` profile.

The algorithm is a loop that the service cuts into three moves, because workers do the evaluation:

``suggest``: condition the posterior on pending points as if they had been observed at their means; find the position
    x* with the largest upper confidence bound f~ = mean + beta s in the whole box (``search``); cut the tree around x*
    until the centroid of the cell that holds it is almost as good (``refine``). That centroid is the suggestion.
``observe``: condition the posterior on the result. At geometrically growing counts of results a checkpoint is due: the
    hyperparameters are learned anew, cells are pruned, and the gap is certified (``learning``, ``certificate``). It
    takes effect with the next result.
``prepare``: compute a checkpoint that is due ahead of that result, while a worker evaluates. It changes no answer.

Once the search has stalled, two of three suggestions belong to restarts, which look elsewhere (``restarts``).

No point is suggested twice, except as a replicate where results are declared to be noisy. docs/algorithm.md describes
the parts, docs/decisions/0005 says how the constants were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox
from adabkb_service.engine.auto import betas, restarts
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.constrained import without_infeasible
from adabkb_service.engine.auto.front import front
from adabkb_service.engine.auto.handed_out import (
    HandedOut,
    Imagined,
    aware,
    handed_out,
    imagined,
    is_taken,
)
from adabkb_service.engine.auto.learning import learn, learns_next, prepare, prepared_alike
from adabkb_service.engine.auto.likelihood import FEWEST
from adabkb_service.engine.auto.objectives import best_row, contenders
from adabkb_service.engine.auto.outcomes import IndexBound, View, in_turn, trust_of
from adabkb_service.engine.auto.refine import TOLERANCE, UpperBound, cells_changed, refine
from adabkb_service.engine.auto.report import (
    cell_indices,
    dictionary,
    learned,
    mean,
    of_metric,
    predict,
    recommend,
    report,
)
from adabkb_service.engine.auto.restarts import FIRST, PERIOD, Restart, fails, is_apart
from adabkb_service.engine.auto.restore import edited, marks_changed, rebuild, restore, start
from adabkb_service.engine.auto.search import Search, maximize_ucb, scattered
from adabkb_service.engine.auto.state import State, incumbent
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.tree import box_of
from adabkb_service.engine.metrics import Measured
from adabkb_service.engine.moves import Phase, Suggestion, Update
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.slices import Slice

__all__ = ["Config", "State", "auto"]

Array = NDArray[np.float64]


def suggestions(
    state: State, pending: Array, failed: Array | None = None, moved: Array | None = None
) -> Iterator[Suggestion[State]]:
    """One point after the other, each pending for the next; ends when every point of a finite space is taken.

    Args:
        state: of the study.
        pending: (k, d) cube positions of points handed out and not yet observed.
        failed: (f, d) those that could not be evaluated.
        moved: (m, d) those in whose place another point was evaluated.
    """
    out = handed_out(state, pending, failed, moved)
    search: Imagined | None = None
    restart: tuple[Restart, Imagined] | None = None
    while not exhausted(state, out.positions):
        if state.restarted_at is None or _step(state, out) % PERIOD == 0:
            search = search or imagined(state, state.surrogate, state.warp, state.record.values, out)
            suggestion = _decide(state, search.view, out)
        else:
            restart = restart or _restart(state, state.restarted_at, out)
            suggestion = _decide_elsewhere(state, restart[0], restart[1].view, out)
        yield suggestion
        state, out = suggestion.state, out.pending_too(suggestion.point)
        search = search and search.pending_too(state, out.pending)
        restart = restart and (restart[0], restart[1].pending_too(state, out.pending))


def suggestions_within(
    state: State, within: Slice, pending: Array, failed: Array | None = None, moved: Array | None = None
) -> Iterator[Suggestion[State]]:
    """As ``suggestions``, but of points of a slice: each is where the bound is largest there.

    No cell is cut for it, since the centroids of cells do not lie in the slice, and a stalled search does not restart.
    """
    out = handed_out(state, pending, failed, moved)
    search = imagined(state, state.surrogate, state.warp, state.record.values, out)
    while not exhausted(state, out.positions, within):
        step = _step(state, out)
        seen = in_turn(search.view, state.problem.seed, step)
        beta = betas.beta(step, several=state.problem.has_several)
        point = within.exact(_largest(state, seen, beta, _best_within(state, seen, within), out, within))
        phase = _phase(state, best_row(state, seen), point, beta)
        yield Suggestion(state, point, None, 0, {}, capped=False, phase=phase, trust=trust_of(seen))
        out = out.pending_too(point)
        search = search.pending_too(state, out.pending)


def observe(
    state: State, point: Array, value: float, error: float = 0.0, metrics: Sequence[Measured] = ()
) -> Update[State]:
    """Fold a result in.

    Args:
        state: of the study.
        point: (d,) cube position of what was evaluated; any point of the space.
        value: the result, larger is better.
        error: its standard error in the user's units; 0 if unknown.
        metrics: what it measures of each metric of the study.

    Raises:
        FloatingPointError: the numbers are beyond what floating point can hold; the state is unchanged.
    """
    record = state.record.add(point, value, error, metrics)
    ready = prepare(state) if metrics else state  # by the metrics' results so far, however early it is done
    measured = tuple(learn(each, its_record) for each, its_record in zip(ready.metrics, record.metrics, strict=True))
    after = learn(replace(ready, metrics=measured), record)
    return Update(after, marks_changed(state.tree, after.tree))


def exhausted(
    state: State,
    handed_out: Array,
    within: Slice | None = None,
    failed: Array | None = None,  # noqa: ARG001
) -> bool:
    """Whether every point of a finite space, or slice, is evaluated or was handed out (k, d), and repeats are of no
    use."""
    within = within or state.problem.domain.whole
    if state.declares_noise or state.record.size + len(handed_out) < within.size:
        return False
    known = np.concatenate([state.record.positions, handed_out])
    return len(np.unique(known[within.holds(known)], axis=0)) >= within.size


def cell_box(state: State, key: str) -> CellBox:
    """A cell's corners and centroid."""
    box = box_of(state.problem.domain, key)
    return CellBox(*box.ends(), box.centroid())


def _decide(state: State, view: View, out: HandedOut) -> Suggestion[State]:
    """The next point of the search."""
    step, record = _step(state, out), state.record
    view = in_turn(view, state.problem.seed, step)
    beta = (
        betas.beta(step, several=state.problem.has_several)
        if state.restarted_at is None
        else betas.BETAS[step // PERIOD % len(betas.BETAS)]
    )
    thinned = state.checkpoint.thinned
    if thinned is not None and beta == max(betas.BETAS):
        beta, view = betas.THINNED, aware(state, *thinned.surrogate(state.problem, record), record.values, out)
    best = best_row(state, view)
    target = _largest(state, view, beta, None if best is None else record.positions[best], out)
    found = _refined(state, view, beta, target, out)
    return replace(found, phase=_phase(state, best, found.point, beta), trust=trust_of(view))


def _phase(state: State, best: int | None, point: Array, beta: float) -> Phase:
    """What a point, (d,), that the search has chosen with this confidence width is for, beside the best row."""
    if best is None or state.record.size < FEWEST:
        return "start"
    if not is_apart(point[None], state.record.positions[best], state.problem.domain.categorical)[0]:
        return "polish"
    return "explore" if beta >= betas.THINNED else "search"


def _decide_elsewhere(state: State, restart: Restart, view: View, out: HandedOut) -> Suggestion[State]:
    """The next point of a restart: where its bound is largest, or a random one."""
    view, categorical = in_turn(view, state.problem.seed, _step(state, out)), state.problem.domain.categorical
    size = restart.size(out.pending, categorical)
    beta = betas.beta(size)
    at_edges = bool(state.problem.space.constraints) and state.problem.config.restarts_at_edges
    tolerance = 0.0 if at_edges else TOLERANCE  # a centroid is never at an edge
    if size >= FIRST:
        target = _largest(state, view, beta, restart.best, out)
        if is_apart(target[None], restart.avoided, categorical)[0]:
            return replace(_refined(state, view, beta, target, out, tolerance), phase="restart")
    random = _random(state, out)
    if random is None:
        random = _largest(state, view, beta, restart.best, out)
    return replace(_refined(state, view, beta, random, out, tolerance), phase="restart")


def _restart(state: State, start: int, out: HandedOut) -> tuple[Restart, Imagined]:
    """The present restart, and what it sees, which takes account of failed and pending points, too."""
    restart = restarts.restart(state.problem, state.record, start, state.record.positions[incumbent(state)])
    return restart, imagined(state, restart.posterior, restart.warp, state.record.values[restart.rows], out)


def _random(state: State, out: HandedOut) -> Array | None:
    """A random position, (d,), that is free and not where evaluations fail; None if none is found."""
    positions, taken = state.record.positions, is_taken(state.record.positions, out.positions)
    return scattered(
        state.problem.domain,
        (state.problem.seed, _step(state, out)),
        lambda point: taken(point) or fails(point, positions, out.failed),
        to_edges=state.problem.config.restarts_at_edges,
    )


def _step(state: State, out: HandedOut) -> int:
    """Number of the decision: of the results, pending and failed points before it."""
    return state.record.size + len(out.pending) + len(out.failed)


def _largest(
    state: State, view: View, beta: float, around: Array | None, out: HandedOut, within: Slice | None = None
) -> Array:
    """Where the upper confidence bound is largest, in a slice if there is one, but for points that are out of the
    question. In the whole space, the first steps go where conditions make a branch that is untried."""
    problem, record = state.problem, state.record
    barred = is_taken(out.positions) if state.declares_noise else is_taken(record.positions, out.positions)
    early = within is None and _step(state, out) < betas.EARLY_STEPS
    untried = problem.domain.activity.untried(np.concatenate([record.positions, out.positions])) if early else None
    out_of_question = barred if untried is None else lambda point: barred(point) or not untried(point)
    draw = (problem.seed, _step(state, out))
    domain = problem.domain
    return maximize_ucb(Search(domain, within or domain.whole, view, beta, around, draw, out_of_question))


def _best_within(state: State, view: View, within: Slice) -> Array | None:
    """The position (d,) of best posterior mean among the best results moved into a slice; None before the first
    result."""
    rows = contenders(state)
    if not len(rows):
        return None
    moved = within.put(state.record.positions[rows])
    best: Array = moved[np.argmax(view.mean(moved))]
    return best


def _refined(
    state: State, view: View, beta: float, target: Array, out: HandedOut, tolerance: float = TOLERANCE
) -> Suggestion[State]:
    """The centroid of a cell that is as good as the target but for a tolerance, in beta s: the tree is cut there."""
    tolerance *= beta * float(view.mean_and_std(target[None])[1][0])
    taken = is_taken(state.record.positions, out.positions)
    bound = UpperBound(view, beta) if isinstance(view, Surrogate) else IndexBound(view, beta)
    found = refine(state.tree, state.problem.root, target, tolerance, bound, taken)
    tree, key, cells = cells_changed(found)
    if state.problem.space.constraints:
        leaves = [each for each, status in cells.items() if status == "leaf"]
        tree, infeasible = without_infeasible(state.problem.domain, tree, leaves)
        cells.update(dict.fromkeys(infeasible, "pruned"))
    return Suggestion(replace(state, tree=tree), found.point, key, key.count("."), cells, found.capped)


class Auto(Policy[Config, State]):
    """The ``auto`` profile; it never stops by itself."""

    start = staticmethod(start)
    restore = staticmethod(restore)
    suggestions = staticmethod(suggestions)
    suggestions_within = staticmethod(suggestions_within)
    observe = staticmethod(observe)
    learns_next = staticmethod(learns_next)
    prepare = staticmethod(prepare)
    prepared_alike = staticmethod(prepared_alike)
    rebuild = staticmethod(rebuild)
    edited = staticmethod(edited)
    dictionary = staticmethod(dictionary)
    learned = staticmethod(learned)
    exhausted = staticmethod(exhausted)
    report = staticmethod(report)
    predict = staticmethod(predict)
    mean = staticmethod(mean)
    recommend = staticmethod(recommend)
    front = staticmethod(front)
    of_metric = staticmethod(of_metric)
    cell_box = staticmethod(cell_box)
    cell_indices = staticmethod(cell_indices)


auto = Auto()

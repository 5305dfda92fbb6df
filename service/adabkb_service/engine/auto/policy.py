"""Ada-BKB with learned hyperparameters: the ``auto`` profile.

The algorithm's loop is split into three methods, because workers evaluate the points. The model process calls them
(``inference/model.py``, ``inference/decisions.py``), after the server has stored and acknowledged the result.

``suggestions``: Condition the posterior on pending points as if they had been observed at their means. Find the
    position x* with the largest upper confidence bound f~ = mean + beta s in the whole box (``largest``), where beta
    is the width of the step (``widths``). Cut the tree around x* until the centroid of the cell that contains x* is
    almost as good (``refine``). That centroid is the suggestion.
``observe``: Condition the posterior on the result. When a tenth of the results is new, or after an outlier, a
    checkpoint is due: the hyperparameters are learned again (``learning``), and cells that cannot contain the optimum
    are marked as pruned (``pruning``). Only reports use these marks. Hyperparameters fitted to the first n results
    take effect when result n + 1 arrives; with up to 20 results, already when result n arrives.
``prepare``: Compute a due checkpoint and, in a second call, its gap, while a worker evaluates the next point. Without
    these calls, all answers would be the same, but slower.

If equal results show that the objective has steps, points on a known step are excluded (``plateaus``). x* itself is
suggested instead of a centroid in three cases: if the objective has steps; if results seem noisy and beta is below
``betas.EXPLORING``; and in a space with categories that is searched exhaustively.

Some suggestions come from a quadratic model of the best results, which locates an optimum precisely (``quadratic``,
``turns``), unless results are noisy.

The search has stalled if it brought no gain for 20 results (or for 5 per relevant axis, if that is more), or if several
results near the best point are equally good. Then two suggestions in three belong to a *restart*. It uses the same
tree, but a posterior conditioned only on results that came since the restart began and are not near the best point
(``restarts``). Slices and studies with several objectives use neither the quadratic model nor restarts.

No point is suggested twice, except as a replicate (if results are declared to be noisy, or to check a doubted result:
see ``doubts``), or if the search finds no new point. docs/algorithm.md describes the parts, docs/decisions/0005 the
choice of constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import CellBox
from adabkb_service.engine.auto import learning
from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.acquisition.issued import (
    Issued,
    SearchView,
    is_known,
    is_taken,
    issued,
    search_view,
    step_of,
)
from adabkb_service.engine.auto.acquisition.objectives import best_row, best_within
from adabkb_service.engine.auto.acquisition.outcomes import IndexBound, View, favored_rows, for_step, trust_of
from adabkb_service.engine.auto.acquisition.untried import untried_choices
from adabkb_service.engine.auto.acquisition.widths import width, width_of_restart
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.tree import box_of
from adabkb_service.engine.auto.learning import learn, learns_next, with_prepared_of
from adabkb_service.engine.auto.model.doubts import awaiting_replicates
from adabkb_service.engine.auto.model.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.reports import gap
from adabkb_service.engine.auto.reports import report as reports
from adabkb_service.engine.auto.reports.within import recommend_within
from adabkb_service.engine.auto.restore import changed_marks, edited, rebuild, restore, start
from adabkb_service.engine.auto.search import quadratic
from adabkb_service.engine.auto.search.catalogues import spread
from adabkb_service.engine.auto.search.constrained import without_infeasible
from adabkb_service.engine.auto.search.largest import largest
from adabkb_service.engine.auto.search.refine import TOLERANCE, Refined, UpperBound, cells_changed, refine
from adabkb_service.engine.auto.search.search import random_free_position
from adabkb_service.engine.auto.state import restarts
from adabkb_service.engine.auto.state.restarts import (
    RANDOM_POINTS,
    Restart,
    is_nearest_to_failed,
    is_outside_neighborhood,
)
from adabkb_service.engine.auto.state.state import State, incumbent, with_spent
from adabkb_service.engine.auto.state.turns import is_restarts
from adabkb_service.engine.metrics import Measured
from adabkb_service.engine.moves import Phase, Suggestion, Update
from adabkb_service.engine.policy import GeneralPolicy
from adabkb_service.engine.record import holds
from adabkb_service.engine.slices import Slice

__all__ = ["Config", "State", "auto"]

Array = NDArray[np.float64]


class Auto(GeneralPolicy[Config, State]):
    """The ``auto`` profile. It has no stopping rule of its own; ``study/lifecycle.py`` completes studies."""

    start = staticmethod(start)
    restore = staticmethod(restore)
    rebuild = staticmethod(rebuild)
    edited = staticmethod(edited)
    learns_next = staticmethod(learns_next)
    with_prepared_of = staticmethod(with_prepared_of)
    with_spent = staticmethod(with_spent)
    dictionary = staticmethod(reports.dictionary)
    learned = staticmethod(reports.learned)
    report = staticmethod(reports.report)
    predict = staticmethod(reports.predict)
    mean = staticmethod(reports.mean)
    recommend = staticmethod(reports.recommend)
    recommend_within = staticmethod(recommend_within)
    cell_indices = staticmethod(reports.cell_indices)

    def suggestions(
        self, state: State, pending: Array, failed: Array | None = None, replaced: Array | None = None
    ) -> Iterator[Suggestion[State]]:
        """See ``Policy.suggestions``. The iterator ends when every point of a finite space is evaluated or issued,
        unless noise is declared."""
        if state.problem.domain.has_catalogue:
            yield from self.suggestions_within(state, state.problem.domain.whole, pending, failed, replaced)
            return
        out = issued(state, pending, failed, replaced)
        search: SearchView | None = None
        restart: tuple[Restart, SearchView] | None = None
        while not self.exhausted(state, out.positions):
            again = _to_repeat(state, out)
            found = quadratic.proposal(state, out) if again is None else None
            if again is not None:
                suggestion = replace(_at(state, again), phase="repeat")
            elif found is not None:
                suggestion = _at(state, found)
            elif not is_restarts(state.restarted_at, step_of(state, out)):
                search = search or search_view(state, state.surrogate, state.warp, state.record.values, out)
                suggestion = _decide(state, search.view, out)
            else:
                assert state.restarted_at is not None
                restart = restart or _restart(state, state.restarted_at, out)
                suggestion = _decide_restart(state, restart[0], restart[1].view, out)
            yield suggestion
            state, out = suggestion.state, out.with_pending(suggestion.point)
            search = search and search.with_pending(state, out.pending)
            restart = restart and (restart[0], restart[1].with_pending(state, out.pending))

    def suggestions_within(
        self, state: State, within: Slice, pending: Array, failed: Array | None = None, replaced: Array | None = None
    ) -> Iterator[Suggestion[State]]:
        """See ``GeneralPolicy.suggestions_within``. Except for repeats and the first rows of a catalogue, these are the
        points with the largest bounds in the slice.

        The tree is not cut, since centroids of cells are not in the slice, and a stalled search does not restart.
        """
        out = issued(state, pending, failed, replaced)
        search = search_view(state, state.surrogate, state.warp, state.record.values, out, within)
        while not self.exhausted(state, out.positions, within):
            again = _to_repeat(state, out, within)
            if again is not None:
                yield Suggestion(state, again, None, 0, {}, capped=False, phase="repeat")
                out = out.with_pending(again)
                search = search.with_pending(state, out.pending)
                continue
            step = step_of(state, out)
            seen = for_step(search.view, state.problem.seed, step)
            untried = untried_choices(state, out, within)
            beta = width(state, out, untried, within)
            is_guided = (step and trust_of(seen)) or favored_rows(seen, within.catalogues)
            point = None if is_guided else _first_of_catalogue(state, within, out)
            if point is None:
                point = within.exact(largest(state, seen, beta, best_within(state, seen, within), out, within, untried))
            phase = _phase(state, best_row(state, seen), point, beta)
            yield Suggestion(state, point, None, 0, {}, capped=False, phase=phase, trust=trust_of(seen))
            out = out.with_pending(point)
            search = search.with_pending(state, out.pending)

    def observe(
        self,
        state: State,
        point: Array,
        value: float,
        error: float = 0.0,
        metrics: Sequence[Measured] = (),
        plate: int | None = None,
    ) -> Update[State]:
        """See ``Policy.observe``. After a ``FloatingPointError``, the result is already stored, so points are
        quasi-random until it is corrected or excluded, or the space is edited."""
        record = state.record.add(point, value, error, metrics, plate)
        # A due checkpoint of the objective uses the metrics as of the result before this one.
        ready = learning.prepare(state) if metrics else state
        measured = tuple(
            each if np.isnan(found.value) else learn(each, each.record.add(point, *found, plate=plate))
            for each, found in zip(ready.metrics, metrics, strict=True)
        )
        after = learn(replace(ready, metrics=measured), record)
        return Update(after, changed_marks(state.tree, after.tree))

    def prepare(self, state: State) -> State:
        """Return the state with the checkpoints that the next result requires. If it has them already, compute and
        cache the gap that follows from them, for reports."""
        if learns_next(state):
            return learning.prepare(state)
        if state.prepared is not None:
            gap.gap(replace(state, checkpoint=state.prepared.checkpoint))
        return state

    def exhausted(
        self,
        state: State,
        issued: Array,
        within: Slice | None = None,
        failed: Array | None = None,  # noqa: ARG002
    ) -> bool:
        """Return whether no point of a finite space or slice is left to suggest: noise is not declared, and each point
        is evaluated or among those ``issued``, (k, d)."""
        within = within or state.problem.domain.whole
        if not within.size:  # no feasible point, or all rows of a catalogue are withdrawn
            return True
        if state.declares_noise or state.record.size + len(issued) < within.size:
            return False
        known = np.concatenate([state.record.positions, issued])
        return len(np.unique(known[within.offers(known)], axis=0)) >= within.size

    def cell_box(self, state: State, key: str) -> CellBox:
        """Return a cell's corners and centroid."""
        box = box_of(state.problem.domain, key)
        return CellBox(*box.ends(), box.centroid())


def _decide(state: State, view: View, out: Issued) -> Suggestion[State]:
    """Return the next point of the search."""
    record, view = state.record, for_step(view, state.problem.seed, step_of(state, out))
    untried = untried_choices(state, out)
    beta = width(state, out, untried)
    best = best_row(state, view)
    around = None if best is None else record.positions[best]
    is_random = untried is None and not state.problem.domain.is_listed and _is_uninformative(view, record.values)
    target = _random(state, out) if is_random else None
    if target is None:
        target = largest(state, view, beta, around, out, untried=untried)
    found = _refined(state, view, beta, target, out, 0.0 if _is_itself(state, beta, out) else TOLERANCE)
    return replace(found, phase=_phase(state, best, found.point, beta), trust=trust_of(view))


def _is_itself(state: State, beta: float, out: Issued) -> bool:
    """Return whether the target of the search, found with this confidence width, is suggested instead of the centroid
    of its cell.

    A centroid has the middle value of each ordered axis, and is often on the same step of the objective as other
    results. If results seem noisy, the best predicted point is often at an edge of the space, where no centroid is.
    """
    domain = state.problem.domain
    if (domain.is_listed and domain.most_choices > 0) or out.plateaus.are_found:
        return True
    return state.seems_noisy and beta < betas.EXPLORING and not state.problem.has_several


def _phase(state: State, best: int | None, point: Array, beta: float) -> Phase:
    """Return the phase of a chosen point, (d,), given the row of the best result and the confidence width."""
    if best is None or state.record.size < MIN_RESULTS:
        return "start"
    domain, nearby = state.problem.domain, state.record.positions[best]
    if not is_outside_neighborhood(domain, point[None], nearby, state.relevant_axes)[0]:
        return "polish"
    return "explore" if beta >= betas.EXPLORING else "search"


def _decide_restart(state: State, restart: Restart, view: View, out: Issued) -> Suggestion[State]:
    """Return the next point of a restart: the one with the largest bound. The point is random for the first
    ``RANDOM_POINTS`` points, while all results of the restart are equal, and if the largest bound is near the best
    point of the study."""
    view, domain = for_step(view, state.problem.seed, step_of(state, out)), state.problem.domain
    size = restart.size(out.pending, domain)
    beta = width_of_restart(state, size)
    tolerance = 0.0 if state.problem.space.constraints else TOLERANCE  # a centroid is never at an edge
    if size >= RANDOM_POINTS and not _is_uninformative(view, state.record.values[restart.rows]):
        target = largest(state, view, beta, restart.best, out)
        if is_outside_neighborhood(domain, target[None], restart.avoided, restart.relevant)[0]:
            return replace(_refined(state, view, beta, target, out, tolerance), phase="restart")
    random = _random(state, out)
    if random is None:
        random = largest(state, view, beta, restart.best, out)
    return replace(_refined(state, view, beta, random, out, tolerance), phase="restart")


def _restart(state: State, start: int, out: Issued) -> tuple[Restart, SearchView]:
    """Return the current restart, and its posterior conditioned on failed and pending points."""
    best, known = state.record.positions[incumbent(state)], state.checkpoint.hyperparameters
    restart = restarts.restart(state.problem, state.record, start, best, known)
    return restart, search_view(state, restart.posterior, restart.warp, state.record.values[restart.rows], out)


def _to_repeat(state: State, out: Issued, within: Slice | None = None) -> Array | None:
    """Return the point, (d,), of a doubted result that should be repeated (in the slice, if one is given); None if
    there is none. Points with a value between the steps of a parameter cannot be suggested."""
    of_metrics = ((each.problem, each.record) for each in state.metrics)
    for problem, record in ((state.problem, state.record), *of_metrics):
        point: Array
        doubted = record.positions[awaiting_replicates(problem, record)]
        for point in doubted[state.problem.space.are_on_steps(doubted)]:
            if not holds(out.positions, point) and (within is None or within.offers(point[None])[0]):
                return point
    return None


def _first_of_catalogue(state: State, within: Slice, out: Issued) -> Array | None:
    """Return a point, (d,), with a catalogue row unlike the previous ones, while there are too few results to learn
    from. None otherwise, and without catalogues."""
    if not within.catalogues or state.record.size >= MIN_RESULTS:
        return None
    known = np.concatenate([state.record.positions, out.positions])
    draw = (state.problem.seed, step_of(state, out))
    return spread(within, known, draw, is_taken(state.record.positions, out.positions))


def _at(state: State, point: Array) -> Suggestion[State]:
    """Return a suggestion of this very point, (d,), in the leaf that contains it."""
    cell, _ = state.tree.find(state.problem.root, point)
    return replace(_suggestion(state, Refined(state.tree, cell, point, [], capped=False)), phase="polish")


def _random(state: State, out: Issued) -> Array | None:
    """Return a random free position, (d,), whose nearest evaluated point did not fail; None if none is found."""
    domain, positions, known = state.problem.domain, state.record.positions, is_known(state, out)
    return random_free_position(
        domain,
        (state.problem.seed, step_of(state, out)),
        lambda point: known(point) or is_nearest_to_failed(domain, point, positions, out.failed),
    )


def _is_uninformative(view: View, values: Array) -> bool:
    """Return whether there are several results, all equal, and the view is the posterior of the objective alone. Its
    bounds then depend only on distances, and are largest in the corners. Any other view also depends on a prior, older
    studies or metrics."""
    return isinstance(view, Surrogate) and len(values) > 1 and bool(values.min() == values.max())


def _refined(
    state: State, view: View, beta: float, target: Array, out: Issued, tolerance: float = TOLERANCE
) -> Suggestion[State]:
    """Return the centroid of a cell. The tree is cut around the target until the bound at the centroid is almost as
    large as at the target: lower by at most the tolerance, in units of beta s."""
    tolerance *= beta * float(view.mean_and_std(target[None])[1][0])
    on_plateau = out.plateaus.hold(target[None], step_of(state, out))[0]
    taken = is_taken(state.record.positions, out.positions) if on_plateau else is_known(state, out)
    bound = UpperBound(view, beta) if isinstance(view, Surrogate) else IndexBound(view, beta)
    return _suggestion(state, refine(state.tree, state.problem.root, target, tolerance, bound, taken))


def _suggestion(state: State, found: Refined) -> Suggestion[State]:
    """Return a point in its cell, with the resulting tree."""
    tree, key, cells = cells_changed(found)
    if state.problem.space.is_restricted:
        leaves = [each for each, status in cells.items() if status == "leaf"]
        tree, infeasible = without_infeasible(state.problem.domain, tree, leaves)
        cells.update(dict.fromkeys(infeasible, "pruned"))
    return Suggestion(replace(state, tree=tree), found.point, key, key.count("."), cells, found.capped)


auto = Auto()

"""When the averaged posterior (``averaged``) is learned, and how later results are added to it.

Learning the parameters takes longer than a decision, and they change slowly. So they are learned again when a quarter
of the results is new. In between, results are added one by one. Everything is computed on first use, and the outcome
does not depend on the time of this use.
"""

from __future__ import annotations

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.model.averaged import Averaged, Member, learn, with_result
from adabkb_service.engine.auto.state.state import State

GROWTH = 4
"""The parameters are learned again when one in this many results is new."""


def averaged(state: State) -> Averaged:
    """Return the posterior for reports, given at least one result. It is the posterior of the search if that uses a
    dictionary, or if the numbers of the averaged posterior overflow."""
    if state.checkpoint.dictionary is not None:
        return _of_search(state)
    known, hyperparameters = state.checkpoint.averages, state.checkpoint.hyperparameters
    # ``known`` is copied, since other threads add to it.
    kept, learned_from, form = dict(known), learned_as_of(state), hyperparameters.form
    followed = [
        count for first, count, other in kept if (first, other) == (learned_from, form) and count <= state.record.size
    ]
    count = max(followed, default=learned_from)
    found = kept[learned_from, count, form] if followed else averaged_at(state, learned_from)
    for later in range(count + 1, state.record.size + 1):
        record = state.record.first(later)
        found = (found and with_result(state.problem, found, record)) or learn(state.problem, record, hyperparameters)
    known[learned_from, state.record.size, form] = found
    for first, count, other in kept:
        if (first, other) != (learned_from, form) or count not in (learned_from, state.record.size):
            known.pop((first, count, other), None)
    return found or _of_search(state)


def averaged_at(state: State, count: int) -> Averaged | None:
    """Return the posterior learned from the first ``count`` results; None if its numbers overflow."""
    known, hyperparameters = state.checkpoint.averages, state.checkpoint.hyperparameters
    kept, key = dict(known), (count, count, hyperparameters.form)
    if key not in kept:
        known[key] = kept[key] = learn(state.problem, state.record.first(count), hyperparameters)
    return kept[key]


def learned_as_of(state: State) -> int:
    """Return the number of results from which the parameters are learned. With an additive part, learning starts from
    the hyperparameters of the search, so the number is that from which these were learned."""
    checkpoint = state.checkpoint
    if checkpoint.hyperparameters.additive is not None:
        return checkpoint.learned_from
    return learned_with(state.problem, checkpoint.learned_from)


def learned_with(problem: Problem, count: int) -> int:
    """Return the number of results from which the parameters are learned, if there are ``count``."""
    found = following = min(count, 1)
    while following <= count:
        found, following = following, following + max(1, following // GROWTH)
    fewest = fewest_results(problem)
    return max(found, fewest) if count >= fewest else found


def fewest_results(problem: Problem) -> int:
    """Return the minimum number of results for a gap. With this many, the parameters are also learned again."""
    return problem.domain.fewest_results


def _of_search(state: State) -> Averaged:
    values = state.record.values
    member = Member(state.warp, state.surrogate, state.checkpoint.hyperparameters, state.record.size)
    return Averaged((member,), float(values.min()), float(values.max()))

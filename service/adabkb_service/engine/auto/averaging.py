"""When the averaged posterior is learned, and how it follows the results.

Its parameters are learned when the number of results has grown by a quarter: that takes longer than a decision, and
they change slowly. Further results are added one by one. All of it is computed when it is first asked for, and does not
depend on when that is.
"""

from __future__ import annotations

from adabkb_service.engine.auto.averaged import Averaged, Member, learn, with_result
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.state import State

GROWTH = 4
"""The parameters are learned anew when a quarter of the results is new, ..."""
RESULTS_PER_PARAMETER = 3
"""... and when there are so many results for each parameter, and for the constant: from then on there is a gap."""


def averaged(state: State) -> Averaged:
    """The posterior that reports rest on, given one result at least. It is the search's own where that goes through a
    dictionary, or where the other one is beyond floating point."""
    if state.checkpoint.dictionary is not None:
        return _of_search(state)
    known, hyperparameters = state.checkpoint.averages, state.checkpoint.hyperparameters
    kept, learned_from, form = dict(known), learned_as_of(state), hyperparameters.form  # other threads ask, too
    followed = [
        count for first, count, its in kept if (first, its) == (learned_from, form) and count <= state.record.size
    ]
    count = max(followed, default=learned_from)
    found = kept[learned_from, count, form] if followed else averaged_at(state, learned_from)
    for later in range(count + 1, state.record.size + 1):
        record = state.record.first(later)
        found = (found and with_result(state.problem, found, record)) or learn(state.problem, record, hyperparameters)
    known[learned_from, state.record.size, form] = found
    for first, count, its in kept:
        if (first, its) != (learned_from, form) or count not in (learned_from, state.record.size):
            known.pop((first, count, its), None)
    return found or _of_search(state)


def averaged_at(state: State, count: int) -> Averaged | None:
    """The posterior learned from so many results; None where it is beyond floating point."""
    known, hyperparameters = state.checkpoint.averages, state.checkpoint.hyperparameters
    kept, key = dict(known), (count, count, hyperparameters.form)
    if key not in kept:
        known[key] = kept[key] = learn(state.problem, state.record.first(count), hyperparameters)
    return kept[key]


def learned_as_of(state: State) -> int:
    """The number of results that the parameters are learned from. With an additive part it is that of the search, whose
    parameters are where the others are looked for."""
    checkpoint = state.checkpoint
    if checkpoint.hyperparameters.additive is not None:
        return checkpoint.learned_from
    return learned_with(state.problem, checkpoint.learned_from)


def learned_with(problem: Problem, count: int) -> int:
    """The number of results that the parameters are learned from, given so many."""
    found = following = min(count, 1)
    while following <= count:
        found, following = following, following + max(1, following // GROWTH)
    fewest = fewest_results(problem)
    return max(found, fewest) if count >= fewest else found


def fewest_results(problem: Problem) -> int:
    """Results before which the gap is not known."""
    active = problem.domain.together or problem.domain.dimension
    return max(MIN_RESULTS, int(min(RESULTS_PER_PARAMETER * (active + 1), problem.domain.whole.size)))


def _of_search(state: State) -> Averaged:
    values = state.record.values
    member = Member(state.warp, state.surrogate, state.checkpoint.hyperparameters, state.record.size)
    return Averaged((member,), float(values.min()), float(values.max()))

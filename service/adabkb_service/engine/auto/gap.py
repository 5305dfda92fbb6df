"""How much better the best feasible point probably is than the recommended one, by the model.

    gap = the QUANTILE of max over x of f(x) - f(recommended)

over joint draws of f from the averaged posterior (``averaged``) at candidates: positions all over the space and around
the best result, of which those with the largest upper bounds are looked at. Where metrics have bounds, the maximum is
over the candidates whose drawn metrics keep them.

The quantile is a little above the probability that is stated, ``CONFIDENCE``, since objectives differ from draws of the
model: ``benchmarks.quality.gaps`` measures how often the gap holds. There is none as long as there are few results for
the number of parameters, or it would exceed the range of the results: then the model does not know yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import averaged
from adabkb_service.engine.auto.averaged import Member, members
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.constrained import feasible_candidates
from adabkb_service.engine.auto.domain import LISTED_POINTS
from adabkb_service.engine.auto.feasible_results import best_feasible_rows, violations
from adabkb_service.engine.auto.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.search import candidates
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

QUANTILE = 0.95
"""Of the drawn gains."""
DRAWS = 50
"""Of each member."""
POOLS = 3
"""Sets of positions that candidates are chosen from."""
SCATTERED, PROMISING = 150, 40
"""Candidates that are scattered, and those with the largest bounds by each member."""
WIDTH = 2.0
"""Of these bounds, in standard deviations."""
CONTENDERS = 64
"""Best results among which the recommended one is looked for."""
RESULTS_PER_PARAMETER = 3
"""Results for each parameter, and for the constant, before there is a gap."""
GROWTH = 4
"""The gap is computed anew when a quarter of the results is new."""
STREAMS = 1 << 32
"""Between steps of random numbers, so that no draws are alike."""


def gap(state: State) -> float | None:
    """The gap in the user's units, as of when the number of results last grew by a quarter: it takes longer than a
    decision, and it changes slowly. None while it is not known, and of several objectives. It is computed when it is
    first asked for."""
    known, count = state.checkpoint.gaps, computed_for(state.checkpoint.learned_from, fewest_results(state.problem))
    if count not in known:
        known[count] = of_record(state.problem, state.record.first(count))
    return known[count]


def fewest_results(problem: Problem) -> int:
    """Results before which the gap is not known."""
    active = problem.domain.together or problem.domain.dimension
    return max(MIN_RESULTS, int(min(RESULTS_PER_PARAMETER * (active + 1), problem.domain.whole.size)))


def computed_for(count: int, fewest: int) -> int:
    """The number of results that the gap is computed from, given so many: the last one of a series that begins with the
    fewest, and of which each is a quarter larger than the one before."""
    found = following = min(count, fewest)
    while following <= count:
        found, following = following, following + max(1, following // GROWTH)
    return found


def of_record(problem: Problem, record: Record) -> float | None:
    """The gap by a record of results, in the user's units; None if they are too few to know."""
    metrics, values = problem.config.metrics, record.values
    if problem.has_several or record.size < fewest_results(problem) or values.min() == values.max():
        return None
    if not (violations(metrics, record) == 0.0).any():
        return None
    of_objective = members(problem, record)
    of_metrics = [
        Bounded(metric, members(problem.of_metric, measured))
        for metric, measured in zip(metrics, record.metrics, strict=True)
        if metric.is_bounded
    ]
    if not of_objective or not all(each.members for each in of_metrics):
        return None
    try:
        found = float(np.quantile(_gains(problem, record, of_objective, of_metrics), QUANTILE))
    except FloatingPointError:
        return None
    return found if found <= float(values.max()) - float(values.min()) else None


@dataclass(frozen=True, slots=True)
class Bounded:
    """A metric with bounds, and the members of its posterior."""

    metric: Metric
    members: list[Member]

    def keeps(self, index: int, positions: Array, draw: tuple[int, int]) -> Bools:
        """Where the draws, (k, DRAWS), of a member at positions (k, d) keep the bounds."""
        member = self.members[index % len(self.members)]
        lower, upper = member.warp.forward(np.array(self.metric.signed_bounds))
        drawn = member.draws(positions, draw, DRAWS)
        kept: Bools = (drawn >= lower) & (drawn <= upper)
        return kept


def _gains(problem: Problem, record: Record, of_objective: list[Member], of_metrics: list[Bounded]) -> Array:
    """(draws,) of the maximum over the candidates minus the value at the recommended result, in the user's units."""
    rows = best_feasible_rows(problem.config.metrics, record, CONTENDERS)
    means = [member.warp.inverse(member.posterior.mean(record.positions[rows])) for member in of_objective]
    best = record.positions[rows[np.argmax(np.mean(means, axis=0))]]
    positions = np.concatenate([best[None], _candidates(problem, record.size, best, of_objective)])
    found = []
    for index, member in enumerate(of_objective):
        stream = averaged.STREAM - (index + 1) * STREAMS
        drawn = member.draws(positions, (problem.seed, stream), DRAWS)
        kept = np.ones(drawn.shape, dtype=np.bool_)
        for number, bounded in enumerate(of_metrics, start=1):
            kept &= bounded.keeps(index, positions, (problem.seed, stream - number))
        kept[0] = True
        largest = np.where(kept, drawn, -np.inf).max(axis=0)
        found.append(member.warp.inverse(largest) - member.warp.inverse(drawn[0]))
    return np.concatenate(found)


def _candidates(problem: Problem, step: int, best: Array, of_objective: list[Member]) -> Array:
    """(k, d) feasible positions at which the objective may be largest."""
    domain = problem.domain
    whole, feasible = domain.whole, domain.whole.feasible
    if whole.size <= LISTED_POINTS:
        pool = whole.points
    else:
        streams = [(problem.seed, averaged.STREAM + (number + 1) * STREAMS + step) for number in range(POOLS)]
        drawn = [whole.put(candidates(domain, best, stream)) for stream in streams]
        if feasible is not None:
            drawn = [feasible_candidates(feasible, *each) for each in zip(drawn, [best] * POOLS, streams, strict=True)]
        pool = np.concatenate(drawn)
    bounds = [member.posterior.ucb(pool, WIDTH) for member in of_objective]
    promising = [pool[np.argsort(-each, kind="stable")[:PROMISING]] for each in bounds]
    found = distinct(np.concatenate([*promising, pool[:: max(len(pool) // SCATTERED, 1)]]))
    others: Array = found[(found != best).any(axis=1)]
    return others

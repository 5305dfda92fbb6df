"""How much better the best feasible point probably is than the recommended one, by the model.

    gap = the QUANTILE of max over x of f(x) - f(recommended)

over joint draws of f from the averaged posterior (``averaged``), learned from results that are apart, at candidates:
positions all over the space and around the best result, of which those with the largest upper bounds are looked at.
Where metrics have bounds, the maximum is over the candidates whose drawn metrics keep them.

The quantile is a little above the probability that is stated, ``CONFIDENCE``, since objectives differ from draws of the
model: ``benchmarks.quality.gaps`` measures how often the gap holds. There is none as long as there are few results for
the number of parameters, or it would exceed the range of the results: such a gap says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import averaged
from adabkb_service.engine.auto.averaged import Averaged, Member, learn
from adabkb_service.engine.auto.averaging import fewest_results, learned_as_of
from adabkb_service.engine.auto.catalogues import Lookup
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.constrained import feasible_candidates
from adabkb_service.engine.auto.domain import LISTED_POINTS
from adabkb_service.engine.auto.feasible_results import best_feasible_rows, violations
from adabkb_service.engine.auto.search import candidates
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

QUANTILE = 0.95
"""The quantile of the drawn gains that is the gap."""
DRAWS = 400
"""Of all members together."""
POOLS = 3
"""Sets of positions that candidates are chosen from."""
SCATTERED, PROMISING = 150, 40
"""Candidates that are scattered, and those with the largest bounds by each member."""
WIDTH = 2.0
"""Of these bounds, in standard deviations."""
CONTENDERS = 64
"""Best results among which the recommended one is looked for."""
STREAMS = 1 << 32
"""Between steps of random numbers, so that no draws are alike."""


def gap(state: State) -> float | None:
    """The gap in the user's units, as of when the averaged posteriors were last learned: it takes longer than a
    decision, and it changes slowly. None while it is not known, of several objectives, and where it depends on a
    context. It is computed when it is first asked for."""
    known, kept = state.checkpoint.gaps, dict(state.checkpoint.gaps)  # other threads ask, too
    key = tuple((learned_as_of(each), each.checkpoint.hyperparameters.form) for each in (state, *state.metrics))
    if key not in kept:
        for other in kept:
            known.pop(other, None)
        known[key] = kept[key] = _with(state, learned_as_of(state))
    return kept[key]


def _with(state: State, count: int) -> float | None:
    """The gap according to the first ``count`` results."""
    problem, record = state.problem, state.record.first(count)
    metrics, values = problem.config.metrics, record.values
    if problem.has_several or problem.space.context or count < fewest_results(problem) or values.min() == values.max():
        return None
    if not (violations(metrics, record) == 0.0).any():
        return None
    of_objective = _learned(state)
    of_metrics = [
        (metric, _learned(measured))
        for metric, measured in zip(metrics, state.metrics, strict=True)
        if metric.is_bounded
    ]
    bounded = [Bounded(metric, found.members) for metric, found in of_metrics if found]
    if of_objective is None or len(bounded) < len(of_metrics):
        return None
    try:
        found = float(np.quantile(_gains(problem, record, of_objective, bounded), QUANTILE))
    except FloatingPointError:
        return None
    return found if found <= float(values.max()) - float(values.min()) else None


def _learned(state: State) -> Averaged | None:
    """The posterior of an objective or a metric."""
    record = state.record.first(learned_as_of(state))
    return learn(state.problem, record, state.checkpoint.hyperparameters, from_apart=True)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A metric with bounds, and the members of its posterior."""

    metric: Metric
    members: tuple[Member, ...]

    def keeps(self, index: int, positions: Array, draw: tuple[int, int], count: int) -> Bools:
        """Where the draws, (k, count), of a member at positions (k, d) keep the bounds."""
        member = self.members[index % len(self.members)]
        lower, upper = member.warp.forward(np.array(self.metric.signed_bounds))
        drawn = member.draws(positions, draw, count)
        kept: Bools = (drawn >= lower) & (drawn <= upper)
        return kept


def _gains(problem: Problem, record: Record, of_objective: Averaged, of_metrics: list[Bounded]) -> Array:
    """(draws,) of the maximum over the candidates minus the value at the recommended result, in the user's units."""
    rows = best_feasible_rows(problem.config.metrics, record, CONTENDERS)
    best = record.positions[rows[np.argmax(of_objective.mean(record.positions[rows]))]]
    members = of_objective.members
    positions = np.concatenate([best[None], _candidates(problem, record.size, best, members)])
    found, count = [], DRAWS // len(members)
    for index, member in enumerate(members):
        stream = averaged.STREAM - (index + 1) * STREAMS
        drawn = member.draws(positions, (problem.seed, stream), count)
        kept = np.ones(drawn.shape, dtype=np.bool_)
        for number, bounded in enumerate(of_metrics, start=1):
            kept &= bounded.keeps(index, positions, (problem.seed, stream - number), count)
        kept[0] = True
        largest = np.where(kept, drawn, -np.inf).max(axis=0)
        value, recommended = of_objective.limited(member.warp.inverse(np.stack([largest, drawn[0]])))
        with np.errstate(over="ignore"):  # of results that reach from the least to the largest float
            found.append(value - recommended)
    return np.concatenate(found)


def _candidates(problem: Problem, step: int, best: Array, members: tuple[Member, ...]) -> Array:
    """(k, d) feasible positions at which the objective may be largest."""
    domain = problem.domain
    whole, feasible = domain.whole, domain.whole.feasible
    streams = [(problem.seed, averaged.STREAM + (number + 1) * STREAMS + step) for number in range(POOLS)]
    if whole.size <= LISTED_POINTS:
        pool = whole.points
    elif whole.catalogues:
        pool = np.concatenate([_promising_rows(problem, best, *each) for each in zip(members, streams, strict=False)])
    else:
        drawn = [whole.put(candidates(domain, best, stream)) for stream in streams]
        if feasible is not None:
            drawn = [feasible_candidates(feasible, *each) for each in zip(drawn, [best] * POOLS, streams, strict=True)]
        pool = np.concatenate(drawn)
    bounds = [member.posterior.ucb(pool, WIDTH) for member in members]
    promising = [pool[np.argsort(-each, kind="stable")[:PROMISING]] for each in bounds]
    found = distinct(np.concatenate([*promising, pool[:: max(len(pool) // SCATTERED, 1)]]))
    others: Array = found[(found != best).any(axis=1)]
    return others


def _promising_rows(problem: Problem, best: Array, member: Member, draw: tuple[int, int]) -> Array:
    """(k, d) points with rows of a catalogue whose bounds by a member are large."""

    def bound(positions: Array) -> Array:
        return member.posterior.ucb(positions, WIDTH)

    return Lookup(problem.domain, problem.domain.whole, bound, lambda points: points, best, draw).candidates()

"""The gap: how much better the best feasible point probably is than the recommended one, according to the model.

    gap = the QUANTILE of max over x of f(x) - f(recommended)

over joint draws of f from the averaged posterior (``averaged``), learned from results that are not close to each other.
The maximum is over candidates. For each member, these are the positions with its largest upper bounds among many in the
whole space and around the best result, and others that are scattered. If metrics have bounds, the maximum is over the
candidates whose drawn metrics satisfy them.

The quantile is a little above the stated probability, ``CONFIDENCE``, since objectives differ from draws of the model:
``benchmarks.quality.gaps`` measures how often the gap holds.

The gap is None if it would exceed the range of the results, since such a gap is not informative. It is also None while
there are too few results for the number of parameters, all results are equal, or none satisfies the bounds of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain.domain import LISTED_POINTS
from adabkb_service.engine.auto.model import averaged
from adabkb_service.engine.auto.model.averaged import Averaged, Member, learn
from adabkb_service.engine.auto.model.feasible_results import best_feasible_rows, violations
from adabkb_service.engine.auto.reports.averaging import fewest_results, learned_as_of
from adabkb_service.engine.auto.search.catalogues import Lookup
from adabkb_service.engine.auto.search.constrained import feasible_candidates
from adabkb_service.engine.auto.search.search import candidates
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.candidates import distinct
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

QUANTILE = 0.95
"""The quantile of the drawn gains that is the gap."""
DRAWS = 400
"""The number of draws, over all members together."""
POOLS = 3
"""The number of sets of positions from which candidates are chosen. The members use them in turn."""
SCATTERED, PROMISING = 150, 40
"""The numbers of scattered candidates, which all members have, and of candidates with a member's largest bounds."""
WIDTH = 2.0
"""The width of these bounds, in standard deviations."""
CONTENDERS = 64
"""The number of best results among which the recommended one is searched."""
STREAMS = 1 << 32
"""Distance between the numbers of random streams for different purposes, so that no stream is used twice."""


def gap(state: State) -> float | None:
    """Return the gap in the user's units. Return None if it is unknown (see above), and in studies with several
    objectives or with context parameters.

    Since its computation takes longer than a decision, and the gap changes slowly, it is computed only from the results
    from which the averaged posteriors were last learned, on first use.
    """
    known, kept = state.checkpoint.gaps, dict(state.checkpoint.gaps)  # other threads add to it
    key = tuple((learned_as_of(each), each.checkpoint.hyperparameters.form) for each in (state, *state.metrics))
    if key not in kept:
        for other in kept:
            known.pop(other, None)
        known[key] = kept[key] = _with(state, learned_as_of(state))
    return kept[key]


def _with(state: State, count: int) -> float | None:
    """Return the gap according to the first ``count`` results."""
    problem, record = state.problem, state.record.first(count)
    metrics, values = problem.config.metrics, record.values
    if problem.has_several or problem.space.context or count < fewest_results(problem) or values.min() == values.max():
        return None
    if not (violations(metrics, record) == 0.0).any():
        return None
    of_objective = _learned(state)
    of_metrics = [(metric, _learned(measured)) for measured, metric in state.bounded]
    bounded = [Bounded(metric, found.members) for metric, found in of_metrics if found]
    if of_objective is None or len(bounded) < len(of_metrics):
        return None
    try:
        found = float(np.quantile(_gains(problem, record, of_objective, bounded), QUANTILE))
    except FloatingPointError:
        return None
    return found if found <= float(values.max()) - float(values.min()) else None


def _learned(state: State) -> Averaged | None:
    """Return the posterior of an objective or a metric."""
    record = state.record.first(learned_as_of(state))
    return learn(state.problem, record, state.checkpoint.hyperparameters, from_apart=True)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A metric with bounds, and the members of its posterior."""

    metric: Metric
    members: tuple[Member, ...]

    def keeps(self, index: int, positions: Array, draw: tuple[int, int], count: int) -> Bools:
        """Return which draws, (k, count), of a member at positions (k, d) satisfy the bounds."""
        member = self.members[index % len(self.members)]
        lower, upper = member.warp.forward(np.array(self.metric.signed_bounds))
        drawn = member.draws(positions, draw, count)
        kept: Bools = (drawn >= lower) & (drawn <= upper)
        return kept


def _gains(problem: Problem, record: Record, of_objective: Averaged, of_metrics: list[Bounded]) -> Array:
    """Return draws, (draws,), of the maximum over the candidates minus the value at the recommended result, in user
    units."""
    rows = best_feasible_rows(problem.config.metrics, record, CONTENDERS)
    best = record.positions[rows[np.argmax(of_objective.mean(record.positions[rows]))]]
    members = of_objective.members
    found, count = [], DRAWS // len(members)
    for index, (member, others) in enumerate(_candidates(problem, record.size, best, members)):
        positions = np.concatenate([best[None], others])
        stream = averaged.STREAM - (index + 1) * STREAMS
        drawn = member.draws(positions, (problem.seed, stream), count)
        kept = np.ones(drawn.shape, dtype=np.bool_)
        for number, bounded in enumerate(of_metrics, start=1):
            kept &= bounded.keeps(index, positions, (problem.seed, stream - number), count)
        kept[0] = True
        largest = np.where(kept, drawn, -np.inf).max(axis=0)
        value, recommended = of_objective.limited(member.warp.inverse(np.stack([largest, drawn[0]])))
        with np.errstate(over="ignore"):  # overflows if results span the whole range of floats
            found.append(value - recommended)
    return np.concatenate(found)


def _candidates(
    problem: Problem, step: int, best: Array, members: tuple[Member, ...]
) -> Iterator[tuple[Member, Array]]:
    """Yield each member with feasible positions, (k, d), at which its draws may be largest."""
    pools = _pools(problem, step, best, members)
    if len(members) < len(pools):
        pools = [np.concatenate(pools)]
    scattered = np.concatenate(pools)
    scattered = scattered[:: max(len(scattered) // SCATTERED, 1)]
    for index, member in enumerate(members):
        pool = pools[index % len(pools)]
        promising = pool[np.argsort(-member.posterior.ucb(pool, WIDTH), kind="stable")[:PROMISING]]
        found = distinct(np.concatenate([promising, scattered]))
        yield member, found[(found != best).any(axis=1)]


def _pools(problem: Problem, step: int, best: Array, members: tuple[Member, ...]) -> list[Array]:
    """Return sets of feasible positions, (k, d) each, from which candidates are chosen."""
    domain = problem.domain
    whole, feasible = domain.whole, domain.whole.feasible
    streams = [(problem.seed, averaged.STREAM + (number + 1) * STREAMS + step) for number in range(POOLS)]
    if whole.size <= LISTED_POINTS:
        return [whole.points]
    if whole.catalogues:
        return [np.concatenate([_promising_rows(problem, best, *each) for each in zip(members, streams, strict=False)])]
    drawn = [whole.put(candidates(domain, best, stream)) for stream in streams]
    if feasible is None:
        return drawn
    return [feasible_candidates(feasible, *each) for each in zip(drawn, [best] * POOLS, streams, strict=True)]


def _promising_rows(problem: Problem, best: Array, member: Member, draw: tuple[int, int]) -> Array:
    """Return points, (k, d), from a catalogue whose upper bounds under a member are large."""

    def bound(positions: Array) -> Array:
        return member.posterior.ucb(positions, WIDTH)

    return Lookup(problem.domain, problem.domain.whole, bound, lambda points: points, best, draw).candidates()

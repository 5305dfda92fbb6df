"""When and how hyperparameters are learned, and when they take effect.

A search for hyperparameters with all that follows (dictionary, pruning) takes long beside a decision, so no answer
waits for one: what is learned from the first n results takes effect with result n + 1. It can be computed at any time
between the two (``prepare``), and is computed with result n + 1 otherwise; that makes no difference to any number,
because it depends on the record and on the tree as of result n alone.

Up to ``SMALL`` results everything is learned at once. After a result far from all others (an outlier), warp and
posterior are fitted anew at once, under the hyperparameters known so far, and a search is due.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, warp
from adabkb_service.engine.auto.checkpoint import Checkpoint
from adabkb_service.engine.auto.likelihood import Evidence
from adabkb_service.engine.auto.noise import noise_ratios
from adabkb_service.engine.auto.pruning import prunable, pruned
from adabkb_service.engine.auto.rows import to_fit, to_learn_from
from adabkb_service.engine.auto.state import (
    Prepared,
    State,
    fitted,
    mean_and_std,
    restarted_at,
    turns_after,
    with_result,
)
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

EXACT = 800
"""Results up to which every row is in the posterior."""
DICTIONARY = 500
"""Points of the dictionary beyond that, ..."""
BEST = 5
"""One of so many of them is a best result: the search polishes there, where leverages are small."""
GROWTH = 125
"""... and rows added to it until it is drawn anew."""
REFIT = 10
"""The hyperparameters are learned anew when a tenth of the results is new, ..."""
OUTLIER = 5.0
"""... or when a model output is beyond this many standard deviations."""
SMALL = 20
"""Results up to which learning takes effect at once: it takes less than a millisecond there, and a late one costs
evaluations."""


def learn(state: State, record: Record) -> State:
    """The state with one more result, given the state's record with that result added. ``state.metrics`` are of the new
    record already, so a checkpoint of the objective that was due must have been prepared before."""
    if state.record.size < SMALL:
        is_due = _is_due_by_count(state.checkpoint, record.size) or _is_outlier(state, record)
        return relearned(state, record) if is_due else with_result(state, record)
    state = _adopted(_prepared(state))
    if not _is_outlier(state, record):
        return with_result(state, record)
    restart, turns = restarted_at(state, record), turns_after(state, record)
    checkpoint = replace(state.checkpoint, count=record.size, restarted_at=restart, turns=turns)
    return _checked(fitted(state.problem, record, state.tree, checkpoint, metrics=state.metrics))


def learns_next(state: State) -> bool:
    """Whether ``prepare``, or else the next result, brings a search for hyperparameters of the objective or of a
    metric."""
    return any(map(_awaits_learning, (state, *state.metrics)))


def prepare(state: State) -> State:
    """The same state, with the checkpoints computed that the next result will bring, its own and those of its
    metrics."""
    metrics = tuple(map(_prepared, state.metrics))
    return replace(_prepared(state), metrics=metrics) if metrics else _prepared(state)


def _prepared(state: State) -> State:
    """The same state, with its own checkpoint computed."""
    if not _awaits_learning(state):
        return state
    seen = replace(state, tree=state.tree.as_of(state.cells_learned_from))
    try:
        learned = _checked(with_learned_hyperparameters(seen, seen.record))
    except FloatingPointError:  # the hyperparameters known so far stay, until more results make another search due
        learned = replace(seen, checkpoint=replace(seen.checkpoint, learned_from=seen.record.size))
    pruning = prunable(learned)
    checkpoint = learned.checkpoint.with_widths(pruning)
    return replace(state, prepared=Prepared(checkpoint, learned.warp, learned.surrogate, pruning))


def _awaits_learning(state: State) -> bool:
    """Whether the next result will bring a checkpoint that is not computed yet."""
    return state.record.size >= SMALL and state.prepared is None and _is_due(state)


def with_prepared_of(state: State, prepared: State) -> State:
    """The same state, with what was prepared for another one with the same record: they differ in later cuts only."""
    return replace(state, prepared=prepared.prepared, metrics=prepared.metrics)


def relearned(state: State, record: Record) -> State:
    """A state with another record, everything learned from it, starting from the present hyperparameters."""
    seen = replace(state, restarted_at=restarted_at(state, record), turns=turns_after(state, record))
    learned = with_learned_hyperparameters(seen, record)
    pruning = prunable(learned)
    checkpoint = learned.checkpoint.with_widths(pruning)
    return _checked(replace(learned, tree=pruned(learned, pruning), checkpoint=checkpoint))


def _adopted(state: State) -> State:
    """With what was prepared in effect; the tree may have been cut further since."""
    found = state.prepared
    if found is None:
        return state
    state = replace(state, checkpoint=found.checkpoint, warp=found.warp, surrogate=found.surrogate, prepared=None)
    return replace(state, tree=pruned(state, found.pruning))


def _is_due(state: State) -> bool:
    """Whether the results so far call for a search."""
    checkpoint, count = state.checkpoint, state.record.size
    refitted = count == checkpoint.count > checkpoint.learned_from  # the last result was an outlier
    return refitted or (count > checkpoint.learned_from and _is_due_by_count(checkpoint, count))


def _is_due_by_count(checkpoint: Checkpoint, count: int) -> bool:
    """Whether so many results call for a search, by their number."""
    since = count - checkpoint.learned_from
    if since >= max(1, count // REFIT):
        return True
    return count > EXACT and (checkpoint.dictionary is None or since >= GROWTH)


def _is_outlier(state: State, record: Record) -> bool:
    """Whether the last result is one."""
    return bool(not np.abs(state.warp.forward(record.values[-1:])[0]) < OUTLIER)


def _checked(state: State) -> State:
    """The state itself.

    Raises:
        FloatingPointError: the numbers are beyond what floating point can hold.
    """
    if not (np.isfinite(state.surrogate.weights).all() and np.isfinite(state.checkpoint.beta)):
        raise FloatingPointError("the results are too large or too uncertain for floating point")
    return state


def with_learned_hyperparameters(state: State, record: Record) -> State:
    """A state with another record and hyperparameters learned from it, starting from the present ones, and whenever the
    count of results passes a power of two also from the prior's; what prunes is not computed yet."""
    problem, hyperparameters = state.problem, state.checkpoint.hyperparameters
    rows = to_learn_from(problem.seed, record.values)
    if record.size >= likelihood.MIN_RESULTS:
        evidence = evidence_of(state, record, rows, warp.POWERS)
        known = hyperparameters
        starts = [] if known.additive else [known]  # lengthscales beside an additive part are no plain ones
        if not starts or record.size.bit_length() > state.checkpoint.learned_from.bit_length():  # or in a poor optimum
            starts.append(likelihood.prior_of(problem.domain))
        starts += [replace(starts[0], noise_ratio=ratio) for ratio in likelihood.NOISY_STARTS]
        evidence, hyperparameters = likelihood.learn_smoothness(evidence, starts)
        if problem.may_have_additive_part and record.size >= SMALL:
            unwarped = evidence_of(state, record, rows, warp.LINEAR)
            hyperparameters = likelihood.with_additive_part(evidence, hyperparameters, unwarped, known)
    dictionary = None if record.size <= EXACT else _dictionary(state, record)
    checkpoint = Checkpoint(
        record.size,
        hyperparameters,
        dictionary=dictionary,
        restarted_at=state.restarted_at,
        turns=state.turns,
        averages=dict(state.checkpoint.averages),
        gaps=dict(state.checkpoint.gaps),
    )
    return fitted(problem, record, state.tree, checkpoint, metrics=state.metrics)


def evidence_of(state: State, record: Record, rows: Ints, powers: Array) -> Evidence:
    """Some rows, under the warp of the whole record with one of these powers."""
    problem, known = state.problem, state.checkpoint.hyperparameters
    warped, values = warp.fit(record.values, powers), record.values[rows]
    declared = noise_ratios(problem, known, warped, record, rows) - known.noise_ratio
    log_slopes = float(warped.log_slope(values).sum())
    positions, outputs = record.positions[rows], warped.forward(values)
    return Evidence.over(problem.domain, positions, outputs, declared, log_slopes=log_slopes)


def _dictionary(state: State, record: Record) -> tuple[int, ...]:
    """The next dictionary: the best rows, and others drawn with probabilities proportional to their leverages, up to
    the cap (BKB's, rescaled).

    The leverages s2 / nu come from the posterior before. Without replacement, by Efraimidis and Spirakis' keys.
    """
    rows = to_fit(state.problem.seed, record.values)
    rows = rows[np.sort(np.unique(record.ordinals[rows], return_index=True)[1])]  # each point once
    _, deviation = mean_and_std(state.surrogate, record.positions[rows])
    draws = np.maximum(uniforms(state.problem.seed, record.size, len(rows)), 1e-300)
    keys = np.log(draws) / np.maximum(deviation, 1e-12) ** 2
    keys[np.argsort(-record.values[rows], kind="stable")[: DICTIONARY // BEST]] = 0.0  # the largest key there is
    return tuple(np.sort(rows[np.argsort(-keys, kind="stable")[:DICTIONARY]]).tolist())

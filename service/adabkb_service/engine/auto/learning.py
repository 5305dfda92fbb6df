"""When and how hyperparameters are learned, and when they take effect.

Learning the hyperparameters, drawing the dictionary and pruning take much longer than a decision. So with more than
``SMALL`` results, no response waits for them: hyperparameters fitted to the first n results apply from result n + 1.
They can be computed at any time between these two results (``prepare``); otherwise, they are computed with result
n + 1. The outcome is the same, since it depends only on the record and the tree as of result n.

With up to ``SMALL`` results, everything is learned at once. After an outlier (a result far from the others, in model
outputs), warp and posterior are fitted again at once, with the current hyperparameters, and a search for new
hyperparameters is due.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.model import likelihood, warp
from adabkb_service.engine.auto.model.likelihood import Evidence
from adabkb_service.engine.auto.model.noise import noise_ratios
from adabkb_service.engine.auto.model.rows import to_fit, to_learn_from
from adabkb_service.engine.auto.search.pruning import prunable, pruned
from adabkb_service.engine.auto.state.checkpoint import Checkpoint
from adabkb_service.engine.auto.state.state import (
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
"""The maximum number of results for an exact posterior."""
DICTIONARY = 500
"""The number of points in the dictionary, if there are more results than ``EXACT``."""
BEST = 5
"""One in this many dictionary points is one of the best results. The search refines the optimum there, where leverages
are small."""
GROWTH = 125
"""A new dictionary is drawn after this many further results."""
REFIT = 10
"""The hyperparameters are learned again when one in this many results is new."""
OUTLIER = 5.0
"""The hyperparameters are also learned again after a result whose model output is farther than this from 0. (Model
outputs have standard deviation 1.)"""
SMALL = 20
"""The maximum number of results for which learning takes effect at once: it then takes less than a millisecond, and
delays would cost evaluations."""


def learn(state: State, record: Record) -> State:
    """Return the state with one more result, given the record that includes it.

    ``state.metrics`` already include the result, and a due checkpoint of the objective must not depend on it. So in a
    study with metrics, call ``prepare`` before the metrics get the result.

    Raises:
        FloatingPointError: numbers of the model overflow.
    """
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
    """Return whether ``prepare``, or else the next result, learns hyperparameters of the objective or of a metric."""
    return any(map(_awaits_learning, (state, *state.metrics)))


def prepare(state: State) -> State:
    """Return the state with the checkpoints that the next result requires, its own and those of its metrics."""
    metrics = tuple(map(_prepared, state.metrics))
    return replace(_prepared(state), metrics=metrics) if metrics else _prepared(state)


def _prepared(state: State) -> State:
    """Return the state with its own next checkpoint."""
    if not _awaits_learning(state):
        return state
    seen = replace(state, tree=state.tree.as_of(state.cells_learned_from))
    try:
        learned = _checked(with_learned_hyperparameters(seen, seen.record))
    except FloatingPointError:  # the known hyperparameters stay until the next search is due
        learned = replace(seen, checkpoint=replace(seen.checkpoint, learned_from=seen.record.size))
    pruning = prunable(learned)
    checkpoint = learned.checkpoint.with_widths(pruning)
    return replace(state, prepared=Prepared(checkpoint, learned.warp, learned.surrogate, pruning))


def _awaits_learning(state: State) -> bool:
    """Return whether the next result requires a checkpoint that is not computed yet."""
    return state.record.size >= SMALL and state.prepared is None and _is_due(state)


def with_prepared_of(state: State, prepared: State) -> State:
    """Return the state with the checkpoint of ``prepared``, a state of the same record that differs only in later cuts
    of the tree."""
    return replace(state, prepared=prepared.prepared, metrics=prepared.metrics)


def relearned(state: State, record: Record) -> State:
    """Return the state for another record, with everything learned from it, starting from the current
    hyperparameters.

    Raises:
        FloatingPointError: numbers of the model overflow.
    """
    seen = replace(state, restarted_at=restarted_at(state, record), turns=turns_after(state, record))
    learned = with_learned_hyperparameters(seen, record)
    pruning = prunable(learned)
    checkpoint = learned.checkpoint.with_widths(pruning)
    return _checked(replace(learned, tree=pruned(learned, pruning), checkpoint=checkpoint))


def _adopted(state: State) -> State:
    """Return the state with its prepared checkpoint in effect; the state itself without one. The tree may have been cut
    further since the checkpoint was prepared."""
    found = state.prepared
    if found is None:
        return state
    state = replace(state, checkpoint=found.checkpoint, warp=found.warp, surrogate=found.surrogate, prepared=None)
    return replace(state, tree=pruned(state, found.pruning))


def _is_due(state: State) -> bool:
    """Return whether a hyperparameter search is due."""
    checkpoint, count = state.checkpoint, state.record.size
    refitted = count == checkpoint.count > checkpoint.learned_from  # the last result was an outlier
    return refitted or (count > checkpoint.learned_from and _is_due_by_count(checkpoint, count))


def _is_due_by_count(checkpoint: Checkpoint, count: int) -> bool:
    """Return whether a hyperparameter search is due for this number of results."""
    since = count - checkpoint.learned_from
    if since >= max(1, count // REFIT):
        return True
    return count > EXACT and (checkpoint.dictionary is None or since >= GROWTH)


def _is_outlier(state: State, record: Record) -> bool:
    """Return whether the last result is an outlier."""
    return bool(not np.abs(state.warp.forward(record.values[-1:])[0]) < OUTLIER)


def _checked(state: State) -> State:
    """Return the state, after a check that its numbers are finite.

    Raises:
        FloatingPointError: they are not.
    """
    if not (np.isfinite(state.surrogate.weights).all() and np.isfinite(state.checkpoint.beta)):
        raise FloatingPointError("the results are too large or too uncertain for floating point")
    return state


def with_learned_hyperparameters(state: State, record: Record) -> State:
    """Return the state for another record, with hyperparameters learned from it. The search starts from the current
    ones and, when the number of results passes a power of two, also from the prior. If the current ones have an
    additive part, it starts from the prior only. Pruning is not computed yet.

    Raises:
        FloatingPointError: numbers of the model overflow.
    """
    problem, hyperparameters = state.problem, state.checkpoint.hyperparameters
    rows = to_learn_from(problem.seed, record.values)
    if record.size >= likelihood.MIN_RESULTS:
        evidence = evidence_of(state, record, rows, warp.POWERS)
        known = hyperparameters
        starts = [] if known.additive else [known]  # plain lengthscales differ from additive ones
        if not starts or record.size.bit_length() > state.checkpoint.learned_from.bit_length():  # avoids poor optima
            starts.append(likelihood.prior_of(problem.domain, has_plates=problem.config.has_plates))
        starts += likelihood.further_starts(starts[0], is_exact=problem.config.is_exact)
        if problem.config.is_exact:
            hyperparameters = likelihood.learn(evidence, starts)
        else:
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
    """Return some rows of the record under its warp with one of these powers, as evidence for learning."""
    problem, known = state.problem, state.checkpoint.hyperparameters
    warped, values = warp.fit(record.values, powers), record.values[rows]
    declared = noise_ratios(problem, known, warped, record, rows) - known.noise_ratio
    log_slopes = float(warped.log_slope(values).sum())
    positions, outputs = record.positions[rows], warped.forward(values)
    given = positions, outputs, declared
    return Evidence.over(problem.domain, *given, log_slopes=log_slopes, plates=record.plates_of(rows))


def _dictionary(state: State, record: Record) -> tuple[int, ...]:
    """Return the rows of the next dictionary, in increasing order: the best ones, and others drawn with probabilities
    proportional to their leverages, at most ``DICTIONARY`` in all.

    BKB draws by the same leverages, s2 / nu under the previous posterior, but without a limit. Here, rows are drawn
    without replacement, by the keys of Efraimidis and Spirakis (2006).
    """
    rows = to_fit(state.problem.seed, record.values)
    rows = rows[np.sort(np.unique(record.ordinals[rows], return_index=True)[1])]  # one row per point
    _, deviation = mean_and_std(state.surrogate, record.positions[rows])
    draws = np.maximum(uniforms(state.problem.seed, record.size, len(rows)), 1e-300)
    keys = np.log(draws) / np.maximum(deviation, 1e-12) ** 2
    keys[np.argsort(-record.values[rows], kind="stable")[: DICTIONARY // BEST]] = 0.0  # the largest key is drawn first
    return tuple(np.sort(rows[np.argsort(-keys, kind="stable")[:DICTIONARY]]).tolist())

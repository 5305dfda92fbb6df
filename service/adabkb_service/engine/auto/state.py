"""The state of a study in the engine under the ``auto`` profile. Values in, values out.

The hyperparameters are learned at *checkpoints*, at geometrically growing counts of results. Between two of them the
posterior is conditioned on one row after the other, and nothing else moves. So a state is a function of the record,
the tree and what was learned at the last checkpoint, computed in one way only: whether it ran or was restored, it
is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import likelihood, surrogate, thinned, warp
from adabkb_service.engine.auto.checkpoint import Checkpoint
from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.kernel import Kernel
from adabkb_service.engine.auto.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.rows import frontrunners, noise_ratios, to_fit, to_learn_from
from adabkb_service.engine.auto.surrogate import Surrogate
from adabkb_service.engine.auto.tree import Tree
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

EXACT = 800
"""Results up to which every row is in the posterior."""
DICTIONARY = 500
"""Points of the dictionary beyond that, ..."""
GROWTH = 125
"""... and rows added to it until it is drawn anew."""
REFIT = 10
"""The hyperparameters are learned anew when a tenth of the results is new, ..."""
OUTLIER = 5.0
"""... or when a model output is beyond this many standard deviations."""
CONTENDERS = 256
"""Best results among which the best by the model is looked for."""
CHUNK = 2048
"""Positions whose moments are computed at a time."""


@dataclass(frozen=True, slots=True)
class State:
    """A study between two requests."""

    problem: Problem
    record: Record
    tree: Tree
    checkpoint: Checkpoint
    warp: warp.Warp
    surrogate: Surrogate

    @property
    def declares_noise(self) -> bool:
        """Whether the user said that results are noisy."""
        return self.problem.config.noise_std is not None or bool(self.record.errors.any())


def due(state: State, value: float) -> bool:
    """Whether the next result, with this value, makes a checkpoint."""
    count, checkpoint = state.record.size + 1, state.checkpoint
    since = count - checkpoint.count
    if since >= max(1, count // REFIT):
        return True
    if count > EXACT and (checkpoint.dictionary is None or since >= GROWTH):
        return True
    return bool(not np.abs(state.warp.forward(np.array([value]))[0]) < OUTLIER)


def absorb(state: State, position: Array, value: float, error: float) -> State:
    """Condition the posterior on one more result."""
    record = state.record.add(position, value, error)
    return replace(state, record=record, surrogate=_conditioned(state, record, record.size - 1))


def learn(state: State, record: Record) -> State:
    """A checkpoint: the hyperparameters learned anew from a whole record, starting from the present ones, and
    whenever the count of results passes a power of two also from the prior's."""
    problem, hyperparameters = state.problem, state.checkpoint.hyperparameters
    rows = to_learn_from(problem.seed, record.values)
    if record.size >= likelihood.FEWEST:
        evidence = _evidence(problem, record, rows, hyperparameters)
        starts = [hyperparameters]
        if (
            record.size.bit_length() > state.checkpoint.count.bit_length()
        ):  # the optimum they are in may not be the best
            starts.append(likelihood.prior(problem.domain.dimension))
        hyperparameters = likelihood.learn(evidence, starts)
    dictionary = None if record.size <= EXACT else _dictionary(state, record)
    seen_from_afar = thinned.learn(problem, record, rows)
    return fitted(problem, record, state.tree, Checkpoint(record.size, hyperparameters, dictionary, seen_from_afar))


def fitted(problem: Problem, record: Record, tree: Tree, checkpoint: Checkpoint) -> State:
    """The state that follows from the record, the tree and what was learned: from scratch at the checkpoint, then
    row by row."""
    hyperparameters, rows = checkpoint.hyperparameters, to_fit(problem.seed, record.values[: checkpoint.count])
    warped = warp.fit(record.values[: checkpoint.count])
    kernel = Kernel(hyperparameters.lengthscales, problem.domain.categorical)
    positions, values = record.positions[rows], record.values[rows]
    noises = noise_ratios(problem, hyperparameters, warped, values, record.errors[rows])
    outputs = warped.forward(values)
    if checkpoint.dictionary is None:
        posterior = surrogate.exact(kernel, hyperparameters.variance, positions, outputs, noises)
    else:
        inducing = record.positions[np.array(checkpoint.dictionary, dtype=np.int64)]
        posterior = surrogate.compressed(kernel, hyperparameters.variance, inducing, positions, outputs, noises)
    state = State(problem, record, tree, checkpoint, warped, posterior)
    for row in range(checkpoint.count, record.size):
        state = replace(state, surrogate=_conditioned(state, record, row))
    return state


def mean_and_std(view: Surrogate, positions: Array) -> tuple[Array, Array]:
    """Mean and standard deviation at any number of positions, in pieces."""
    parts = [view.mean_and_std(positions[i : i + CHUNK]) for i in range(0, len(positions), CHUNK)]
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([deviation for _, deviation in parts])


def incumbent(state: State) -> int | None:
    """Row of the evaluated point of best posterior mean, ties to the first; None before the first result."""
    rows = frontrunners(state.record, CONTENDERS)
    if not len(rows):
        return None
    return int(rows[np.argmax(state.surrogate.mean(state.record.positions[rows]))])


def _conditioned(state: State, record: Record, row: int) -> Surrogate:
    one = slice(row, row + 1)
    values = record.values[one]
    noises = noise_ratios(state.problem, state.checkpoint.hyperparameters, state.warp, values, record.errors[one])
    return state.surrogate.condition(record.positions[one], state.warp.forward(values), noises)


def _evidence(problem: Problem, record: Record, rows: Ints, hyperparameters: Hyperparameters) -> Evidence:
    """Some rows, under the warp of the whole record."""
    warped, values = warp.fit(record.values), record.values[rows]
    declared = noise_ratios(problem, hyperparameters, warped, values, record.errors[rows]) - hyperparameters.noise_ratio
    return Evidence(record.positions[rows], warped.forward(values), declared, problem.domain.categorical)


def _dictionary(state: State, record: Record) -> tuple[int, ...]:
    """The next dictionary: rows drawn with probabilities proportional to their leverages, up to the cap (BKB's,
    rescaled).

    The leverages s2 / nu come from the posterior before. Without replacement, by Efraimidis and Spirakis' keys.
    """
    rows = to_fit(state.problem.seed, record.values)
    rows = rows[np.sort(np.unique(record.ordinals[rows], return_index=True)[1])]  # each point once
    _, deviation = mean_and_std(state.surrogate, record.positions[rows])
    draws = np.maximum(uniforms(state.problem.seed, record.size, len(rows)), 1e-300)
    keys = np.log(draws) / np.maximum(deviation, 1e-12) ** 2
    return tuple(np.sort(rows[np.argsort(-keys, kind="stable")[:DICTIONARY]]).tolist())

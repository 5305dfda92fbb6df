"""The engine's state of a study under the ``auto`` profile, as immutable values.

Hyperparameters are learned at *checkpoints*, whenever a tenth of the results is new (see ``learning``). Between two
checkpoints, each result conditions the posterior, and may change ``restarted_at`` and ``turns``; nothing else changes.
So a state is a function of the record, the tree and the last checkpoint. It is the same whether the study was restored
or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Problem
from adabkb_service.engine.auto.domain.tree import Tree
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.auto.model.conditioning import given_last, given_rows
from adabkb_service.engine.auto.model.feasible_results import best_feasible_rows, ranked
from adabkb_service.engine.auto.model.likelihood import NOISY
from adabkb_service.engine.auto.model.rows import to_fit
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.state.checkpoint import Checkpoint, Pruning
from adabkb_service.engine.auto.state.restarts import relevant_axes, start_after
from adabkb_service.engine.auto.state.turns import (
    MODELS_SHARE,
    NEW,
    Turns,
    are_off_grid,
    axes_of_model,
    fewest_for_model,
    is_restarts,
)
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.record import Record

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

CONTENDERS = 256
"""The number of best results among which the best one according to the model is searched."""
CHUNK = 2048
"""The number of positions whose moments are computed at a time."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checkpoint that is computed but not in effect yet, and the model at the last result."""

    checkpoint: Checkpoint
    warp: warp.Warp
    surrogate: Surrogate
    pruning: Pruning


@dataclass(frozen=True, slots=True)
class State:
    """The state of a study between two requests."""

    problem: Problem
    record: Record
    tree: Tree
    checkpoint: Checkpoint
    warp: warp.Warp
    surrogate: Surrogate
    cells_learned_from: int
    """The number of cells of the tree at the last result: a checkpoint ignores cells of later suggestions."""
    restarted_at: int | None = None
    """The number of results before the current restart (``restarts``); None unless the search has stalled or
    settled."""
    turns: Turns = NEW
    """Determines which method chooses the next point."""
    prepared: Prepared | None = None
    """Cache of the checkpoint that the next result requires."""
    spent: float = 0.0
    """Cost of the stopped trials. The model of costs does not use it, since these trials were not full evaluations."""
    metrics: tuple[State, ...] = ()
    """The states of the metrics, each modeled like an objective. Their trees have only a root, since no points are
    chosen for a metric alone."""

    @property
    def declares_noise(self) -> bool:
        """Whether the user declared noise, by ``noise_std`` or by standard errors of results."""
        own = bool(self.problem.config.noise_std) or bool(self.record.errors.any())
        return own or any(metric.declares_noise for metric in self.metrics)

    @property
    def bounded(self) -> list[tuple[State, Metric]]:
        """The metrics with bounds, each with the state that models it."""
        metrics = zip(self.metrics, self.problem.config.metrics, strict=True)
        return [(measured, metric) for measured, metric in metrics if metric.is_bounded]

    @property
    def seems_noisy(self) -> bool:
        """Whether the results are those of a smooth function with noise: the user says so, or they look like it."""
        known = self.checkpoint.hyperparameters
        if not self.problem.domain.is_smooth:
            return known.smooth
        return bool(self.problem.config.noise_std) or (known.noise_ratio > NOISY and not self.problem.config.is_exact)

    @property
    def model_axes(self) -> Ints:
        """The axes of the quadratic model: the relevant ones; in its alternative form all, if it has enough results."""
        axes = axes_of_model(self.problem, self.relevant_axes, seems_noisy=self.seems_noisy)
        if not self.turns.is_alternative:
            return axes
        every = axes_of_model(
            self.problem, np.ones(self.problem.domain.dimension, dtype=bool), seems_noisy=self.seems_noisy
        )
        return every if len(every) and self.record.size >= fewest_for_model(len(every)) else axes

    @property
    def relevant_axes(self) -> Bools:
        """Which axes are relevant, (d,): see ``restarts.relevant_axes``."""
        return relevant_axes(self.problem, self.checkpoint.hyperparameters)

    def in_model_outputs(self, metric: Metric) -> tuple[float, float]:
        """Return the bounds of the metric that this state models, in model outputs."""
        lower, upper = metric.signed_bounds
        return (
            float(self.warp.forward(np.array([lower]))[0]) if np.isfinite(lower) else -np.inf,
            float(self.warp.forward(np.array([upper]))[0]) if np.isfinite(upper) else np.inf,
        )


def with_spent(state: State, cost: float) -> State:
    """Return the state with the cost of stopped trials."""
    return state if cost == state.spent else replace(state, spent=cost)


def with_result(state: State, record: Record) -> State:
    """Return the state conditioned on the last result of a record, which has one more result than the state's.

    Raises:
        FloatingPointError: the covariance overflows floating point.
    """
    after = _conditioned(state, record)
    return replace(after, cells_learned_from=state.tree.size, prepared=None)


def fitted(
    problem: Problem,
    record: Record,
    tree: Tree,
    checkpoint: Checkpoint,
    cells_learned_from: int | None = None,
    metrics: tuple[State, ...] = (),
) -> State:
    """Return the state that follows from the record, the tree and the checkpoint. It is computed from scratch as of the
    checkpoint, then conditioned on the later results one by one. The states of metrics must belong to the whole record.

    Raises:
        FloatingPointError: the covariance overflows floating point.
    """
    hyperparameters, rows = checkpoint.hyperparameters, to_fit(problem.seed, record.values[: checkpoint.count])
    warped = warp.fit(record.values[: checkpoint.count], hyperparameters.powers)
    before = record.first(checkpoint.count)
    inducing = None if checkpoint.dictionary is None else before.positions[list(checkpoint.dictionary)]
    posterior = given_rows(problem, before, rows).posterior(problem.domain, hyperparameters, warped, inducing)
    cells_learned_from = tree.size if cells_learned_from is None else cells_learned_from
    restart, turns = checkpoint.restarted_at, checkpoint.turns
    state = State(
        problem, before, tree, checkpoint, warped, posterior, cells_learned_from, restart, turns, metrics=metrics
    )
    for count in range(checkpoint.count + 1, record.size + 1):
        state = _conditioned(state, record.first(count))
    return state


def restarted_at(state: State, record: Record) -> int | None:
    """Return ``State.restarted_at`` for a record with more results."""
    config = state.problem.config
    if config.objective is not None:  # the search for a front never stalls
        return None
    results = ranked(config.metrics, record)
    return start_after(state.restarted_at, state.problem.domain, results, state.relevant_axes)


def turns_after(state: State, record: Record) -> Turns:
    """Return ``State.turns`` for a record with one more result; ``NEW`` if the record was changed in another way."""
    step, axes = state.record.size, len(state.model_axes)
    if record.size != step + 1:
        return NEW
    if not axes or step < fewest_for_model(axes):
        return state.turns
    shown = are_models(state, record.positions[-1:])
    is_models = is_models_step(state, state.turns, step) if shown is None else bool(shown[0])
    return state.turns.after(is_models=is_models, gained=bool(record.values[-1] > state.record.values.max()))


def are_models(state: State, points: Array) -> Bools | None:
    """Return which points, (k, d), pending or with a result, are the quadratic model's; None if points do not show it.

    They do not if too many of the results so far are off the grid: in a mixture, points of cells are moved to the
    nearest mixture, a worker may round all parameters, and the range of a parameter may be tiny compared with its
    values. Results are then assumed to be in the order of the steps (``is_models_step``).
    """
    domain = state.problem.domain
    if are_off_grid(domain, state.record.positions).mean() > MODELS_SHARE:
        return None
    return are_off_grid(domain, points)


def is_models_step(state: State, turns: Turns, step: int) -> bool:
    """Return whether a step, with the turns before it, is the quadratic model's."""
    return not is_restarts(state.restarted_at, step) and turns.is_models(len(state.model_axes))


def mean_and_std(view: Surrogate, positions: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation, (k,) each, at any number of cube positions (k, d), computed in chunks."""
    parts = [view.mean_and_std(positions[i : i + CHUNK]) for i in range(0, len(positions), CHUNK)]
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([deviation for _, deviation in parts])


def incumbent(state: State) -> int | None:
    """Return the row with the best posterior mean, the first one in case of ties; None before the first result. If
    metrics have bounds, only feasible results count or, if there are none, the one with the smallest violation."""
    rows = best_feasible_rows(state.problem.config.metrics, state.record, CONTENDERS)
    if not len(rows):
        return None
    return int(rows[np.argmax(state.surrogate.mean(state.record.positions[rows]))])


def within_reach(state: State) -> tuple[float, float]:
    """Return the smallest and the largest model output that can be converted to a value."""
    if not state.record.size:
        return -np.inf, np.inf
    return state.warp.reach(float(state.record.values.min()), float(state.record.values.max()))


def _conditioned(state: State, record: Record) -> State:
    """Return the state with the posterior conditioned on the last result of a record, one more than the state has."""
    hyperparameters = state.checkpoint.hyperparameters
    posterior = given_last(state.problem, record).conditioned(state.surrogate, hyperparameters, state.warp)
    restart, turns = restarted_at(state, record), turns_after(state, record)
    return replace(state, record=record, surrogate=posterior, restarted_at=restart, turns=turns)

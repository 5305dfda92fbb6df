"""A run of a system on a function: regret, time and leaf set by step, as in the paper's figures."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.policy import Policy
from benchmarks.functions import Function

COUNTS = (
    1,
    2,
    3,
    5,
    7,
    10,
    15,
    20,
    30,
    40,
    50,
    60,
    80,
    100,
    125,
    150,
    175,
    200,
    250,
    300,
    350,
    400,
    450,
    500,
    600,
    700,
    1000,
    1500,
    2000,
    3000,
    4000,
    5000,
)
"""The numbers of steps at which a run is recorded, in addition to the last one."""


@dataclass(slots=True)
class Run:
    """The record of a run."""

    steps: int = 0
    """Number of steps; fewer than requested if the time limit was reached."""
    average_regret: float = 0.0
    """Mean over the steps of f(x_t) minus the minimum, without noise."""
    best_regret: float = float("inf")
    seconds: float = 0.0
    """Processor time spent in ``suggest`` and ``observe``; with one BLAS thread on an idle core, the wall time."""
    evaluation_seconds: float = 0.0
    """Total duration of the evaluations."""
    max_leaves: int = 0
    first_early_stop: int | None = None
    """Step (from 1) after which the paper's early stop first held; the run continues, as the authors' did."""
    points: int = 0
    """Distinct points evaluated."""
    at: list[int] = field(default_factory=list)
    """Steps that the lists below refer to."""
    regrets: list[float] = field(default_factory=list)
    """Average regret so far."""
    times: list[float] = field(default_factory=list)
    """Cumulative seconds of the system and the evaluations."""
    leaves: list[int] = field(default_factory=list)
    """Number of leaves, of cells under test, or of fixed points."""
    best: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    """The best and the last evaluated point, (d,) each."""
    test_errors: dict[str, float] = field(default_factory=dict)
    """Test errors of a tuned model at the best and at the last point."""


def run(
    function: Function,
    config: Any,
    steps: int,
    seed: int,
    *,
    noise_std: float,
    policy: Policy[Any, Any] = ada_bkb,
    limit: float = float("inf"),
    initial: int = 0,
) -> Run:
    """Minimize a function.

    Args:
        function: the function, without noise.
        config: the policy's constants.
        steps: number of evaluations.
        seed: seed of the noise and of the system.
        noise_std: standard deviation of the noise of a result.
        policy: the system's policy.
        limit: seconds, of system and evaluations, after which the run is stopped (the paper's time threshold).
        initial: number of random fixed points that a system without a tree gets at the start; they are not counted.
    """
    noise = np.random.default_rng(seed).normal(0.0, noise_std, steps)
    space, outcome, total = function.space, Run(), 0.0
    started = time.thread_time()
    state = policy.start(space, config, seed)
    outcome.seconds = time.thread_time() - started
    if initial:
        state = _given(function, policy, state, np.random.default_rng((seed, initial)), initial, noise_std)
    nothing_pending, seen = np.zeros((0, function.dimension)), set()
    for step in range(steps):
        before = time.thread_time()
        suggestion = policy.suggest(state, nothing_pending)
        outcome.seconds += time.thread_time() - before

        x = np.array(list(space.decode(suggestion.point).values()))
        regret = function.regret(x)
        result = -(regret + function.minimum) + noise[step]

        before = time.thread_time()
        state = policy.observe(suggestion.state, suggestion.point, result).state
        outcome.seconds += time.thread_time() - before

        total += regret
        seen.add(suggestion.point.tobytes())
        leaves = _leaves(policy, state)
        outcome.steps = step + 1
        outcome.average_regret = total / outcome.steps
        if regret < outcome.best_regret:
            outcome.best_regret, outcome.best = regret, x.tolist()
        outcome.last = x.tolist()
        outcome.evaluation_seconds += 0.0 if function.cost is None else function.cost(x)
        outcome.max_leaves = max(outcome.max_leaves, leaves)
        outcome.points = len(seen)
        if outcome.first_early_stop is None and policy.stopped(state):
            outcome.first_early_stop = outcome.steps
        late = outcome.seconds + outcome.evaluation_seconds > limit
        if outcome.steps in COUNTS or outcome.steps == steps or late:
            outcome.at.append(outcome.steps)
            outcome.regrets.append(outcome.average_regret)
            outcome.times.append(outcome.seconds + outcome.evaluation_seconds)
            outcome.leaves.append(leaves)
        if late:
            break
    return outcome


def _given(
    function: Function, policy: Policy[Any, Any], state: Any, rng: np.random.Generator, initial: int, noise_std: float
) -> Any:
    """The state after results of random fixed points."""
    for point in rng.choice(state.problem.fixed, initial, replace=False):
        x = np.array(list(function.space.decode(point).values()))
        state = policy.observe(state, point, rng.normal(0.0, noise_std) - function.evaluate(x)).state
    return state


def _leaves(policy: Policy[Any, Any], state: Any) -> int:
    return state.tree.count if isinstance(state, ada_bkb_module.State) else policy.report(state).leaves

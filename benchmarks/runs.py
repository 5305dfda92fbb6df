"""One run of the engine on one function, with the authors' constants and what they measured."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine.policies import ada_bkb
from adabkb_service.engine.policies.ada_bkb import Config
from benchmarks.functions import Function

AUTHORS: Mapping[str, Any] = json.loads((Path(__file__).parent / "authors.json").read_text())
STEPS: int = AUTHORS["common"]["steps"]
NOISE_STD: float = AUTHORS["common"]["noise_std"]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run did."""

    average_regret: float
    """Mean over the steps of f(x_t) minus the minimum, without noise."""
    best_regret: float
    seconds: float
    """Processor time spent in ``suggest`` and ``observe``: with one BLAS thread, the wall time of an idle core."""
    max_leaves: int
    first_early_stop: int | None
    """Step (from 1) after which the paper's early stop first held; the run goes on, as the authors' did."""
    points: int
    """Distinct points evaluated."""


def authors_results(name: str) -> Mapping[str, Any]:
    """What the authors measured on a function."""
    results: Mapping[str, Any] = AUTHORS["functions"][name]["results"]
    return results


def authors_config(name: str) -> Config:
    """The constants the authors ran with: raw coordinates and outputs, explicit v1 and rho, their beta."""
    constants = AUTHORS["functions"][name]["constants"]
    noise_std = constants["ridge"]
    return Config(kernel="gaussian", coordinates="raw", outputs="raw", beta="authors", noise_std=noise_std, **constants)


def run(function: Function, config: Config, steps: int, seed: int) -> Run:
    """Minimise a function; the seed draws the noise of the results, and the dictionary where it is random at all."""
    noise = np.random.default_rng(seed).normal(0.0, NOISE_STD, steps)
    space = function.space
    state = ada_bkb.start(space, config, seed)
    nothing_pending = np.zeros((0, function.dimension))
    regrets, leaves, seconds, early_stop = [], 0, 0.0, None
    for step in range(steps):
        before = time.thread_time()
        suggestion = ada_bkb.suggest(state, nothing_pending)
        seconds += time.thread_time() - before

        x = np.array(list(space.decode(suggestion.point).values()))
        regrets.append(function.regret(x))
        result = -function.evaluate(x) + noise[step]

        before = time.thread_time()
        state = ada_bkb.observe(suggestion.state, suggestion.point, result).state
        seconds += time.thread_time() - before

        leaves = max(leaves, state.tree.count)
        if early_stop is None and ada_bkb.stopped(state):
            early_stop = step + 1
    return Run(float(np.mean(regrets)), min(regrets), seconds, leaves, early_stop, len(state.points.evaluated))

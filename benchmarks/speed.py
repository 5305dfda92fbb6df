"""How long the engine takes: a step against leaves and dictionary, the authors' runs, and the oracle.

``make bench``; about two minutes, on one core and one BLAS thread. Times are processor time, which on an idle core
is the wall time and on a shared machine is still comparable. ``docs/benchmarks.md`` says what the numbers mean.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper.config import Problem
from adabkb_service.engine.paper.policy import Config, State, ada_bkb
from adabkb_service.engine.paper.restore import blank
from adabkb_service.engine.paper.state import Array, add_points, expand, refactorize
from adabkb_service.engine.space import Space
from benchmarks.functions import Function
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.paper import authors
from benchmarks.paper.authors import STEPS
from benchmarks.paper.functions import FUNCTIONS
from benchmarks.paper.runs import run
from tests.unit.engine.oracle import Oracle

LEAVES = (200, 2_000, 20_000)
DICTIONARY = (30, 100, 300)
DIMENSION = 6
REPETITIONS = 15
NOTHING_PENDING = np.zeros((0, DIMENSION))

# With KEEP_ALL, every p_i = min(1, qbar n_i s2_i) is 1. With DEFAULT, a few points enter or leave the dictionary at
# every step; with REDRAW, a fifth of it does.
KEEP_ALL, DEFAULT, REDRAW = 1e9, Config.qbar, 1.5
STUDY = Config(kernel="gaussian", lengthscale=0.6, ridge=0.01, norm_bound=2.0, qbar=KEEP_ALL, max_depth=60, branching=3)

Step = Callable[[State, int], State]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "speed.json")
    options = parser.parse_args()
    with threadpool_limits(1):
        steps = step_times()
        runs = run_times()
        oracle = against_oracle()
    write(
        options.out,
        {**provenance("benchmarks.speed"), "steps": steps, "runs": runs, "oracle": oracle},
    )
    show_steps(steps)
    show_runs(runs)
    print(
        f"\nOracle, {oracle['steps']} steps of {oracle['function']}: {oracle['oracle_ms']:.1f} ms a step, "
        f"engine {oracle['engine_ms']:.2f} ms, ratio {oracle['ratio']:.0f}"
    )


def measured(action: Callable[[], Any]) -> float:
    """Milliseconds of processor time."""
    before = time.thread_time()
    action()
    return 1e3 * (time.thread_time() - before)


def spread(milliseconds: list[float]) -> dict[str, float]:
    """Median and 90th percentile."""
    return {"median": float(np.median(milliseconds)), "p90": float(np.percentile(milliseconds, 90))}


# -- a step (suggest and observe) against leaves and dictionary -------------------------------------------------------


def objective(positions: Array) -> Array:
    """A quadratic function on the unit cube, (k, d) -> (k,)."""
    values: Array = -((positions - 0.3) ** 2).sum(axis=1)
    return values


def grown(leaves: int) -> State:
    """A study without results whose tree has (about) this many leaves, split evenly."""
    space = Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(DIMENSION)))
    state = blank(Problem(space, STUDY, seed=0))
    while state.tree.count < leaves:
        state = expand(state, int(state.tree.leaves[0]))
    return state


def with_results(state: State, count: int, qbar: float) -> State:
    """A study with one result at each of ``count`` random points, all of them in the dictionary."""
    positions = np.random.default_rng(0).random((count, DIMENSION))
    state, ids = add_points(state, positions)
    counts = np.zeros(state.points.size)
    counts[ids] = 1.0
    evaluated = np.array(ids)
    points = replace(
        state.points, counts=counts, evaluated=evaluated, observed=np.arange(count), values=objective(positions)
    )
    problem = replace(state.problem, config=replace(STUDY, qbar=qbar))
    return refactorize(replace(state, points=points, problem=problem), evaluated, count)


def repeat(state: State, step: int) -> State:
    """Add a result at a point that already has one, so that the dictionary does not change."""
    suggestion = ada_bkb.suggest(state, NOTHING_PENDING)
    points = suggestion.state.points
    position = points.positions.array[points.evaluated[step]]
    return ada_bkb.observe(suggestion.state, position, float(objective(position[None])[0])).state


def follow(state: State, step: int) -> State:  # noqa: ARG001
    """Add a result at the suggestion, a new point, which enters the dictionary."""
    suggestion = ada_bkb.suggest(state, NOTHING_PENDING)
    return ada_bkb.observe(suggestion.state, suggestion.point, float(objective(suggestion.point[None])[0])).state


KINDS: dict[str, tuple[Step, float]] = {
    "unchanged": (repeat, KEEP_ALL),
    "one added": (follow, KEEP_ALL),
    "drawn": (follow, DEFAULT),
    "redrawn": (follow, REDRAW),
}


def step_times() -> list[dict[str, Any]]:
    """Times of a step per number of leaves, size of the dictionary and kind of step."""
    rows = []
    with tqdm(total=len(LEAVES) * len(DICTIONARY) * len(KINDS), unit="case") as progress:
        for leaves in LEAVES:
            tree = grown(leaves)
            for dictionary, (name, (step, qbar)) in product(DICTIONARY, KINDS.items()):
                times = timed(with_results(tree, dictionary, qbar), step)
                rows.append({"leaves": leaves, "dictionary": dictionary, "kind": name, **times})
                progress.update()
    return rows


def timed(state: State, step: Step) -> dict[str, Any]:
    """Times of successive steps and of a computation from scratch, and the number of changes of the dictionary."""
    milliseconds, changes = [], []
    for number in range(REPETITIONS):
        present = set(ada_bkb.dictionary(state))
        before = time.thread_time()
        state = step(state, number)
        milliseconds.append(1e3 * (time.thread_time() - before))
        changes.append(len(present ^ set(ada_bkb.dictionary(state))))
    scratch = [measured(lambda: refactorize(state, state.gp.sketch.dictionary, 0)) for _ in range(3)]
    step_ms, scratch_ms = spread(milliseconds), float(np.median(scratch))
    return {
        "step_ms": step_ms,
        "scratch_ms": scratch_ms,
        "speedup": scratch_ms / step_ms["median"],
        "changed_members": float(np.median(changes)),
    }


def show_steps(steps: list[dict[str, Any]]) -> None:
    print("\nTime of a step (suggest and observe), and of a posterior from scratch [ms]")
    print_table(
        ["dictionary", "size", "leaves", "median", "90%", "members changed", "from scratch", "ratio"],
        [
            [
                row["kind"],
                str(row["dictionary"]),
                str(row["leaves"]),
                f"{row['step_ms']['median']:.2f}",
                f"{row['step_ms']['p90']:.2f}",
                f"{row['changed_members']:.0f}",
                f"{row['scratch_ms']:.1f}",
                f"{row['speedup']:.1f}",
            ]
            for row in sorted(steps, key=lambda row: (row["kind"], row["dictionary"], row["leaves"]))
        ],
    )


# -- the authors' runs -------------------------------------------------------------------------------------------------


def run_times(repetitions: int = 3) -> dict[str, dict[str, Any]]:
    """Optimizer seconds of the authors' T = 700 runs."""
    times = {}
    for name, function in tqdm(FUNCTIONS.items(), unit="function"):
        traced = authors.results(name)
        if traced is None:
            continue
        config, noise_std = authors.config(name), authors.noise_std(name)
        runs = [run(function, config, STEPS, seed, noise_std=noise_std) for seed in range(repetitions)]
        seconds = [run.seconds for run in runs]
        times[name] = {
            "seconds": float(np.median(seconds)),
            "min": min(seconds),
            "max": max(seconds),
            "points": runs[0].points,
            "authors_seconds": traced["seconds"],
        }
    return times


def show_runs(runs: dict[str, dict[str, Any]]) -> None:
    print(f"\nOptimizer seconds of the authors' runs, T = {STEPS}; the authors' on their machine")
    print_table(
        ["function", "median", "min", "max", "points", "authors"],
        [
            [
                name,
                *(f"{row[key]:.2f}" for key in ("seconds", "min", "max")),
                str(row["points"]),
                f"{row['authors_seconds']:.2f}",
            ]
            for name, row in runs.items()
        ],
    )


# -- against the oracle ------------------------------------------------------------------------------------------------


def against_oracle(name: str = "Hartmann_3", steps: int = 60) -> dict[str, Any]:
    """Compare the engine with the literal transcription on a problem. Both must make the same evaluations."""
    function, config = FUNCTIONS[name], Config(lengthscale=0.5, ridge=0.01, max_depth=12)
    oracle = Oracle(function.space, config, seed=0, max_expansions=ada_bkb_module.MAX_EXPANSIONS)
    visited: list[list[float]] = []

    def slow() -> None:
        for _ in range(steps):
            cell = oracle.suggest()
            visited.append(cell.arm.u)
            oracle.observe(cell, -value(function, np.array(cell.arm.u)))

    def fast() -> None:
        state = ada_bkb.start(function.space, config, 0)
        for u in visited:
            suggestion = ada_bkb.suggest(state, np.zeros((0, function.dimension)))
            if suggestion.point.tolist() != u:
                raise RuntimeError("engine and oracle disagree; tests/unit/engine/test_oracle.py should say why")
            state = ada_bkb.observe(suggestion.state, suggestion.point, -value(function, suggestion.point)).state

    oracle_ms, engine_ms = measured(slow) / steps, measured(fast) / steps
    return {
        "function": name,
        "steps": steps,
        "oracle_ms": oracle_ms,
        "engine_ms": engine_ms,
        "ratio": oracle_ms / engine_ms,
    }


def value(function: Function, u: Array) -> float:
    """The function at a cube position."""
    return function.evaluate(np.array(list(function.space.decode(u).values())))


if __name__ == "__main__":
    main()

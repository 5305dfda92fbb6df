"""The cost of a suggestion as results accumulate: the ``auto`` profile, and Optuna's GPSampler and TPE.

``make bench-scaling``; needs the peers. Hartmann 6, a third of the results uniform and two thirds around the optimum;
one core and one BLAS thread, processor time. A step is one suggestion and one observation; at each count the same
record is given to every method.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from adabkb_service.engine.auto import policy as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.record import Record, of
from benchmarks.functions import Array
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.quality.functions import FUNCTIONS

FUNCTION = FUNCTIONS["Hartmann_6"]
SPACE = FUNCTION.space
NOISE_STD = 0.01
SEED = 0
CUTS_PER_RESULT = 3
"""Cells in the tree per result, about as in runs with six dimensions."""
COUNTS = {
    "auto": ((200, 100), (500, 100), (1_000, 300), (2_000, 300), (10_000, 300), (50_000, 300)),
    "gpsampler": ((200, 5), (500, 3), (1_000, 2), (2_000, 1)),
    "tpe": ((1_000, 20), (5_000, 10), (10_000, 5)),
}
"""Method -> (results, steps timed)."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "scaling.json")
    parser.add_argument("--methods", nargs="+", choices=COUNTS, default=list(COUNTS))
    parser.add_argument("--measure", nargs=3, metavar=("METHOD", "RESULTS", "STEPS"), help="one cell, as JSON")
    options = parser.parse_args()
    if options.measure:
        method, count, steps = options.measure
        with threadpool_limits(1):
            print(json.dumps(MEASURES[method](int(count), int(steps))))
        return
    cells = []
    for method in options.methods:
        for count, steps in COUNTS[method]:
            cells.append({"method": method, "results": count, "steps": steps, **in_process(method, count, steps)})
            print(json.dumps(cells[-1]), flush=True)
    write(options.out, {**provenance("benchmarks.scaling"), "cells": cells})
    show(cells)


def in_process(method: str, count: int, steps: int) -> dict[str, Any]:
    """A measurement in a separate process, so that its memory can be measured."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--measure", method, str(count), str(steps)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # for torch, which threadpoolctl does not reach
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def record(count: int) -> Record:
    """Results of a study that has found the optimum and still looks elsewhere."""
    rng = np.random.default_rng(SEED)
    uniform = rng.random((count // 3, SPACE.dimension))
    optimum = SPACE.encode(dict(zip((axis.name for axis in SPACE.axes), FUNCTION.minimizer, strict=True)))
    spread = np.exp(rng.uniform(-6.0, -1.0, (count - len(uniform), 1)))
    near = np.clip(optimum + spread * rng.normal(size=(len(spread), SPACE.dimension)), 0.0, 1.0)
    positions = SPACE.snap(rng.permutation(np.concatenate([uniform, near])))
    return of(positions, np.array([result(p, rng) for p in positions]), np.zeros(count))


def result(position: Array, rng: np.random.Generator) -> float:
    """A noisy result at a position; larger is better."""
    x = np.array(list(SPACE.decode(position).values()))
    return -FUNCTION.evaluate(x) + NOISE_STD * float(rng.normal())


def cells_of(count: int) -> dict[str, str]:
    """A tree with as many leaves as such a study has. The oldest leaf is halved, along each axis in turn."""
    cells, leaves = {"0": "leaf"}, ["0"]
    for cut in range(CUTS_PER_RESULT * count):
        key = leaves[cut]
        cells[key] = "expanded"
        for part in range(2):
            child = f"{key}.{key.count('.') % SPACE.dimension}-{part}"
            cells[child] = "leaf"
            leaves.append(child)
    return cells


def measure_auto(count: int, steps: int) -> dict[str, Any]:
    """Measure the rebuilding of a study with ``count`` results from its rows, and then steps, which include refits and
    new draws of the dictionary when they are due."""
    rng = np.random.default_rng(SEED + 1)
    past, cells = record(count), cells_of(count)
    state = auto.start(SPACE, auto_module.Config(), SEED)
    for _ in range(2):  # the second draws the dictionary by the leverages of the first
        state = auto.rebuild(state, past, {}).state
    learned = json.loads(json.dumps(auto.learned(state)))
    before = time.thread_time()
    state = auto.restore(SPACE, auto_module.Config(), SEED, past, cells, auto.dictionary(state), learned)
    rebuild = time.thread_time() - before
    del cells, past, learned
    times, nothing_pending = [], np.zeros((0, SPACE.dimension))
    for _ in range(steps):
        before = time.thread_time()
        suggestion = auto.suggest(state, nothing_pending)
        asked = time.thread_time() - before
        value = result(suggestion.point, rng)
        before = time.thread_time()
        state = auto.observe(suggestion.state, suggestion.point, value).state
        times.append(asked + time.thread_time() - before)
    leaves = state.tree.leaves
    return {**summary(times), "rebuild_seconds": rebuild, "megabytes": resident_megabytes(), "leaves": leaves}


def resident_megabytes() -> float:
    """Current memory of this process in MiB. The caller must first release rows and keys that a server would not
    keep."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure_peer(count: int, steps: int, sampler: Callable[..., Any]) -> dict[str, Any]:
    """Measure ``ask`` and ``tell`` of an Optuna study with the results of the record."""
    import optuna  # noqa: PLC0415 - the peers are an extra

    from benchmarks.quality.methods.optuna_samplers import distribution  # noqa: PLC0415

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(SEED + 1)
    past = record(count)
    distributions = {axis.name: distribution(axis) for axis in SPACE.axes}
    study = optuna.create_study(sampler=sampler(optuna.samplers))
    study.add_trials(
        [
            optuna.create_trial(params=SPACE.decode(position), distributions=distributions, value=-value)
            for position, value in zip(past.positions, past.values, strict=True)
        ]
    )
    times = []
    for _ in range(steps):
        before = time.thread_time()
        trial = study.ask(distributions)
        asked = time.thread_time() - before
        value = -result(SPACE.encode(trial.params), rng)
        before = time.thread_time()
        study.tell(trial, value)
        times.append(asked + time.thread_time() - before)
    return summary(times)


def summary(times: list[float]) -> dict[str, Any]:
    """Seconds per step."""
    median, tail = np.quantile(times, [0.5, 0.99])
    return {"median": float(median), "p99": float(tail), "largest": max(times)}


MEASURES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "auto": measure_auto,
    "gpsampler": lambda count, steps: measure_peer(count, steps, lambda s: s.GPSampler(seed=SEED)),
    "tpe": lambda count, steps: measure_peer(count, steps, lambda s: s.TPESampler(multivariate=True, seed=SEED)),
}


HEADER = ("method", "results", "steps", "median ms", "99% ms", "largest ms", "rebuild s", "MB")


def show(cells: list[dict[str, Any]]) -> None:
    print_table(HEADER, list(rows(cells)))


def rows(cells: list[dict[str, Any]]) -> Iterator[list[str]]:
    for cell in cells:
        times = [printed(1e3 * cell[name]) for name in ("median", "p99", "largest")]
        rest = [f"{cell[name]:.3g}" if name in cell else "" for name in ("rebuild_seconds", "megabytes")]
        yield [cell["method"], f"{cell['results']:,}", str(cell["steps"]), *times, *rest]


def printed(milliseconds: float) -> str:
    """With three significant digits, and without an exponent."""
    rounded = float(f"{milliseconds:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


if __name__ == "__main__":
    main()

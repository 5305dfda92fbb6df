"""Eight workers at once against one after the other: the section of docs/quality.md."""

from __future__ import annotations

import numpy as np

from benchmarks.output import RESULTS
from benchmarks.quality import store
from benchmarks.quality.problems import FUNCTION_PROBLEMS, NOISE_STD
from benchmarks.quality.scores import collect
from benchmarks.quality.store import Results

WORKERS = RESULTS / "quality-workers.json"
"""Made by ``run --method eight_workers=... --out``, see the Makefile."""
SEQUENTIAL, PARALLEL = "auto", "eight_workers"
BUDGET = 200
ACCEPTABLE = 1.5
"""Times the sequential regret."""


def section(results: Results) -> str:
    """Median regrets of both, and how many functions are within the acceptable ratio."""
    names = list(FUNCTION_PROBLEMS)
    one = collect(results, names, BUDGET, floor=NOISE_STD).get(SEQUENTIAL)
    eight = collect(store.load(WORKERS), names, BUDGET, floor=NOISE_STD).get(PARALLEL)
    if one is None or eight is None:
        return "Not measured yet."
    rows, within = [], 0
    for name in names:
        alone, together = float(np.median(one[name])), float(np.median(eight[name]))
        within += together <= ACCEPTABLE * alone
        rows.append(f"| {name} | {alone:.3g} | {together:.3g} | {together / alone:.2f} |")
    table = "\n".join(["| problem | one worker | eight workers | ratio |", "| --- | --- | --- | --- |", *rows])
    return f"Within {ACCEPTABLE} times: {within} of {len(names)}.\n\n{table}"

"""The section of docs/quality.md that compares eight parallel workers with one."""

from __future__ import annotations

import numpy as np

from benchmarks.output import RESULTS
from benchmarks.quality import store
from benchmarks.quality.families import DEVELOPMENT_PROBLEMS, FINAL_PROBLEMS
from benchmarks.quality.problems import FUNCTION_PROBLEMS, NOISE_STD
from benchmarks.quality.scores import collect
from benchmarks.quality.store import Results

WORKERS = RESULTS / "quality-workers.json"
"""Made by ``run --method eight_workers=... --out``; see the Makefile."""
SEQUENTIAL, PARALLEL = "auto", "eight_workers"
BUDGET = 200
ACCEPTABLE = 1.5
"""Acceptable ratio to the sequential regret."""
SETS = ((FUNCTION_PROBLEMS, NOISE_STD), (DEVELOPMENT_PROBLEMS, -np.inf), (FINAL_PROBLEMS, -np.inf))
"""Problems, and the limit below which their regrets count as equal; scores of families already have a floor."""


def section(*results: Results) -> str:
    """Median scores of both, and the number of functions within the acceptable ratio.

    Args:
        results: of one worker on the functions, on the development families, and on the final ones.
    """
    together = store.load(WORKERS)
    rows, within = [], 0
    for (problems, floor), alone in zip(SETS, results, strict=True):
        one = collect(alone, problems, BUDGET, floor=floor).get(SEQUENTIAL, {})
        eight = collect(together, problems, BUDGET, floor=floor).get(PARALLEL, {})
        for name in (each for each in problems if each in one and each in eight):
            medians = float(np.median(one[name])), float(np.median(eight[name]))
            ratio = medians[1] / medians[0]
            within += ratio <= ACCEPTABLE
            rows.append(f"| {name} | {medians[0]:.3g} | {medians[1]:.3g} | {ratio:.2f} |")
    table = "\n".join(["| problem | one worker | eight workers | ratio |", "| --- | --- | --- | --- |", *rows])
    return f"Within {ACCEPTABLE} times: {within} of {len(rows)}.\n\n{table}"

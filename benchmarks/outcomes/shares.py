"""The number of evaluations that methods need to reach the regret of a baseline, relative to the baseline's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.functions import Array
from benchmarks.outcomes import runs

FLOOR = 1e-3
"""Regrets below this value count as equal. The unit is the median regret of random points."""


def tables(
    path: Path, problems: Sequence[str], methods: Sequence[str], counts: Sequence[int], plain: str
) -> Iterator[runs.Table]:
    """The number of evaluations that each method needs to reach the median regret of the baseline after each of
    ``counts``. If a method does not reach it, the number is the budget.

    Args:
        path: the file of the runs, whose ``best`` is the smallest regret after each evaluation.
        problems: the problems to include, if they have runs.
        methods: the methods, the baseline first.
        counts: numbers of evaluations of the baseline; the regret after each is a target.
        plain: the name of the baseline in the title.
    """
    found = runs.comparable(path, problems, methods)
    for count in counts:
        rows, shares = [], []
        for problem in found.problems:
            median = {m: _median(found.of(problem, m)) for m in methods}
            if count > len(median[methods[0]]):
                continue
            target = max(float(median[methods[0]][count - 1]), FLOOR)
            taken = [_evaluations(median[m], target) for m in methods]
            shares.append([each / taken[0] for each in taken])
            rows.append([problem, f"{target:.2g}", *map(str, taken)])
        if rows:
            title = f"Evaluations for the regret after {count} {plain}, {len(found.seeds)} seeds"
            means = np.exp(np.log(shares).mean(axis=0))
            last = [f"relative to {methods[0]}, geometric mean", "", *(f"{each:.2f}" for each in means)]
            yield runs.Table(title, ["problem", "regret", *methods], [*rows, last])


def _median(found: Sequence[Mapping[str, Any]]) -> Array:
    median: Array = np.median([run["best"] for run in found], axis=0)
    return median


def _evaluations(median: Array, target: float) -> int:
    reached = np.flatnonzero(median <= target)
    return int(reached[0]) + 1 if len(reached) else len(median)

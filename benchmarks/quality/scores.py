"""Comparison of methods at one budget: ranks, ties and ratios of the medians over seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu, rankdata

from benchmarks.functions import Array
from benchmarks.quality.runs import BUDGETS, COUNTS
from benchmarks.quality.store import Results

SIGNIFICANCE = 0.05
MUCH_WORSE = 3.0

Scores = dict[str, dict[str, Array]]
"""method -> problem -> score per seed; all methods have the same problems."""
Read = Callable[[Mapping[str, Any], int], float | None]
"""(run, budget) -> score; None if there is none."""


def observed(run: Mapping[str, Any], budget: int) -> float | None:
    """Score of the point with the best value."""
    return _entry(run["observed"], COUNTS, budget)


def validation(run: Mapping[str, Any], budget: int) -> float | None:
    """Best validation loss of a tuning task."""
    return _entry(run["values"], COUNTS, budget)


def recommended(run: Mapping[str, Any], budget: int) -> float | None:
    """Score of the method's recommendation."""
    return _entry(run["recommended"], BUDGETS, budget)


def seconds(run: Mapping[str, Any], budget: int) -> float | None:
    """Processor time spent in the method."""
    return _entry(run["seconds"], BUDGETS, budget)


def _entry(numbers: list[float], counts: tuple[int, ...], budget: int) -> float | None:
    index = counts.index(budget) if budget in counts else len(numbers)
    return numbers[index] if index < len(numbers) else None


def collect(
    results: Results,
    problems: Iterable[str],
    budget: int,
    read: Read = observed,
    *,
    floor: float = -np.inf,
    seeds: int | None = None,
) -> Scores:
    """The scores at a budget, for methods with scores on every problem. Scores below the floor count as equal."""
    problems = list(problems)
    found: dict[str, dict[str, list[float]]] = {}
    for (problem, method, seed), run in sorted(results.runs.items()):
        if problem in problems and (seeds is None or seed < seeds) and (score := read(run, budget)) is not None:
            found.setdefault(method, {}).setdefault(problem, []).append(max(score, floor))
    return {
        method: {problem: np.array(of_problem[problem]) for problem in problems}
        for method, of_problem in found.items()
        if len(of_problem) == len(problems)
    }


def paired(results: Results, problems: Iterable[str], method: str, other: str, budget: int) -> Array:
    """Logarithms of a method's scores over those of another one, for each problem and seed that both have."""
    problems = list(problems)
    both = [
        (observed(run, budget), observed(results.runs[problem, other, seed], budget))
        for (problem, by, seed), run in sorted(results.runs.items())
        if by == method and problem in problems and (problem, other, seed) in results.runs
    ]
    return np.array([np.log(ours / theirs) for ours, theirs in both if ours is not None and theirs is not None])


@dataclass(frozen=True, slots=True)
class Standing:
    """A method compared with the others over all problems."""

    rank: float
    """Mean rank over problems, by the median over seeds; 1 is best, and ties get their average rank."""
    lowest: int
    """Number of problems where its median is the lowest, or statistically tied with the lowest."""
    much_worse: int
    """Number of problems where its median is more than ``MUCH_WORSE`` times that of the best other peer."""
    ratio: float
    """Geometric mean over problems of its median over the best other peer's, picked per problem in hindsight."""


def standings(scores: Scores, ours: Collection[str]) -> dict[str, Standing]:
    """The standing of each method. Methods in ``ours`` do not count as peers."""
    if not scores:
        return {}
    methods = list(scores)
    problems = list(scores[methods[0]])
    medians = np.array([[np.median(scores[method][problem]) for problem in problems] for method in methods])
    ranks = rankdata(medians, axis=0).mean(axis=1)
    best = [methods[i] for i in medians.argmin(axis=0)]
    standing = {}
    for i, method in enumerate(methods):
        peers = [j for j, name in enumerate(methods) if name not in ours and name != method]
        ratios = medians[i] / medians[peers].min(axis=0) if peers else np.full(len(problems), np.nan)
        lowest = [
            tied(scores[method][problem], scores[of][problem]) for problem, of in zip(problems, best, strict=True)
        ]
        standing[method] = Standing(
            float(ranks[i]), sum(lowest), int((ratios > MUCH_WORSE).sum()), float(np.exp(np.log(ratios).mean()))
        )
    return standing


def tied(scores: Array, best: Array) -> bool:
    """Whether a two-sided Mann-Whitney test finds no difference between a method's scores and the best one's."""
    return _tied(tuple(scores), tuple(best))


@cache
def _tied(scores: tuple[float, ...], best: tuple[float, ...]) -> bool:
    """``tied``, cached, since several tables compare the same scores."""
    if np.ptp([*scores, *best]) == 0.0:  # the test is not defined
        return True
    return bool(mannwhitneyu(scores, best).pvalue > SIGNIFICANCE)

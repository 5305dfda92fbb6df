"""``python -m benchmarks.quality.stopping``: what ``stop={"no_gain_for": n}`` saves, and what it loses.

``auto`` runs on the development families. Each rule is applied to the same runs, so that a rule is compared with the
same run that goes on. Writes results/stopping.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.pool import keep_all
from benchmarks.quality.families import DEVELOPMENT_PROBLEMS
from benchmarks.quality.methods import METHODS
from benchmarks.quality.problems import Problem, generator

RULES = (10, 20, 30, 50, 75, 100)
MUCH = 0.01
"""Of the function's range."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ``auto``."""

    problem: Problem
    seed: int
    budget: int

    def run(self) -> tuple[list[float], list[float]]:
        """The value that each evaluation told, and its score."""
        instance, values, scores = self.problem.draw(self.seed), [], []
        noise = generator(f"noise {self.problem.name}", self.seed).normal(0.0, 1.0, self.budget) * instance.noise_std
        method = METHODS["auto"].create(instance.space, self.seed)
        for step in range(self.budget):
            parameters = method.ask()
            outcome = instance.evaluate(parameters)
            values.append(outcome.value + float(noise[step]))
            scores.append(outcome.score)
            method.tell(parameters, values[-1])
        method.close()
        return values, scores


def stopped_at(values: Sequence[float], patience: int) -> int:
    """The number of evaluations after which the rule ends a run; smaller values are better."""
    best = 0
    for step, value in enumerate(values):
        if value < values[best]:
            best = step
        elif step - best >= patience:
            return step + 1
    return len(values)


def losses(runs: Sequence[tuple[list[float], list[float]]], patience: int) -> dict[str, float]:
    """What a rule saves and loses over the runs."""
    used, ratios, lost = [], [], []
    for values, scores in runs:
        end = stopped_at(values, patience)
        then, at_last = (scores[int(np.argmin(values[:count]))] for count in (end, len(values)))
        used.append(end / len(values))
        ratios.append(then / at_last)
        lost.append(then - at_last > MUCH)
    return {
        "evaluations": float(np.mean(used)),
        "ratio": float(np.exp(np.mean(np.log(ratios)))),
        "lost_much": float(np.mean(lost)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.stopping", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes, one core each")
    parser.add_argument("--out", type=Path, default=RESULTS / "stopping.json")
    asked = parser.parse_args()
    jobs = [Run(each, seed, asked.budget) for each in DEVELOPMENT_PROBLEMS.values() for seed in range(asked.seeds)]
    runs: list[tuple[list[float], list[float]]] = []
    keep_all(jobs, asked.jobs, lambda _, outcome: runs.append(outcome))
    found: dict[str, dict[str, Any]] = {str(rule): losses(runs, rule) for rule in RULES}
    made = provenance("benchmarks.quality.stopping")
    write(asked.out, {**made, "runs": len(runs), "budget": asked.budget, "rules": found})
    print_table(HEADER, rows(found))


HEADER = ["no_gain_for", "evaluations used", "regret, times", "runs that lose over 1% of the range"]


def rows(found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """The rules as a table."""
    return [
        [rule, f"{loss['evaluations']:.0%}", f"{loss['ratio']:.2f}", f"{loss['lost_much']:.0%}"]
        for rule, loss in found.items()
    ]


if __name__ == "__main__":
    main()

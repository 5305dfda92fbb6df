"""One run of one method on one problem."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.quality.methods import Entry
from benchmarks.quality.problems import Problem, generator

BUDGETS = (10, 25, 50, 100, 200, 400, 1000)
COUNTS = (
    *(1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80),
    *(100, 125, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800, 1000),
)
"""The numbers of evaluations at which a run is recorded."""
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Run:
    """The record of a run, at each of ``COUNTS`` or ``BUDGETS`` that it reached."""

    evaluations: int
    observed: list[float]
    """Score of the point with the best value so far, per count."""
    values: list[float]
    """For a tuning task, the best value so far (the validation loss), per count."""
    recommended: list[float]
    """Score of the method's own recommendation, per budget; empty where it has none."""
    seconds: list[float]
    """Processor time spent in ``ask`` and ``tell``, per budget."""

    def rounded(self) -> dict[str, Any]:
        """The form stored in the results."""
        return {
            name: [float(f"{number:.{DIGITS}g}") for number in value] if isinstance(value, list) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True, slots=True)
class Job:
    """A run to perform."""

    problem: Problem
    name: str
    """Name of the method in the results."""
    entry: Entry
    seed: int
    budget: int

    def __str__(self) -> str:
        return f"{self.problem.name} {self.name} {self.seed}"

    def run(self) -> Run:
        """Perform the run, and return its record."""
        instance = self.problem.draw(self.seed)
        # The noise has its own random stream, so that it is the same for every method.
        noise = generator(f"noise {self.problem.name}", self.seed).normal(0.0, 1.0, self.budget) * instance.noise_std
        best, score, seconds = np.inf, np.inf, 0.0
        run = Run(self.budget, [], [], [], [])

        method = self.entry.create(instance.space, self.seed)
        before = time.process_time()
        for step in range(self.budget):
            parameters = method.ask()
            seconds += time.process_time() - before
            outcome = instance.evaluate(parameters)
            value = outcome.value + float(noise[step])
            if value < best:
                best, score = value, outcome.score
            before = time.process_time()
            method.tell(parameters, value)
            seconds += time.process_time() - before

            if step + 1 in COUNTS:
                run.observed.append(score)
                if self.problem.is_task:
                    run.values.append(best)
            if step + 1 in BUDGETS:
                run.seconds.append(seconds)
                if (recommended := method.recommend()) is not None:
                    run.recommended.append(instance.evaluate(recommended).score)
            before = time.process_time()
        method.close()
        return run

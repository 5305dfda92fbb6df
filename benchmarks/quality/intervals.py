"""``python -m benchmarks.quality.intervals``: how often the 90% intervals of ``auto`` contain the true value, on tables
of experiments, their emulators, and simulated laboratories.

``benchmarks.calibration`` does the same with functions that are drawn from the model's prior. Here, no function is
drawn from it. Before each result from the second on, the interval at the suggested point is compared with the value
there without noise; and at some numbers of results, the intervals at random points. Runs are kept in a file, seed by
seed, so a stopped benchmark resumes. Writes results/intervals.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from adabkb_service.engine.auto.policy import Config, auto
from benchmarks.functions import Array
from benchmarks.kept import Kept, Key, path_of
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.pool import keep_all
from benchmarks.quality.nature import NATURE_CHOOSING, NATURE_FINAL, NATURE_FURTHER
from benchmarks.quality.problems import Problem, generator

SETS = {"development": NATURE_CHOOSING | NATURE_FURTHER, "final": NATURE_FINAL}
KINDS = {"measured": "measured tables", "emulated": "emulators", "laboratory": "simulated laboratories"}
"""The beginning of a problem's name -> its kind."""
RANGES = ((2, 4), (5, 9), (10, 19), (20, 29), (30, 49))
"""Numbers of results, one column each."""
STEPS = RANGES[-1][1] + 1
READ = (3, 7, 14, 24, 39)
"""Numbers of results at which intervals at random points are read, one for each of ``RANGES``."""
TESTED = 60
"""Number of random points."""
Where = Literal["next", "box"]
PLACES: dict[Where, str] = {"next": "the next suggestion", "box": "random points"}
HEADER = ["truth at", "problems", *(f"{low} to {high} results" for low, high in RANGES), "below / above"]


@dataclass(frozen=True, slots=True)
class Case:
    """Intervals of one run at one number of results."""

    where: Where
    kind: str
    count: int
    below: float
    """Share of the true values below their intervals."""
    above: float


@dataclass(frozen=True, slots=True)
class Run:
    """A run to be done."""

    problem: Problem
    seed: int

    @property
    def key(self) -> Key:
        """See ``Kept``."""
        return self.problem.name, self.seed

    def run(self) -> list[Case]:
        """Run the study, and return the comparisons of intervals with true values."""
        name, instance = self.problem.name, self.problem.draw(self.seed)
        space, kind = instance.space, KINDS[name.split("_")[0]]
        noise = generator(f"noise {name}", self.seed).normal(0.0, 1.0, STEPS) * instance.noise_std
        tested = space.snap(generator(f"tested {name}", self.seed).random((TESTED, space.dimension)))

        def truths(positions: Array) -> Array:
            return np.array([-instance.evaluate(space.decode(position)).value for position in positions])

        state, found = auto.start(space, Config(), self.seed), []
        for count in range(STEPS):
            suggestion = auto.suggest(state, np.zeros((0, space.dimension)))
            point = np.ascontiguousarray(suggestion.point[None])
            places: dict[Where, Array] = {"next": point, **({"box": tested} if count in READ else {})}
            for where, positions in places.items() if count >= RANGES[0][0] else ():
                predicted, true = auto.predict(state, np.ascontiguousarray(positions)), truths(positions)
                below, above = float(np.mean(true < predicted.lcb)), float(np.mean(true > predicted.ucb))
                found.append(Case(where, kind, count, below, above))
            state = auto.observe(suggestion.state, suggestion.point, float(truths(point)[0] + noise[count])).state
        return found


def rows(cases: Sequence[Case]) -> Iterator[list[str]]:
    """A row for each place and kind of problem, with the share of the intervals that contain the true value, and the
    shares of true values below and above the interval over all numbers of results."""
    for where, title in PLACES.items():
        for kind in KINDS.values():
            those = [case for case in cases if (case.where, case.kind) == (where, kind)]
            within = [[case for case in those if low <= case.count <= high] for low, high in RANGES]
            shares = [1.0 - float(np.mean([case.below + case.above for case in each])) for each in within]
            below, above = np.mean([case.below for case in those]), np.mean([case.above for case in those])
            yield [title, kind, *(f"{share:.2f}" for share in shares), f"{below:.2f} / {above:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes, one core each")
    parser.add_argument("--out", type=Path, default=RESULTS / "intervals.json")
    parser.add_argument("--runs", type=Path, default=path_of("intervals"), help="file in which the runs are stored")
    asked = parser.parse_args()
    kept, found = Kept(asked.runs), dict[str, Any]()

    def keep(run: Run, cases: list[Case]) -> None:
        kept.add(run.key, [asdict(case) for case in cases])

    for name, problems in SETS.items():
        runs = [Run(problem, seed) for seed in range(asked.seeds) for problem in problems.values()]
        if keep_all([run for run in runs if run.key not in kept], asked.jobs, keep):
            raise SystemExit("some runs failed, so there is no table; start again to repeat these runs")
        found[name] = list(rows([Case(**case) for run in runs for case in kept[run.key]]))
        print(name)
        print_table(HEADER, found[name])
    write(asked.out, {**provenance("benchmarks.quality.intervals"), "seeds": asked.seeds, "rows": found})


if __name__ == "__main__":
    main()

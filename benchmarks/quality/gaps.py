"""``python -m benchmarks.quality.gaps``: how often the gap of ``auto`` holds, and how tight it is.

The gap is read at several numbers of results. It holds if, without noise, no point of the problem is better than the
recommended one by more than the gap. Cases without a gap are left out of the share of cases in which it holds. Runs
are kept in a file, seed by seed, so a stopped benchmark resumes. Writes results/gaps.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from adabkb_service.engine.auto.policy import Config, auto
from benchmarks.kept import Kept, Key, path_of
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.pool import keep_all
from benchmarks.quality.families import DEVELOPMENT_PROBLEMS, FINAL_PROBLEMS
from benchmarks.quality.nature import NATURE_CHOOSING, NATURE_FINAL
from benchmarks.quality.problems import FUNCTION_PROBLEMS, Problem, WithRegret, generator

SETS = {
    "development": {
        "functions": FUNCTION_PROBLEMS,
        "families": DEVELOPMENT_PROBLEMS,
        "nature": NATURE_CHOOSING,
    },
    "final": {"families": FINAL_PROBLEMS, "nature": NATURE_FINAL},
}
COUNTS = (10, 20, 40, 80)
"""Numbers of results at which the gap is read."""
DIMENSIONS = ((1, 2), (3, 4), (5, 7), (8, 100))
"""Ranges of dimensions, one per row."""
HEADER = ["problems", "cases", "known", "holds", "gap over range", "gap over regret"]


@dataclass(frozen=True, slots=True)
class Case:
    """A run at a number of results."""

    group: str
    problem: str
    dimension: int
    noisy: bool
    count: int
    gap: float | None
    regret: float
    """The regret of the recommended point."""
    range: float
    """The range of the results."""

    @property
    def holds(self) -> bool:
        """Whether no point is better by more than the gap."""
        return self.gap is not None and self.regret <= self.gap


@dataclass(frozen=True, slots=True)
class Run:
    """A run to be done."""

    group: str
    problem: Problem
    seed: int

    @property
    def key(self) -> Key:
        """See ``Kept``."""
        return self.group, self.problem.name, self.seed

    def run(self) -> list[Case]:
        """Perform the run, and return a case for each of ``COUNTS``."""
        instance = cast("WithRegret", self.problem.draw(self.seed))
        space, name, noisy = instance.space, self.problem.name, instance.noise_std > 0.0
        noise = generator(f"noise {name}", self.seed).normal(0.0, 1.0, COUNTS[-1]) * instance.noise_std
        state, values, found = auto.start(space, Config(), self.seed), [], []
        for step in range(COUNTS[-1]):
            suggestion = auto.suggest(state, np.zeros((0, space.dimension)))
            values.append(instance.evaluate(space.decode(suggestion.point)).value + float(noise[step]))
            state = auto.observe(suggestion.state, suggestion.point, -values[-1]).state
            if step + 1 in COUNTS:
                recommended = auto.recommend(state)
                assert recommended is not None, "there are results"
                regret, width = instance.regret(space.decode(recommended.point)), float(np.ptp(values))
                gap = auto.report(state).gap
                found.append(Case(self.group, name, space.dimension, noisy, step + 1, gap, regret, width))
        return found


def rows(cases: Sequence[Case]) -> Iterator[list[str]]:
    """Rows for all cases, for each group, number of results and range of dimensions, and for those with noise."""
    yield ["all", *_row(cases)]
    for group in dict.fromkeys(case.group for case in cases):
        yield [group, *_row([case for case in cases if case.group == group])]
    for count in COUNTS:
        yield [f"{count} results", *_row([case for case in cases if case.count == count])]
    for low, high in DIMENSIONS:
        name = f"{low} to {high} parameters" if high < DIMENSIONS[-1][1] else f"{low} parameters and more"
        yield [name, *_row([case for case in cases if low <= case.dimension <= high])]
    yield ["with noise", *_row([case for case in cases if case.noisy])]


def _row(cases: Sequence[Case]) -> list[str]:
    known = [case for case in cases if case.gap is not None]
    widths = [case.gap / case.range for case in known if case.gap is not None]
    ratios = [case.gap / max(case.regret, 1e-4 * case.range) for case in known if case.gap is not None]
    if not known:
        return [str(len(cases)), "0%", *["–"] * 3]
    shares = len(known) / len(cases), float(np.mean([case.holds for case in known]))
    return [
        str(len(cases)),
        *(f"{share:.0%}" for share in shares),
        f"{np.median(widths):.1%}",
        f"{float(f'{np.median(ratios):.2g}'):g}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sets",
        choices=[*SETS, "all"],
        default="all",
        help="development: problems on which constants were chosen; final: problems on which nothing was chosen",
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes, one core each")
    parser.add_argument("--out", type=Path, default=RESULTS / "gaps.json")
    parser.add_argument("--runs", type=Path, default=path_of("gaps"), help="file in which the runs are stored")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    kept = Kept(asked.runs)
    for name, groups in SETS.items():
        if asked.sets not in (name, "all"):
            continue
        runs = [
            Run(group, problem, seed)
            for seed in range(asked.seeds)
            for group, problems in groups.items()
            for problem in problems.values()
        ]

        def keep(run: Run, cases: list[Case]) -> None:
            kept.add(run.key, [asdict(case) for case in cases])

        if keep_all([run for run in runs if run.key not in kept], asked.jobs, keep):
            raise SystemExit("some runs failed, so there is no table; start again to repeat these runs")
        found[name] = list(rows([Case(**case) for run in runs for case in kept[run.key]]))
        print(name)
        print_table(HEADER, found[name])
    write(asked.out, {**provenance("benchmarks.quality.gaps"), "seeds": asked.seeds, "rows": found})


if __name__ == "__main__":
    main()

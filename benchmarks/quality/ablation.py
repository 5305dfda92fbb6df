"""``python -m benchmarks.quality.ablation``: what each mechanism of ``auto`` gains.

``auto`` runs whole, and with one mechanism switched off (``mechanisms``), on the same problems with the same seeds and
noise. The result is the geometric mean of a ratio: the regret without the mechanism, divided by that with it. Above 1,
the mechanism helps. The problems are those by which changes of the engine are chosen, never the final ones. Runs are
kept in a file, one per line, so that a stopped benchmark resumes. Writes results/ablation.json; about 75 minutes on one
core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.kept import Kept, path_of
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.quality.families.chosen_by import CHOSEN_BY
from benchmarks.quality.families.smooth import SMOOTH
from benchmarks.quality.mechanisms import MECHANISMS, Mechanism
from benchmarks.quality.methods import Entry
from benchmarks.quality.methods.policy import Policy
from benchmarks.quality.nature import NATURE_CHOOSING
from benchmarks.quality.nature.descriptors import DESCRIBED
from benchmarks.quality.nature.laboratory import Laboratory
from benchmarks.quality.problems import FUNCTION_PROBLEMS, NOISE_STD, Problem
from benchmarks.quality.runs import COUNTS, Job
from benchmarks.quality.tasks import TASK_PROBLEMS

MODULE = "benchmarks.quality.ablation"
BUDGETS = (10, 20, 30, 50, 100)
NOISE = 0.02
"""Standard deviation of the noise, as a share of the range, in families with noise."""
MAX_AXES = 7
"""Largest dimension of families with noise. Smooth families have up to 5, so that the "end game" (steps by
a quadratic model) begins within the budget."""
QUICK_BUDGET = 20
WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Group:
    """A group of problems, which is a column of the table."""

    problems: Sequence[Problem]
    budget: int
    floor: float
    """Smaller regrets count as equal."""
    seeds: int = 1000
    """Maximum number of seeds."""
    times: int = 1
    """Number of seeds per requested seed; above 1 for groups with few problems."""

    def all_seeds(self, asked: int) -> range:
        """The seeds of the group, for a requested number of seeds."""
        return range(min(self.times * asked, self.seeds))


GROUPS = {
    "functions": Group(tuple(FUNCTION_PROBLEMS.values()), 100, NOISE_STD),
    "nature": Group(tuple(NATURE_CHOOSING.values()), 50, 1e-2, times=2),
    "families": Group(CHOSEN_BY, 100, 1e-4),
    "noise": Group(
        [replace(each, noise=NOISE) for each in CHOSEN_BY if not each.noise and each.dimension <= MAX_AXES], 50, NOISE
    ),
    "smooth": Group([each for each in SMOOTH if not each.noise and each.dimension <= 5], 50, 1e-12),
    "described": Group([DESCRIBED["from the structures"]], 30, 1e-2, times=5),
    "choices": Group([Laboratory(2, (100,)), Laboratory(2, (30, 10)), Laboratory(1, (300,))], 50, 1e-2, times=2),
    "tasks": Group(
        [TASK_PROBLEMS[name] for name in ("logistic_cancer", "forest_diabetes", "svm_digits", "ridge_casp")],
        50,
        1e-3,
        seeds=2,
    ),
}
"""Groups by name. They have only the four quickest tuning tasks; the others would take as long as everything else."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run."""

    mechanism: str
    """The mechanism that was switched off, or ``WHOLE``."""
    group: str
    problem: str
    seed: int
    regrets: list[float]
    """Regret, or test loss of a task, at each of ``BUDGETS`` that the run reached."""
    seconds: float
    """Processor time of all steps."""


class Searching(Policy):
    """``auto`` without recommendations, which use a separate model and do not affect suggestions."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed, "adabkb_service.engine.auto.policy")

    def recommend(self) -> None:
        """Return no recommendation."""


def run(mechanism: Mechanism | None, name: str, problem: Problem, seed: int, budget: int) -> Run:
    """Run ``auto``, as a whole or without a mechanism.

    Args:
        mechanism: the mechanism to switch off; None for none.
        name: name of the problem's group.
        problem: the problem to solve.
        seed: seed of the problem, the noise and the search.
        budget: one of ``BUDGETS``.
    """
    with mechanism.off() if mechanism else nullcontext():
        done = Job(problem, "auto", Entry(f"{MODULE}:Searching"), seed, budget).run()
    regrets = [done.observed[COUNTS.index(each)] for each in BUDGETS if each <= budget]
    return Run(
        mechanism.name if mechanism else WHOLE,
        name,
        problem.name,
        seed,
        [float(f"{regret:.4g}") for regret in regrets],
        round(done.seconds[-1], 4),
    )


def wanted(
    groups: Mapping[str, Group], mechanisms: Sequence[Mechanism], seeds: int
) -> Iterator[tuple[Mechanism | None, str, Problem, int, int]]:
    """The arguments of all runs, ordered by seed, so that a stopped benchmark covers all problems."""
    for count in range(seeds):
        for name, group in groups.items():
            for seed in group.all_seeds(count + 1)[len(group.all_seeds(count)) :]:
                for problem in group.problems:
                    for mechanism in (None, *mechanisms):
                        yield mechanism, name, problem, seed, group.budget


def summary(runs: Sequence[Run], groups: Mapping[str, Group], mechanisms: Sequence[Mechanism]) -> list[dict[str, Any]]:
    """What results lose without each mechanism, per group."""
    by_key = {(each.mechanism, each.group, each.problem, each.seed): each for each in runs}
    found = []
    for mechanism in mechanisms:
        of_groups = {}
        for name, group in groups.items():
            pairs = [
                (off, whole)
                for (off_name, of, problem, seed), off in by_key.items()
                if (off_name, of) == (mechanism.name, name) and (whole := by_key.get((WHOLE, name, problem, seed)))
            ]
            if pairs:
                of_groups[name] = _compared(pairs, group.floor)
        found.append(
            {
                "name": mechanism.name,
                "in_paper": mechanism.in_paper,
                "without": mechanism.without,
                "groups": of_groups,
            }
        )
    return found


def _compared(pairs: Sequence[tuple[Run, Run]], floor: float) -> dict[str, Any]:
    """Without a mechanism, divided by with it: the geometric means of the ratio of regrets, per budget, the standard
    errors of their logarithms, the problem that loses most at the last budget, and the ratio of processor times."""
    logs: Array = np.array([_logs(off, floor) - _logs(whole, floor) for off, whole in pairs])
    by_problem: dict[str, list[float]] = {}
    for (off, _), log in zip(pairs, logs, strict=True):
        by_problem.setdefault(off.problem, []).append(float(log[-1]))
    worst = max(by_problem, key=lambda name: float(np.mean(by_problem[name])))
    times = [np.log(off.seconds / whole.seconds) for off, whole in pairs]
    return {
        "runs": len(pairs),
        "changed": int((logs != 0.0).any(axis=1).sum()),
        "ratio": np.exp(logs.mean(axis=0)).round(3).tolist(),
        "error": (logs.std(axis=0, ddof=min(1, len(logs) - 1)) / np.sqrt(len(logs))).round(3).tolist(),
        "most": {"problem": worst, "ratio": round(float(np.exp(np.mean(by_problem[worst]))), 2)},
        "time": round(float(np.exp(np.mean(times))), 3),
    }


def _logs(run: Run, floor: float) -> Array:
    return np.log(np.maximum(run.regrets, floor))


EARLY = 20
"""The first budget in a table; the second one is the group's largest."""
HEADER = ["part of `auto`", "in Ada-BKB", "if switched off", *GROUPS, "time"]
SURE = 2.0
"""A ratio is in bold if it is more than this many standard errors from 1."""


def rows(found: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A table: per group the ratio of regrets at ``EARLY`` and at the last budget, in bold where it is more than
    ``SURE`` standard errors from 1, and the ratio of the processor times of steps on functions."""
    return [
        [
            each["name"],
            each["in_paper"],
            each["without"],
            *(_cell(each["groups"].get(name)) for name in GROUPS),
            f"{each['groups']['functions']['time']:.2f}" if "functions" in each["groups"] else "",
        ]
        for each in found
    ]


def _cell(of: Mapping[str, Any] | None) -> str:
    """A cell; empty if there are no runs or all ratios are 1."""
    if of is None or not of["changed"]:
        return ""
    shown = dict.fromkeys((BUDGETS.index(EARLY), len(of["ratio"]) - 1))
    return ", ".join(_ratio(of["ratio"][place], of["error"][place]) for place in shown)


def _ratio(ratio: float, error: float) -> str:
    text = f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:.0f}"
    return f"**{text}**" if text != "1.00" and abs(np.log(ratio)) > SURE * error else text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--groups", nargs="+", choices=[*GROUPS], default=[*GROUPS])
    parser.add_argument("--mechanisms", nargs="+", choices=[each.name for each in MECHANISMS], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="one problem of each group, one seed, 20 evaluations")
    parser.add_argument("--kept", action="store_true", help="only summarize the runs in the file, with any seeds")
    parser.add_argument("--runs", type=Path, default=path_of("ablation"), help="file of the runs")
    parser.add_argument("--out", type=Path, default=RESULTS / "ablation.json")
    asked = parser.parse_args(arguments)
    groups = {name: GROUPS[name] for name in asked.groups}
    if asked.quick:
        groups = {
            name: replace(group, problems=group.problems[:1], budget=QUICK_BUDGET) for name, group in groups.items()
        }
    mechanisms = [each for each in MECHANISMS if not asked.mechanisms or each.name in asked.mechanisms]
    seeds = 1 if asked.quick else asked.seeds
    kept = Kept(asked.runs)
    runs = [Run(**each) for each in kept.values()] if asked.kept else done(groups, mechanisms, seeds, kept)
    found = summary(runs, groups, mechanisms)
    write(asked.out, {**provenance(MODULE), "budgets": BUDGETS, "mechanisms": found})
    print_table(HEADER, rows(found))


def done(groups: Mapping[str, Group], mechanisms: Sequence[Mechanism], seeds: int, kept: Kept) -> list[Run]:
    """All requested runs. Runs that are missing in the file are done and added to it."""
    found = []
    with threadpool_limits(1):
        # This run keeps one-time work out of the measured times.
        run(None, "functions", GROUPS["functions"].problems[0], 0, BUDGETS[0])
        for arguments in tqdm(list(wanted(groups, mechanisms, seeds)), unit="run", mininterval=10):
            mechanism, name, problem, seed, _ = arguments
            key = mechanism.name if mechanism else WHOLE, name, problem.name, seed
            if key not in kept:
                kept.add(key, asdict(run(*arguments)))
            found.append(Run(**kept[key]))
    return found


if __name__ == "__main__":
    main()

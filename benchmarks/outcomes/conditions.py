"""``python -m benchmarks.outcomes.conditions``: parameters with conditions, compared with Optuna's TPE, SMAC3
and random search.

A method is judged by its best value: the regret of a function, or the validation loss of a choice between models. Ranks
are by the median over the seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.outcomes.conditional_problems import REAL, SYNTHETIC
from benchmarks.outcomes.runs import Table
from benchmarks.output import RESULTS, print_table
from benchmarks.pool import keep_all
from benchmarks.quality import store
from benchmarks.quality.methods import METHODS, Entry
from benchmarks.quality.problems import Problem
from benchmarks.quality.runs import Job
from benchmarks.quality.scores import Scores, collect, observed, standings, validation

COMMAND = "benchmarks.outcomes.conditions"
OUT = RESULTS / "outcomes-conditions.json"
BUDGETS = (50, 100)
GROUPS: dict[str, dict[str, Problem]] = {"synthetic": SYNTHETIC, "real": REAL, "all": {**SYNTHETIC, **REAL}}
FLOOR = 1e-3
"""Regrets below this value count as equal."""


COMPARED = {
    "auto": METHODS["auto"],
    "tpe": Entry("benchmarks.quality.methods.optuna_samplers:conditional_tpe", packages=("optuna",)),
    "smac": METHODS["smac"],
    "random": METHODS["random"],
}


def run(
    problems: Annotated[str, typer.Option(help=f"Names, comma-separated; {', '.join(GROUPS)} are groups.")] = "all",
    methods: Annotated[str, typer.Option(help="Names, comma-separated.")] = ",".join(COMPARED),
    seeds: Annotated[int, typer.Option(min=1, help="Maximum number of seeds.")] = 10,
    budget: Annotated[int, typer.Option(min=1, help="Evaluations of a run.")] = max(BUDGETS),
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes, one core each.")] = 1,
    out: Annotated[Path, typer.Option(help="File for the results.")] = OUT,
) -> None:
    """Run what is missing in the results, and print a comparison of the methods."""
    every = GROUPS["all"]
    chosen = [every[name] for item in problems.split(",") for name in GROUPS.get(item, [item])]
    there = store.load(out).runs
    wanted = [
        Job(problem, name, COMPARED[name], seed, budget)
        for seed in range(seeds)
        for problem in chosen
        for name in methods.split(",")
    ]
    missing = [
        job for job in wanted if store.key(job) not in there or there[store.key(job)]["evaluations"] < job.budget
    ]
    if failed := keep_all(missing, jobs, partial(store.add, out, module=COMMAND)):
        typer.echo(f"{failed} of {len(missing)} runs failed", err=True)
        raise typer.Exit(1)
    for each in tables(out, [problem.name for problem in chosen], budget):
        typer.echo(f"\n{each.title}")
        print_table(each.header, each.rows)


def tables(path: Path, problems: Sequence[str] = tuple(GROUPS["all"]), budget: int = max(BUDGETS)) -> Iterator[Table]:
    """The median score per problem, and the mean rank of these, at each number of evaluations."""
    results = store.load(path)
    solved = [name for name in problems if any(name == problem for problem, *_ in results.runs)]
    for count in (each for each in BUDGETS if each <= budget):
        scores, seeds = merged(results, solved, count), {seed for *_, seed in results.runs}
        rows = [[name, *(f"{np.median(each[name]):.4g}" for each in scores.values())] for name in solved]
        ranks = standings(scores, ours=["auto"])
        rows.append(["mean rank", *(f"{ranks[method].rank:.2f}" for method in scores)])
        title = f"Regret or validation loss after {count} evaluations, {len(seeds)} seeds"
        yield Table(title, ["problem", *scores], rows)


def merged(results: store.Results, problems: list[str], count: int) -> Scores:
    """The regrets of functions and the validation losses of tasks."""
    functions = collect(results, [name for name in problems if name in SYNTHETIC], count, observed, floor=FLOOR)
    tasks = collect(results, [name for name in problems if name in REAL], count, validation)
    return {method: {**functions.get(method, {}), **tasks.get(method, {})} for method in {**functions, **tasks}}


if __name__ == "__main__":
    typer.run(run)

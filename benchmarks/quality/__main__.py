"""``python -m benchmarks.quality``; ``make bench-quality`` runs all of it. ``docs/quality.md`` says how it measures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.output import RESULTS
from benchmarks.pool import keep_all
from benchmarks.quality import plots, report, store
from benchmarks.quality.methods import METHODS, Entry, policy
from benchmarks.quality.problems import FUNCTION_PROBLEMS, Problem
from benchmarks.quality.runs import Job
from benchmarks.quality.tasks import TASK_PROBLEMS

PROBLEMS: dict[str, Problem] = {**FUNCTION_PROBLEMS, **TASK_PROBLEMS}
GROUPS: dict[str, list[str]] = {"functions": list(FUNCTION_PROBLEMS), "tasks": list(TASK_PROBLEMS)}
QUALITY = RESULTS / "quality.json"

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def run(
    methods: Annotated[
        str, typer.Option("--methods", "--method", help="Names, comma-separated; NAME=MODULE runs a policy module.")
    ] = ",".join(METHODS),
    problems: Annotated[str, typer.Option(help="Names, comma-separated; 'functions' and 'tasks' are groups.")] = (
        "functions,tasks"
    ),
    seeds: Annotated[int | None, typer.Option(min=1, help="At most this many seeds.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="At most this many evaluations.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes, one core each.")] = 1,
    force: Annotated[bool, typer.Option(help="Repeat runs that are there already.")] = False,
    out: Annotated[Path, typer.Option(help="File that takes the results.")] = QUALITY,
) -> None:
    """Run what is missing in the results."""
    there = store.load(out).runs
    wanted = [
        Job(problem, name, entry, seed, min(entry.budget, problem.budget, budget or problem.budget))
        for name, entry in chosen_methods(methods).items()
        for problem in chosen_problems(problems)
        if entry.runs_on(problem)
        for seed in range(min(entry.seeds, problem.seeds, seeds or problem.seeds))
    ]
    missing = [
        job
        for job in wanted
        if force or store.key(job) not in there or there[store.key(job)]["evaluations"] < job.budget
    ]
    if failed := keep_all(missing, jobs, partial(store.add, out)):
        typer.echo(f"{failed} of {len(missing)} runs failed", err=True)
        raise typer.Exit(1)


@app.command()
def table(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Results; runs of a later file replace the same ones.")
    ] = None,
    budget: Annotated[int, typer.Option(help="Evaluations of the table per function.")] = report.SHOWN_BUDGET,
    write: Annotated[bool, typer.Option(help="Put the tables into docs/quality.md instead of printing them.")] = False,
) -> None:
    """Compare the methods."""
    results = store.load(*(files or [QUALITY]))
    if write:
        report.write(results)
    else:
        typer.echo("\n\n".join(report.sections(results, budget).values()))


@app.command()
def plot(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Results; runs of a later file replace the same ones.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where the figures go.")] = plots.IMAGES,
) -> None:
    """Draw the figures of docs/quality.md."""
    for path in plots.draw(store.load(*(files or [QUALITY])), folder):
        typer.echo(path.name)


def chosen_methods(names: str) -> Mapping[str, Entry]:
    """The methods of a comma-separated list."""
    chosen = {}
    for item in names.split(","):
        name, _, module = item.partition("=")
        if not module and name not in METHODS:
            raise typer.BadParameter(f"no method {name} (known: {', '.join(METHODS)}; or NAME=MODULE)")
        chosen[name] = policy(module) if module else METHODS[name]
    return chosen


def chosen_problems(names: str) -> list[Problem]:
    """The problems of a comma-separated list of names and groups."""
    chosen = [name for item in names.split(",") for name in GROUPS.get(item, [item])]
    if unknown := [name for name in chosen if name not in PROBLEMS]:
        raise typer.BadParameter(f"no problem {', '.join(unknown)} (known: {', '.join([*GROUPS, *PROBLEMS])})")
    return [PROBLEMS[name] for name in chosen]


if __name__ == "__main__":
    app()

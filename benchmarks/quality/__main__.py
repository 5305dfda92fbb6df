"""``python -m benchmarks.quality``; ``make bench-quality`` runs all of it. ``docs/quality.md`` explains the method."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.output import RESULTS
from benchmarks.pool import keep_all
from benchmarks.quality import plots, report, store
from benchmarks.quality.bbob import BBOB_PROBLEMS
from benchmarks.quality.families import DEVELOPMENT_PROBLEMS, FINAL_PROBLEMS, MANY_PROBLEMS, SMOOTH_PROBLEMS
from benchmarks.quality.methods import METHODS, Entry, policy
from benchmarks.quality.nature import NATURE_CHOOSING, NATURE_FINAL, NATURE_FURTHER
from benchmarks.quality.problems import FUNCTION_PROBLEMS, Problem
from benchmarks.quality.runs import Job
from benchmarks.quality.tables import TABLE_PROBLEMS
from benchmarks.quality.tasks import TASK_PROBLEMS

GROUPS: dict[str, dict[str, Problem]] = {
    "functions": FUNCTION_PROBLEMS,
    "tasks": TASK_PROBLEMS,
    "development": DEVELOPMENT_PROBLEMS,
    "final": FINAL_PROBLEMS,
    "smooth": SMOOTH_PROBLEMS,
    "many": MANY_PROBLEMS,
    "tables": TABLE_PROBLEMS,
    "bbob": BBOB_PROBLEMS,
    "nature": NATURE_CHOOSING,
    "nature-further": NATURE_FURTHER,
    "nature-final": NATURE_FINAL,
}
PROBLEMS: dict[str, Problem] = {name: problem for group in GROUPS.values() for name, problem in group.items()}
QUALITY = RESULTS / "quality.json"

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def run(
    methods: Annotated[
        str, typer.Option("--methods", "--method", help="Names, comma-separated; NAME=MODULE runs a policy module.")
    ] = ",".join(METHODS),
    problems: Annotated[str, typer.Option(help=f"Names, comma-separated; {', '.join(GROUPS)} are groups.")] = (
        "functions,tasks"
    ),
    seeds: Annotated[int | None, typer.Option(min=1, help="At most this many seeds.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="At most this many evaluations.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes, one core each.")] = 1,
    force: Annotated[bool, typer.Option(help="Repeat runs that already have results.")] = False,
    since: Annotated[int, typer.Option(help="Repeat runs that our engine made before this revision.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the results.")] = QUALITY,
) -> None:
    """Run what is missing in the results."""
    there = store.load(out)
    wanted = [
        Job(problem, name, entry, seed, min(entry.budget, problem.budget, budget or problem.budget))
        for name, entry in chosen_methods(methods).items()
        for problem in chosen_problems(problems)
        if entry.runs_on(problem)
        for seed in range(min(entry.seeds, problem.seeds, seeds or problem.seeds))
    ]
    missing = [job for job in wanted if force or not store.is_complete(there, job, since)]
    if failed := keep_all(missing, jobs, partial(store.add, out)):
        typer.echo(f"{failed} of {len(missing)} runs failed", err=True)
        raise typer.Exit(1)


@app.command()
def table(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Result files; runs in later files replace earlier ones.")
    ] = None,
    budget: Annotated[int, typer.Option(help="Number of evaluations in the table per function.")] = report.SHOWN_BUDGET,
    write: Annotated[bool, typer.Option(help="Write the tables to docs/quality.md instead of printing them.")] = False,
) -> None:
    """Compare the methods."""
    results = store.load(*(files or [QUALITY]))
    if write:
        report.write(results)
    else:
        typer.echo("\n\n".join(report.sections(results, budget).values()))


@app.command()
def standings(
    file: Annotated[Path, typer.Argument(help="File with the results.")],
    problems: Annotated[str, typer.Option(help="Names of problems and groups, comma-separated.")] = "development",
    budgets: Annotated[str, typer.Option(help="Numbers of evaluations, comma-separated.")] = "25,50,100,200,400",
) -> None:
    """Rank the methods that have runs on all these problems."""
    names, counts = [problem.name for problem in chosen_problems(problems)], [int(each) for each in budgets.split(",")]
    typer.echo("\n\n".join(report.compared(store.load(file), names, counts, each) for each in report.MEASURES))


@app.command()
def plot(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Result files; runs in later files replace earlier ones.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder for the figures.")] = plots.IMAGES,
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

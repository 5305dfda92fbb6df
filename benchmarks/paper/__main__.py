"""``python -m benchmarks.paper``; ``make bench-paper`` runs all of it. ``docs/paper.md`` has the results."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.output import print_table
from benchmarks.paper import figures as plots
from benchmarks.paper import growth, report, store
from benchmarks.paper.experiments import EXPERIMENTS, jobs
from benchmarks.pool import keep_all

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def run(
    parts: Annotated[str, typer.Option(help="Experiments, comma-separated.")] = ",".join(EXPERIMENTS),
    problems: Annotated[str, typer.Option(help="Names, comma-separated; all by default.")] = "",
    variants: Annotated[str, typer.Option(help="Names of variants, comma-separated; all by default.")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, help="At most this many repetitions.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="At most this many evaluations.")] = None,
    limit: Annotated[
        float | None, typer.Option(help="Seconds after which a run is stopped; at most the paper's limit.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one core each.")] = 1,
    force: Annotated[bool, typer.Option(help="Repeat runs that already have results.")] = False,
    out: Annotated[Path, typer.Option(help="File for the results.")] = store.PAPER,
) -> None:
    """Perform the runs that the results lack."""
    names = _chosen("part", parts, EXPERIMENTS)
    every = [job for name in names for job in jobs(name, seeds, steps, limit)]
    of_problems = _chosen("problem", problems, {job.problem for job in every})
    of_variants = _chosen("variant", variants, {job.variant for job in every})
    wanted = [job for job in every if job.problem in of_problems and job.variant in of_variants]
    there = store.load(out)
    missing = [job for job in wanted if force or not store.is_there(there, job)]
    if failed := keep_all(missing, workers, partial(store.add, out)):
        typer.echo(f"{failed} of {len(missing)} runs failed", err=True)
        raise typer.Exit(1)


def _chosen(kind: str, names: str, known: Collection[str]) -> Collection[str]:
    """The names in a comma-separated list; all known names if it is empty."""
    chosen = [name for name in names.split(",") if name]
    if unknown := [name for name in chosen if name not in known]:
        raise typer.BadParameter(f"no {kind} {', '.join(unknown)} (known: {', '.join(sorted(known))})")
    return chosen or known


@app.command("growth")
def measure_growth(out: Annotated[Path, typer.Option(help="File for the results.")] = growth.GROWTH) -> None:
    """Measure how the cost grows with the evaluations."""
    growth.run(out)


@app.command()
def figures(
    results: Annotated[Path, typer.Option(help="File with the results.")] = store.PAPER,
    folder: Annotated[Path, typer.Option(help="Folder for the figures.")] = plots.IMAGES,
) -> None:
    """Draw the figures of docs/paper.md."""
    for path in plots.draw(store.load(results), folder):
        typer.echo(path.name)
    if growth.GROWTH.exists():
        systems = json.loads(growth.GROWTH.read_text())["systems"]
        typer.echo(growth.draw(systems, folder / "paper-growth.png").name)


@app.command()
def table(
    part: Annotated[str, typer.Argument(help="An experiment, or best or times for the 17 functions.")],
    results: Annotated[Path, typer.Option(help="File with the results.")] = store.PAPER,
) -> None:
    """Compare the results."""
    if part not in report.PARTS:
        raise typer.BadParameter(f"no part {part} (known: {', '.join(report.PARTS)})")
    print_table(*report.table(part, store.load(results)))


if __name__ == "__main__":
    app()

"""``adabkb replay``: of the commands that work on the database, the one that needs the engine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from adabkb_service.cli.database import DatabaseUrl, opened, settings
from adabkb_service.cli.output import AsJson, show
from adabkb_service.operations.replay import replay as replay_study
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration

StudyId = Annotated[str, typer.Argument(help="the study's id", show_default=False)]


def replay(study: StudyId, database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Rebuild a study's model from its log, and decide on every suggestion again to compare it."""
    chosen = settings(database=database)
    # As many threads as the server uses: with another number, sums differ in their last digits.
    with opened(chosen.database, existing=True) as found, threadpool_limits(chosen.blas_threads):
        migration.require(found)
        done = replay_study(Service(found), study)
    outcome = "they differed before" if done.changed else "they were the same before"
    lines = [f"{done.events} events give {done.cells} cells and a dictionary of {done.dictionary}; {outcome}."]
    if done.changed:
        lines.append("Restart the servers that run on this database: they may remember what was wrong.")
    if done.diverged:
        trials = ", ".join(map(str, done.diverged))
        lines.append(f"Of {done.suggestions} suggestions these now come out different: trials {trials}.")
    else:
        lines.append(f"All {done.suggestions} suggestions come out the same, bit for bit.")
    show(asdict(done), "\n".join(lines), as_json=as_json)
    if done.diverged:
        raise typer.Exit(1)

"""``adabkb data replay``."""

from __future__ import annotations

from dataclasses import asdict

import typer
from threadpoolctl import threadpool_limits

from adabkb_service.cli.database import DatabaseUrl, opened, settings
from adabkb_service.cli.identifiers import StudyId
from adabkb_service.cli.output import AsJson, show
from adabkb_service.engine.libraries import libraries
from adabkb_service.operations.data.replay import replay as replay_study
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration


def replay(study: StudyId, database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Rebuild the model of a study from its log.

    It also computes every suggestion again and compares it with the stored one.
    """
    chosen = settings(database=database)
    # Use the server's number of threads: with another number, sums differ in their last digits.
    with opened(chosen.database, existing=True) as found, threadpool_limits(chosen.blas_threads):
        migration.require(found)
        done = replay_study(Service(found), study)
    outcome = "the stored ones differed" if done.changed else "the stored ones were the same"
    lines = [f"{done.events} events give {done.cells} cells and a dictionary of {done.dictionary}; {outcome}."]
    if done.changed:
        lines.append("Restart the servers that run on this database: they may still hold the wrong model.")
    if done.diverged:
        trials = ", ".join(map(str, done.diverged))
        lines.append(f"Of {done.suggestions} suggestions, those of these trials now differ: {trials}.")
    else:
        lines.append(f"All {done.suggestions} suggestions are bit-identical.")
    if done.libraries:
        before = ", ".join(f"{name} {version}" for name, version in done.libraries.items())
        here = ", ".join(f"{name} {libraries()[name]}" for name in done.libraries)
        lines.append(
            f"The stored model was computed with {before}; this installation has {here}. Rounding may differ between "
            f"them."
        )
    show(asdict(done), "\n".join(lines), as_json=as_json)
    if done.diverged:
        raise typer.Exit(1)

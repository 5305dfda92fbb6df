"""Commands about the intermediate values that trials report."""

from __future__ import annotations

from typing import Annotated

import typer

from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import figure
from adabkb_service.cli.identifiers import TrialNumber
from adabkb_service.cli.output import AsJson, show
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.trials import Attempt, LeaseSeconds
from adabkb_service.cli.values import MeasuredSoFar, parse_point

STOPPED = 3
"""Exit code of ``trial report`` if the trial is stopped."""


def report(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    step: Annotated[int, typer.Argument(help="number of steps done so far", show_default=False)],
    value: Annotated[float, typer.Argument(help="the value of the objective after this step", show_default=False)],
    parameters: MeasuredSoFar = None,
    cost: Annotated[float | None, typer.Option(help="cost of the attempt so far; for a study with cost told")] = None,
    attempt: Attempt = None,
    lease_seconds: LeaseSeconds = None,
    as_json: AsJson = False,
) -> None:
    """Report an intermediate value of a trial.

    This renews the trial's lease. The exit code is 3 if the server has stopped the trial.

    \b
    adabkb trial report svm 7 12 0.31
    adabkb trial report coating 7 12 0.31 humidity=0.4
    """
    steps = StudyCalls(study).report(
        trial,
        step,
        value,
        cost=cost,
        parameters=parse_point(parameters) if parameters else None,
        attempt=attempt,
        lease_seconds=lease_seconds,
    )
    answer = server.document(steps)
    show(answer, f"Stop: {answer['reason']}" if answer["stop"] else "Go on.", as_json=as_json)
    if answer["stop"]:
        raise typer.Exit(STOPPED)


def curve(server: Server, study: StudyId, trial: TrialNumber, attempt: Attempt = None, as_json: AsJson = False) -> None:
    """List the intermediate values of a trial."""
    reports = server.items(StudyCalls(study).curve(trial, attempt))
    lines = [f"step {report['step']}: {figure(report['value'])}" for report in reports]
    show(reports, "\n".join(lines) or f"Trial {trial} has reported no values.", as_json=as_json)

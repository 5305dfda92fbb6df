"""``adabkb run``: evaluates the trials of a study with a program in any language."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from adabkb_client import Client, NoTrialAvailable, RunReport, Study, StudyComplete
from adabkb_client._http.connection import DEFAULT_URL
from adabkb_client._http.local import LocalServer
from adabkb_client._run.evaluation import Expected, names_at_trial
from adabkb_client._trial import LEASE_SECONDS
from adabkb_client._values import figure
from adabkb_service.cli.described import point
from adabkb_service.cli.evaluation import RELEASE, CaughtFailure, Limits, ProgramFailed, Programs, Stopped
from adabkb_service.cli.output import AsJson, counted, fail, show
from adabkb_service.cli.program import WrongPlaceholder, check_placeholders
from adabkb_service.cli.refusals import no_trial, option_names
from adabkb_service.cli.server_calls import (
    Local,
    OwnRetryFor,
    StudyId,
    Token,
    Url,
    checked,
    local_server,
    reported,
    sendable,
)
from adabkb_service.cli.values import ContextValues, FixedParameters, parse_point

POSITIVE_SECONDS = 0.001
LOGGERS = ("adabkb_client", "adabkb.run")


def run(
    study: StudyId,
    program: Annotated[
        list[str],
        typer.Argument(help="after --: the program, with {name} for a parameter's value", show_default=False),
    ],
    n_trials: Annotated[
        int | None,
        typer.Option(min=1, help="maximum number of trials to evaluate"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="programs in parallel")] = 1,
    gpus: Annotated[
        str | None,
        typer.Option(help="CUDA devices, such as 0,1: one per program"),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=POSITIVE_SECONDS, help="seconds after which no further trial starts")
    ] = None,
    trial_timeout: Annotated[
        float | None, typer.Option(min=POSITIVE_SECONDS, help="seconds after which a trial fails")
    ] = None,
    grace: Annotated[float, typer.Option(min=0, help="seconds between SIGTERM and SIGKILL")] = 10.0,
    pattern: Annotated[
        str | None,
        typer.Option(help="regular expression whose group is the result; the last match in the output counts"),
    ] = None,
    logs: Annotated[Path | None, typer.Option(help="folder for a log of each trial", file_okay=False)] = None,
    catch: Annotated[
        list[int] | None,
        typer.Option(metavar="CODE", help="exit code of failures that never stop the run"),
    ] = None,
    max_failures: Annotated[int, typer.Option(min=1, help="stop after this many failures or releases in a row")] = 5,
    lease_seconds: Annotated[
        float,
        typer.Option(
            min=POSITIVE_SECONDS,
            help="seconds after which others get the trials of a killed command",
        ),
    ] = LEASE_SECONDS,
    fixed: FixedParameters = None,
    context: ContextValues = None,
    url: Url = DEFAULT_URL,
    local: Local = None,
    token: Token = None,
    retry_for: OwnRetryFor = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate the trials of a study with a program.

    \b
    adabkb run svm -- ./train.sh --lr {lr} --layers {layers}

    Parameters are arguments, in the environment (ADABKB_PARAM_lr) and in the JSON file $ADABKB_PARAMETERS. The result
    is the last line of the output, or the file $ADABKB_RESULT: a number, or JSON with value, metrics, std_error,
    std_errors, partial, seconds and measured parameters. $ADABKB_REPORTS takes lines STEP VALUE. Exit code 0 means a
    result; 75, SIGHUP, SIGINT and SIGTERM release the trial; others fail it.
    """
    if os.name != "posix":
        fail("adabkb run needs the processes and signals of Linux or macOS; here, use study.run of the Python client")
    limits, expression = Limits(trial_timeout, grace, max_failures), _compiled(pattern)
    devices, caught = _devices(gpus), _caught(catch or [])
    if logs is not None:
        _make_folder(logs)
    url, token = checked(url), sendable(token)
    server = None if local is None else local_server(local)
    variables = {"ADABKB_URL": url if server is None else server.address()} | ({"ADABKB_TOKEN": token} if token else {})
    programs = Programs(program, {**os.environ, **variables}, limits, expression, logs, devices, caught)
    with (
        reported(option_names(run), study),
        _client(url, token, server, retry_for) as client,
        _lines_on_standard_error(),
        programs.forwarding_signals(),
        _explained(study, max_failures),
    ):
        report = _evaluated(
            client.study(study),
            programs,
            workers=workers,
            n_trials=n_trials,
            timeout=timeout,
            lease_seconds=lease_seconds,
            fixed=parse_point(fixed or []),
            context=parse_point(context) if context else None,
        )
    show(asdict(report), _summary(study, report), as_json=as_json)
    if report.failed and not report.completed + report.stopped:
        fail(f"every trial of this command failed. See why: adabkb trial list {study} --state failed")


def _evaluated(study: Study, programs: Programs, **options: Any) -> RunReport:
    """Check the program's placeholders, and evaluate trials until the study or the command ends.

    Args:
        study: the study.
        programs: the program.
        options: further options of ``Study.run``.

    Raises:
        WrongPlaceholder: the program has a placeholder that is not a parameter of the study.
        Stopped: a signal has stopped the command.
    """
    info = study.info()
    programs.expected = Expected.of_study(info)
    check_placeholders(programs.command, names_at_trial(info), programs.expected)
    report = study.run(
        programs,
        catch=CaughtFailure,
        pass_trial=True,
        max_failures=programs.limits.in_a_row,
        progress=False,
        **options,
    )
    if report.reason == "stopped":
        programs.check_running()
    return report


def _client(url: str, token: str | None, server: LocalServer | None, retry_for: float | None) -> Client:
    if server is None:
        return Client(url, token, retry_for=retry_for)
    return Client.local(server.database, retry_for=retry_for)


@contextmanager
def _explained(study: str, max_failures: int) -> Iterator[None]:
    """End the command with an error message if the run ends early."""
    try:
        yield
    except WrongPlaceholder as mistake:
        fail(str(mistake))
    except ProgramFailed as error:
        fail(
            f"stopped after {max_failures} failures in a row; the last one: {error}\n"
            f"Remove the cause, then retry the failed trials: adabkb trial retry {study} --failed"
        )
    except NoTrialAvailable as none:
        fail(no_trial(study, none.reason))
    except Stopped as stopped:
        if isinstance(stopped.code, str):
            fail(f"{stopped.code}. The trial is released.")
        raise


def _devices(gpus: str | None) -> list[str]:
    """Return the devices over which the programs are distributed evenly."""
    found = [] if gpus is None else [each.strip() for each in gpus.split(",")]
    if not all(found):
        fail(f"--gpus {gpus!r} has an empty name; give devices with commas between them, such as 0,1")
    return found


def _caught(codes: list[int]) -> set[int]:
    """Return the exit codes of failures that never stop the run."""
    for code in codes:
        if code == RELEASE or not 1 <= code <= 255:
            fail(f"--catch {code} is not an exit code of a failure; give one from 1 to 255 other than {RELEASE}")
    return set(codes)


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        expression = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        fail(f"--pattern {pattern!r} is not a regular expression: {error}")
    if expression.groups != 1:
        fail(f"--pattern {pattern!r} has {expression.groups} groups; put only the result in parentheses")
    return expression


def _make_folder(logs: Path) -> None:
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot make the folder {logs} ({error.strerror}); name another one with --logs")


def _summary(study: str, report: RunReport) -> str:
    is_complete = report.reason in StudyComplete.explanations  # other reasons only end the run
    end = f"Study {study} is complete ({report.reason})" if is_complete else f"Study {study} is not complete"
    stopped = f", {report.stopped} stopped" if report.stopped else ""
    completed = counted(report.completed, "trial", "trials")
    line = f"{end}; this command completed {completed}, {report.failed} failed{stopped}."
    best = report.recommendation.observed
    return line if best is None else f"{line} Best {figure(best.value)} at {point(best.parameters)}."


class _Line(logging.Formatter):
    """Formats a message with the text of an error, without the traceback."""

    def formatException(self, ei: object) -> str:  # noqa: N802 (logging calls it so)
        """Return the error's text."""
        return str(ei[1]) if isinstance(ei, tuple) else ""


@contextmanager
def _lines_on_standard_error() -> Iterator[None]:
    """Within the block, print a line for each event of a trial."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Line("%(asctime)s %(message)s", "%H:%M:%S"))
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)

"""Commands about trials: suggest, report, release, queue, explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from adabkb_client import Answer, Invalid
from adabkb_client._calls import BATCH, Steps, batch, read_trial
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import figure
from adabkb_service.cli import rows
from adabkb_service.cli.described import exact_point, measured, point, summary
from adabkb_service.cli.identifiers import TRIAL, TrialNumber
from adabkb_service.cli.lines import read_items
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.refusals import no_trial, refuse
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.values import (
    ActualPoint,
    ContextValues,
    FixedParameters,
    MetricErrors,
    MetricValues,
    Point,
    ResultAtPoint,
    number,
    parse_metrics,
    parse_point,
    parse_result,
)

Attempt = Annotated[int | None, typer.Option(help="number of the attempt (default: the current one)")]
Seconds = Annotated[
    float | None,
    typer.Option(help="how long the evaluation took (default: since the trial was issued)", show_default=False),
]
StdError = Annotated[float | None, typer.Option(help="standard error of the result", show_default=False)]
Partial = Annotated[bool, typer.Option("--partial", help="some numbers will follow in another call")]
LeaseSeconds = Annotated[
    float | None, typer.Option(help="duration of the lease in seconds (default: the study's)", show_default=False)
]
OwnPlate = Annotated[
    Literal["open", "new"] | None,
    typer.Option(
        help="in a study with plates: open for a place on the last plate, or on the next one if it is full; new for a "
        "place on a new plate (default: on no plate)",
        show_default=False,
    ),
]
State = Literal["active", "completed", "failed", "expired", "released", "queued", "stopped", "withdrawn"]


def suggest(
    server: Server,
    study: StudyId,
    count: Annotated[
        int | None,
        typer.Option(help="number of trials (default: 1 or, with --plate, all of the plate)", show_default=False),
    ] = None,
    worker: Annotated[str | None, typer.Option(help="name of the worker", show_default=False)] = None,
    lease_seconds: LeaseSeconds = None,
    fixed: FixedParameters = None,
    context: ContextValues = None,
    plate: Annotated[
        Literal["open", "new"] | None,
        typer.Option(
            help="in a study with plates: open for the rest of the last plate, or the next one if it is full; new for "
            "a new plate",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0, max=60, help="seconds that the server may wait if there is no trial at once")
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Ask for trials.

    If the study issues none, the command prints the reason and exits with code 1.

    \b
    adabkb trial suggest svm --fixed kernel=rbf
    adabkb trial suggest gluing --context humidity=0.4
    adabkb trial suggest coupling --plate open
    """
    given, known = (parse_point(each) if each else None for each in (fixed, context))
    asked = StudyCalls(study).ask(
        count, worker=worker, lease_seconds=lease_seconds, fixed=given, context=known, plate=plate, wait=wait
    )
    answer = server.document(asked)
    lines = [_line(trial) for trial in answer["trials"]]
    if lines or as_json:
        show(answer, "\n".join(lines), as_json=as_json)
    if not lines:
        fail(no_trial(study, answer["reason"], answer["study"]["state"]))


def _line(trial: dict[str, Any]) -> str:
    without_model = " (quasi-random, without the model)" if trial["origin"] == "fallback" else ""
    return f"trial {trial['number']}{_on_plate(trial)}: {exact_point(trial['parameters'])}{without_model}"


def _on_plate(trial: dict[str, Any]) -> str:
    return f" (plate {trial['plate']})" if "plate" in trial else ""


def observe(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    value: Annotated[float | None, typer.Argument(help="the result", show_default=False, parser=number)] = None,
    parameters: ActualPoint = None,
    std_error: StdError = None,
    metric: MetricValues = None,
    metric_std_error: MetricErrors = None,
    partial: Partial = False,
    seconds: Seconds = None,
    attempt: Attempt = None,
    as_json: AsJson = False,
) -> None:
    """Report the result of a trial, or a part of it.

    \b
    adabkb result observe svm 7 0.93 --std-error 0.01 --metric latency_ms=12
    adabkb result observe reaction 7 0.93 --partial
    adabkb result observe reaction 7 --metric purity=0.98
    """
    if value is None and not metric:
        fail(
            "give a value, or --metric NAME=NUMBER for each of several objectives. If the evaluation failed, run: "
            f"adabkb trial fail {study} {trial} REASON"
        )
    steps = StudyCalls(study).observe(
        trial,
        value,
        std_error=std_error,
        parameters=_evaluated(server, study, trial, parse_point(parameters)) if parameters else None,
        partial=partial,
        seconds=seconds,
        attempt=attempt,
        **parse_metrics(metric, metric_std_error),
    )
    _send(server, trial, steps, as_json=as_json)


def _evaluated(server: Server, study: str, trial: int, changed: dict[str, Any]) -> dict[str, Any]:
    """Return the point that was evaluated instead of that of a trial: the changed values, and the trial's other values
    of parameters without a condition. (A change may make other parameters inactive.)"""
    space = server.document(StudyCalls(study).info())["parameters"]
    suggested = server.document(read_trial(study, trial))["parameters"]
    always = [each["name"] for each in space if not each.get("when")]
    return {**{name: suggested[name] for name in always if name in suggested}, **changed}


def fail_trial(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    reason: Annotated[str | None, typer.Argument(help="reason, for the log", show_default=False)] = None,
    seconds: Seconds = None,
    attempt: Attempt = None,
    as_json: AsJson = False,
) -> None:
    """Report that the evaluation of a trial failed.

    The trial is not issued again unless you retry it.

    \b
    adabkb trial fail svm 7 "out of memory"
    """
    _send(server, trial, StudyCalls(study).fail(trial, reason, seconds=seconds, attempt=attempt), as_json=as_json)


def add(
    server: Server,
    study: StudyId,
    parameters: ResultAtPoint,
    std_error: StdError = None,
    metric: MetricValues = None,
    metric_std_error: MetricErrors = None,
    partial: Partial = False,
    plate: Annotated[
        int | None,
        typer.Option(
            help="in a study with plates: number of the plate on which the point was measured, one of the study's or "
            "your own",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report a result at your own point.

    It does not count towards the budget.

    \b
    adabkb result add svm 0.91 C=10 gamma=0.1 --metric latency_ms=12
    adabkb result add forest depth=7 --metric error=0.08 --metric nodes=2200
    adabkb result add coupling 62.5 temperature=80 ligand=XPhos --plate 3
    """
    value, point_of_result = parse_result(parameters)
    metrics = parse_metrics(metric, metric_std_error)
    added = StudyCalls(study).add_result(
        point_of_result, value, std_error=std_error, partial=partial, plate=plate, **metrics
    )
    answer = server.document(added)
    show(answer, f"Observation {answer['observation']['seq']} is stored. {summary(answer['study'])}", as_json=as_json)


def observe_many(
    server: Server,
    study: StudyId,
    file: Annotated[
        Path, typer.Argument(help="file with one result per line; - for stdin", allow_dash=True, show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="validate and report, but store nothing")] = False,
    as_json: AsJson = False,
) -> None:
    """Report many results, each a line of JSON.

    A refused result does not affect the others.

    A line is {"trial": 7, "value": 0.93}, or {"parameters": {...}, "value": 0.93} for your own point. Both may have
    "std_error", and the second may have the number of its "plate". The exit code is 1 if any line was refused.
    """
    items = read_items(file)
    documents = list(items.values())
    outcomes: list[dict[str, Any]] = []
    for start in range(0, len(documents), BATCH):
        steps = batch(study, documents[start : start + BATCH], dry_run=dry_run)
        try:
            outcomes += server.document(steps)["items"]
        except Invalid as error:
            refuse(error, {}, study, list(items)[start:])
    refused = [(line, outcome) for line, outcome in zip(items, outcomes, strict=True) if outcome["status"] >= 400]
    lines = [f"line {line}: {outcome['detail']} [{outcome['code']}]" for line, outcome in refused]
    accepted = f"{len(outcomes) - len(refused)} of {len(outcomes)} results are {'acceptable' if dry_run else 'stored'}."
    show(outcomes, "\n".join([*lines, accepted]), as_json=as_json)
    if refused:
        raise typer.Exit(1)


def queue(server: Server, study: StudyId, parameters: Point, plate: OwnPlate = None, as_json: AsJson = False) -> None:
    """Queue your own point as a trial.

    It is issued before any suggestion, and counts towards the budget.

    \b
    adabkb trial queue svm C=10 gamma=0.1
    adabkb trial queue coupling temperature=80 ligand=XPhos --plate new
    """
    trial = server.document(StudyCalls(study).queue(parse_point(parameters), plate=plate))
    text = f"Trial {trial['number']} is {trial['state']}{_on_plate(trial)}: {exact_point(trial['parameters'])}"
    show(trial, text, as_json=as_json)


def repeat(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    times: Annotated[int, typer.Option(help="number of trials to queue at this point")] = 1,
    plate: OwnPlate = None,
    as_json: AsJson = False,
) -> None:
    """Queue the point of a trial again, once or several times.

    The new trials are issued before any suggestion, and count towards the budget.

    \b
    adabkb trial repeat svm 7 --times 3
    """
    answer = server.document(StudyCalls(study).repeat(trial, times, plate=plate))
    queued = [each["number"] for each in answer["trials"]]
    first = answer["trials"][0]
    which = f"Trial {queued[0]} is" if len(queued) == 1 else f"Trials {queued[0]} to {queued[-1]} are"
    show(answer, f"{which} {first['state']}{_on_plate(first)}: {exact_point(first['parameters'])}", as_json=as_json)


def release(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    reason: Annotated[
        str | None, typer.Option(help="why the attempt has no result, for the log", show_default=False)
    ] = None,
    attempt: Attempt = None,
    as_json: AsJson = False,
) -> None:
    """Release a trial without a result. It is issued again before any new point.

    \b
    adabkb trial release svm 7 --reason "the oven is occupied"
    """
    answer = server.document(StudyCalls(study).release(trial, reason, attempt=attempt))
    show(answer, f"Trial {trial} is {answer['trial']['state']}.", as_json=as_json)


def heartbeat(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    attempt: Attempt = None,
    lease_seconds: LeaseSeconds = None,
    as_json: AsJson = False,
) -> None:
    """Renew the lease of a trial."""
    renewed = StudyCalls(study).heartbeat(trial, lease_seconds=lease_seconds, attempt=attempt)
    answer = server.document(renewed)
    show(answer, f"Trial {trial} is leased until {answer['trial']['leased_until']}.", as_json=as_json)


def withdraw(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    reason: Annotated[str | None, typer.Option(help="why it will not be evaluated", show_default=False)] = None,
    attempt: Attempt = None,
    as_json: AsJson = False,
) -> None:
    """Decline a suggestion, or remove a queued point.

    This is not a failure, and does not count towards the budget.

    \b
    adabkb trial withdraw svm 7 --reason "no XPhos left"
    """
    answer = server.document(StudyCalls(study).withdraw(trial, reason, attempt=attempt))
    show(answer, f"Trial {trial} is {answer['trial']['state']}.", as_json=as_json)


def retry(
    server: Server,
    study: StudyId,
    trials: Annotated[
        list[int] | None, typer.Argument(help="numbers of the trials", parser=str, show_default=False), TRIAL
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="all trials that have failed")] = False,
    reason: Annotated[str | None, typer.Option(help="reason for the retry, for the log", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Issue failed or withdrawn trials again.

    A paused study issues them only after you resume it.

    \b
    adabkb trial retry svm 7 9
    adabkb trial retry svm --failed
    """
    if bool(trials) == failed:
        fail("give the numbers of trials, or --failed for all that have failed")
    calls = StudyCalls(study)
    numbers = trials or [trial["number"] for trial in server.items(calls.trials("failed"))]
    answers = [server.document(calls.retry(number, reason)) for number in numbers]
    lines = [f"Trial {answer['trial']['number']} will be issued again." for answer in answers]
    show([answer["trial"] for answer in answers], "\n".join(lines) or "No trial has failed.", as_json=as_json)


def annotate(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    attributes: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE...", help="attribute, as text or JSON; null removes it", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Set attributes of a trial. The model ignores them.

    \b
    adabkb trial annotate svm 3 host=n1 fold=2
    """
    given = parse_point(attributes, "an attribute", "such as host=n1")
    answer = server.document(StudyCalls(study).annotate(trial, given))
    found = answer["trial"]["attributes"]
    show(answer, f"Trial {trial} has {point(found) if found else 'no attributes'}.", as_json=as_json)


def list_trials(
    server: Server,
    study: StudyId,
    state: Annotated[State | None, typer.Option(help="only trials in this state", show_default=False)] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="only trials with this attribute; may be repeated", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the trials of a study by number."""
    wanted = dict(_attribute(text) for text in attribute or ())
    trials = server.items(StudyCalls(study).trials(state, wanted))
    which = "trials" if state is None else f"{state} trials"
    show(trials, rows.columns(rows.trials(trials)) if trials else f"Study {study} has no {which}.", as_json=as_json)


def _attribute(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        fail(f"--attribute {text!r} has no value; give --attribute NAME=VALUE, such as host=n1")
    return name, value


def why(server: Server, study: StudyId, trial: TrialNumber, as_json: AsJson = False) -> None:
    """Explain why a trial was suggested, and show its history.

    --json has the inputs of the decision and the events in full.
    """
    answer = server.document(StudyCalls(study).why(trial))
    found = answer["trial"]
    lines = [f"Trial {trial} is {found['state']}, at {exact_point(found['parameters'])}."]
    lines += _reasons(found["origin"], answer["decision"])
    lines += [f"  {event['created_at'][:19]}Z  {event['in_words']}" for event in answer["events"]]
    show(answer, "\n".join(lines), as_json=as_json)


def _reasons(origin: str, decision: dict[str, Any] | None) -> list[str]:
    if decision is None:
        return ["A user reported that it failed." if origin == "own" else "A user queued it."]
    source = {"policy": "The model decided", "fallback": "A fallback point was drawn"}
    waiting = ", ".join(map(str, decision["pending"])) or "none"
    lines = [
        decision["in_words"],
        f"{source[decision['origin']]} after event {decision['revision']}, on {decision['results']} results; "
        f"trials without one: {waiting}; failed: {', '.join(map(str, decision['failed'])) or 'none'}.",
    ]
    if (finishes := decision.get("finish_probability")) is not None:
        lines.append(f"It was expected to finish with probability {finishes:.3g}.")
    if decision["best"] is not None:
        best = decision["best"]
        beyond = "" if best.get("feasible", True) else ", violating the outcome constraints"
        lines.append(f"The best was {figure(best['value'])}{measured(best)} at {point(best['parameters'])}{beyond}.")
    return lines


def _send(server: Server, trial: int, steps: Steps[Answer], *, as_json: bool) -> None:
    answer = server.document(steps)
    lacking = ", ".join((answer["observation"] or {}).get("missing", []))
    state = "has failed" if answer["trial"]["state"] == "failed" else f"is {answer['trial']['state']}"
    state += f"; {lacking} missing" if lacking else ""
    show(answer, f"Trial {trial} {state}. {summary(answer['study'])}", as_json=as_json)

"""Commands about observations, predictions, the model and the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, NoReturn

import typer

from adabkb_client import Answer, ConnectionFailed, NotFound
from adabkb_client._calls import Steps
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import difference, figure
from adabkb_service.cli import rows
from adabkb_service.cli.described import measured, point, summary
from adabkb_service.cli.identifiers import Observation
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.values import (
    NO_LIMIT,
    MetricErrors,
    MetricValues,
    ShownContext,
    number,
    parse_context,
    parse_metrics,
    parse_point,
)

DATA = "data:"
ID = "id: "
DELETED = ("study_deleted", "study_not_found")
"""Codes of errors after the deletion of a study."""
REASONS = {
    "context_needed": "The best point depends on the context; give it: --context NAME=VALUE, or --context latest.",
    "too_few_results": "There are too few results to rely on the model's point; adabkb study assessment STUDY says "
    "how many more are needed.",
    "nothing_feasible": "No result satisfies all outcome constraints; these points come closest.",
    "nothing_certain": "No evaluated point satisfies all outcome constraints with the required probability; the "
    "model's point is the most likely to.",
    "model_loading": "The server has just started and is loading the engine; ask again for the model's point.",
    "model_busy": "The model did not answer in time; ask again for its point.",
    "model_failed": "The model has failed, so there is no recommendation from the model; adabkb study assessment STUDY "
    "gives the reason.",
}
"""Why a recommendation is incomplete, by reason. STUDY stands for the id."""
NO_RESULTS = (
    "Study {study} has no results yet. Ask for a trial: adabkb trial suggest {study}. Add a result at a point of your "
    "own: adabkb result add {study} VALUE NAME=VALUE..."
)
COMPLETED = "completed"
"""The event that ends a study."""
FeasibleProbability = Annotated[
    float | None,
    typer.Option(
        help="required probability that the point satisfies the outcome constraints (default: 0.95)", show_default=False
    ),
]
Reason = Annotated[str | None, typer.Option(help="reason, for the log", show_default=False)]


def list_observations(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """List the results of a study in the order of storage."""
    found = server.items(StudyCalls(study).observations())
    show(found, rows.columns(rows.results(found)) if found else NO_RESULTS.format(study=study), as_json=as_json)


def correct(
    server: Server,
    study: StudyId,
    observation: Observation,
    value: Annotated[
        float | None,
        typer.Argument(help="the correct value; omit it if it stays, or with several objectives", show_default=False),
    ] = None,
    std_error: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="standard error of the value", show_default=False)
    ] = None,
    metric: MetricValues = None,
    metric_std_error: MetricErrors = None,
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Replace the value and the metrics of a result.

    What is not given stays; "none" removes a standard error. The server rebuilds the model. The log keeps both values
    and the reason.

    \b
    adabkb result correct svm 12 0.93 --reason "typing error"
    adabkb result correct svm 12 --std-error none
    """
    changes = parse_metrics(metric, metric_std_error, removable=True)
    if value is not None:
        changes["value"] = value
    if std_error is not None:
        changes["std_error"] = None if std_error == NO_LIMIT else number(std_error)
    if not changes:
        fail("there is nothing to correct; give the correct value, or an option such as --metric NAME=NUMBER")
    _amend(server, StudyCalls(study).correct(observation, reason=reason, **changes), as_json=as_json)


def exclude(
    server: Server, study: StudyId, observation: Observation, reason: Reason = None, as_json: AsJson = False
) -> None:
    """Exclude a result from the model. It stays in the log."""
    _amend(server, StudyCalls(study).exclude(observation, reason), as_json=as_json)


def include(
    server: Server, study: StudyId, observation: Observation, reason: Reason = None, as_json: AsJson = False
) -> None:
    """Include an excluded result again."""
    _amend(server, StudyCalls(study).include(observation, reason), as_json=as_json)


def annotate(
    server: Server,
    study: StudyId,
    observation: Observation,
    attributes: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE...", help="attribute, as text or JSON; null removes it", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Set attributes of a result without a trial. The model ignores them.

    \b
    adabkb result annotate gluing 12 note=turbid
    """
    given = parse_point(attributes, "an attribute", "such as note=turbid")
    answer = server.document(StudyCalls(study).annotate_result(observation, given))
    found = answer["observation"].get("attributes")
    show(answer, f"Result {observation} has {point(found) if found else 'no attributes'}.", as_json=as_json)


def recommendation(
    server: Server,
    study: StudyId,
    feasible_probability: FeasibleProbability = None,
    context: ShownContext = None,
    as_json: AsJson = False,
) -> None:
    """Show the best point of the model and of the results.

    With several objectives, it shows the model's Pareto front.

    \b
    adabkb study recommendation gluing --context humidity=0.4
    adabkb study recommendation ageing --context latest
    """
    known = parse_context(context)
    asked = StudyCalls(study).recommendation(feasible_probability=feasible_probability, context=known)
    found = server.document(asked)
    model, observed, gap = found["model"], found["observed"], found["gap"]
    lines = [REASONS[found["reason"]].replace("STUDY", study)] if found.get("reason") in REASONS else []
    if model is not None:
        lines.append(f"by the model: {_expected(model)} at {point(model['parameters'])}")
        lines += map(_change, model.get("changes") or [])
    if observed is not None:
        lines.append(f"observed: {figure(observed['value'])}{measured(observed)} at {point(observed['parameters'])}")
        if observed.get("violations"):
            lines.append(f"beyond the bounds by: {point(observed['violations'])}")
    lines += [_on_front(each) for each in (found.get("front") or ())]
    if gap is not None:
        lines.append(f"gap: according to the model, no point is better by more than {difference(gap)}")
    show(found, "\n".join(lines) or NO_RESULTS.format(study=study), as_json=as_json)


def _change(change: dict[str, Any]) -> str:
    """Describe a change of the recommended point from the baseline, and its gain."""
    name, gain = change["parameter"], f"{change['gain']:.3g}"
    return f"changes {point({name: change['value']})} from {point({name: change['baseline']})}: gains {gain}"


def front(
    server: Server,
    study: StudyId,
    feasible_probability: FeasibleProbability = None,
    context: ShownContext = None,
    as_json: AsJson = False,
) -> None:
    """Show the Pareto front of several objectives.

    It shows the front of the results, the front of the model, and the hypervolume.

    \b
    adabkb study front forest
    adabkb study front gluing --context humidity=0.4
    """
    known = parse_context(context)
    found = server.document(StudyCalls(study).front(feasible_probability=feasible_probability, context=known))
    lines = [f"observation {each['observation']}: {_numbers(each)}" for each in found["observed"]]
    lines += [_on_front(each) for each in found["model"]]
    if found["hypervolume"] is not None:
        references = point({each["metric"]: each["reference"] for each in found["objectives"]})
        lines.append(f"hypervolume: {figure(found['hypervolume'])}, up to {references}")
    show(found, "\n".join(lines) or NO_RESULTS.format(study=study), as_json=as_json)


def predict(
    server: Server,
    study: StudyId,
    parameters: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE...",
            help="a point such as C=10 gamma=0.1, or points in JSON, one object each",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show the model's predictions at one point or several.

    \b
    adabkb model predict svm '{"C": 1, "gamma": 0.1}' '{"C": 10, "gamma": 0.1}'
    """
    in_json = all(argument.lstrip().startswith("{") for argument in parameters)
    points = [parse_point([argument]) for argument in parameters] if in_json else [parse_point(parameters)]
    found = server.document(StudyCalls(study).predict(points))["predictions"]
    lines = [f"{point(where)}: {_predicted(it)}" for where, it in zip(points, found, strict=True)]
    show(found, "\n".join(lines), as_json=as_json)


def model(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Show the constants and the size of the model."""
    found = server.document(StudyCalls(study).model())
    show(found, "\n".join(f"{name}: {json.dumps(value)}" for name, value in found.items()), as_json=as_json)


def dictionary(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """List the inducing points of the model (its dictionary)."""
    found = server.items(StudyCalls(study).dictionary())
    _list(found, f"The dictionary of study {study} is empty.", as_json=as_json)


def events(
    server: Server,
    study: StudyId,
    kind: Annotated[
        list[str] | None, typer.Option(help="only events of this kind, such as paused; may be repeated")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the log of a study in order."""
    found = server.items(StudyCalls(study).events(kind or ()))
    show(found, "\n".join(map(_event, found)), as_json=as_json)


def watch(
    server: Server,
    study: StudyId,
    all_events: Annotated[bool, typer.Option("--all", help="start with the first event of the log")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the events of a study as they happen.

    The command ends when the study is complete, when you press Ctrl-C, and with an error when the study is deleted. It
    first prints the current state
    and, with --all, all past events. It waits while the server restarts. With --json, it prints only events, each as a
    JSON line.
    """
    found = server.document(StudyCalls(study).info())
    if not as_json:
        typer.echo(summary(found))
    seq = 0 if all_events else found["revision"]
    last = str(seq)
    with suppress(KeyboardInterrupt), _until_deleted(study):
        while found["state"] != "complete" or seq < found["revision"]:
            for event_id, event in _events_after(server, study, last):
                last = event_id
                if event is None:
                    continue
                seq = event["seq"]
                typer.echo(json.dumps(event, ensure_ascii=False) if as_json else _event(event))
                if event["kind"] == COMPLETED:
                    break
            before, found = found, server.document(StudyCalls(study).info())
            if found["created_at"] != before["created_at"]:
                _fail_after_deletion(study)


def _events_after(server: Server, study: str, last: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield the id of each event after another one, and the event, as they arrive, until the server ends the stream or
    the connection is lost. The stream may begin with an id without an event.

    Raises:
        AdaBKBError: the server has refused the request, such as after a deletion of the study.
    """
    headers = {"Accept": "text/event-stream", "Last-Event-ID": last}
    with suppress(ConnectionFailed):
        for line in server.lines(StudyCalls(study).events().path, headers):
            if line.startswith(ID):
                last = line.removeprefix(ID)
                yield last, None
            elif line.startswith(DATA):
                yield last, json.loads(line.removeprefix(DATA))


@contextmanager
def _until_deleted(study: str) -> Iterator[None]:
    """Fail with a message about the deletion of a study if the server says that the study does not exist."""
    try:
        yield
    except NotFound as error:
        if error.code not in DELETED:
            raise
        _fail_after_deletion(study)


def _fail_after_deletion(study: str) -> NoReturn:
    fail(
        f"Study {study!r} was deleted. Restore it, if it is in adabkb trash list: adabkb trash restore {study}. If "
        f"there is a new study with this id, watch it: adabkb study watch {study}"
    )


def _list(found: list[dict[str, Any]], none: str, *, as_json: bool) -> None:
    lines = [" ".join(f"{name}={json.dumps(value)}" for name, value in item.items()) for item in found]
    show(found, "\n".join(lines) or none, as_json=as_json)


def _amend(server: Server, change: Steps[Answer], *, as_json: bool) -> None:
    answer = server.document(change)
    show(answer, f"{_observation(answer['observation'])}. {summary(answer['study'])}", as_json=as_json)


def _observation(row: dict[str, Any]) -> str:
    source = "" if row["trial"] is None else f" of trial {row['trial']}"
    error = "" if row["std_error"] is None else f" ± {figure(row['std_error'])}"
    excluded = ", excluded" if row["excluded"] else ""
    value = f"{figure(row['value'])}{error}{measured(row)}" if "value" in row else point(row["metrics"])
    return f"observation {row['seq']}{source}: {value} at {point(row['parameters'])}{excluded}"


def _expected(prediction: dict[str, Any]) -> str:
    """Describe a prediction, with those of the metrics and, if these have bounds, the probability to satisfy them."""
    text = f"{figure(prediction['mean'])} ± {prediction['std']:.2g}" if "mean" in prediction else ""
    if not prediction.get("metrics"):
        return text
    metrics = (f"{name}={figure(each['mean'])} ± {each['std']:.2g}" for name, each in prediction["metrics"].items())
    probability = prediction.get("feasible_probability")
    feasible = "" if probability is None else f"; feasible with probability {probability:.3g}"
    return f"{text} ({' '.join(metrics)}{feasible})".strip()


def _predicted(prediction: dict[str, Any]) -> str:
    """Describe a prediction at a point, with its interval and the probability that the evaluation finishes."""
    parts = [_expected(prediction)]
    if "lcb" in prediction:
        parts.append(f"from {figure(prediction['lcb'])} to {figure(prediction['ucb'])}")
    if (finishes := prediction.get("finish_probability")) is not None:
        parts.append(f"finishes with probability {finishes:.3g}")
    return ", ".join(filter(None, parts))


def _on_front(estimate: dict[str, Any]) -> str:
    """Describe a point of the model's front."""
    found = f"by the model: {_expected(estimate)} at {point(estimate['parameters'])}"
    return f"{found}, on the front with probability {estimate['probability']:.3g}"


def _numbers(row: dict[str, Any]) -> str:
    return f"{point(row['metrics'])} at {point(row['parameters'])}"


def _event(event: dict[str, Any]) -> str:
    trial = "" if event["trial"] is None else f" trial {event['trial']}"
    return f"event {event['seq']}, {event['created_at']}: {event['kind']}{trial} {json.dumps(event['payload'])}"

"""Commands that send requests to a server over HTTP."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx
import typer

from adabkb_service.cli.output import WHICH_STUDIES, AsJson, fail, point, show

Url = Annotated[str, typer.Option("--url", envvar="ADABKB_URL", help="address of the server")]
LOCAL = "http://127.0.0.1:8000"

StudyId = Annotated[str, typer.Argument(help="the study's id", show_default=False)]


def create_study(
    definition: Annotated[
        Path, typer.Argument(help="JSON file with the definition, - for stdin", allow_dash=True, show_default=False)
    ],
    url: Url = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Create a study from its definition, the body of POST /v1/studies."""
    try:
        text = typer.get_text_stream("stdin").read() if str(definition) == "-" else definition.read_text()
        body = json.loads(text)
    except (OSError, ValueError) as error:
        fail(f"cannot read the definition from {definition}: {error}")
    study = _send(url, "POST", "/v1/studies", body)
    show(study, f"Study {study['id']} is {study['state']}.", as_json=as_json)


def list_studies(url: Url = LOCAL, as_json: AsJson = False) -> None:
    """List all studies, newest first."""
    studies = _items(url, "/v1/studies")
    show(studies, "\n".join(map(_summary, studies)) or "There are no studies.", as_json=as_json)


def show_study(study: StudyId, url: Url = LOCAL, as_json: AsJson = False) -> None:
    """Show a study: state, counts, best result."""
    found = _send(url, "GET", _path(study))
    show(found, _summary(found), as_json=as_json)


def delete_study(
    study: StudyId,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
    url: Url = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Delete a study and everything below it."""
    if not yes:
        if not sys.stdin.isatty():
            fail(f"there is no terminal to ask whether to delete study {study}; pass --yes")
        typer.confirm(f"Delete study {study} with all its results?", abort=True)
    _send(url, "DELETE", _path(study))
    show({"deleted": study}, f"Study {study} is deleted.", as_json=as_json)


def suggest(
    study: StudyId,
    count: Annotated[int, typer.Option(help="number of trials")] = 1,
    worker: Annotated[str | None, typer.Option(help="name of the worker", show_default=False)] = None,
    url: Url = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Ask for trials; if there are none, print the reason and exit with code 1."""
    answer = _send(url, "POST", _path(study, "/suggest"), {"count": count, "worker": worker})
    lines = [f"trial {trial['number']}: {point(trial['parameters'])}" for trial in answer["trials"]]
    if lines or as_json:
        show(answer, "\n".join(lines), as_json=as_json)
    if not lines:
        fail(f"no trial is handed out: {answer['reason']} (the study is {answer['study']['state']})")


def observe(
    study: StudyId,
    trial: Annotated[int, typer.Argument(help="the trial's number", show_default=False)],
    value: Annotated[float | None, typer.Argument(help="the result", show_default=False)] = None,
    std_error: Annotated[float | None, typer.Option(help="standard error of the result", show_default=False)] = None,
    failed: Annotated[str | None, typer.Option(help="instead of a value: why it failed", show_default=False)] = None,
    url: Url = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Report the result of a trial, or that it failed."""
    if (value is None) == (failed is None):
        fail("give either a value or --failed REASON")
    body: dict[str, Any] = {"trial": trial, "value": value, "std_error": std_error}
    if failed is not None:
        body = {"trial": trial, "status": "failed", "reason": failed}
    answer = _send(url, "POST", _path(study, "/observe"), body)
    show(answer, f"Trial {trial} is {answer['trial']['state']}. {_summary(answer['study'])}", as_json=as_json)


def retry(
    study: StudyId,
    trials: Annotated[
        list[int] | None, typer.Argument(help="numbers of trials; all failed ones if none are given")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="what has changed, for the log", show_default=False)] = None,
    url: Url = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let failed trials be handed out again; a paused study also needs to be resumed."""
    numbers = trials or [trial["number"] for trial in _items(url, _path(study, "/trials"), state="failed")]
    answers = [_send(url, "POST", _path(study, f"/trials/{number}/retry"), {"reason": reason}) for number in numbers]
    lines = [f"Trial {answer['trial']['number']} is {answer['trial']['state']}." for answer in answers]
    show([answer["trial"] for answer in answers], "\n".join(lines) or "No trial has failed.", as_json=as_json)


def why(
    study: StudyId,
    trial: Annotated[int, typer.Argument(help="the trial's number", show_default=False)],
    url: Url = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Explain a trial: what its decision took into account, and what became of it."""
    answer = _send(url, "GET", _path(study, f"/trials/{trial}/why"))
    found = answer["trial"]
    lines = [f"Trial {trial} is {found['state']}, at {point(found['parameters'])}."]
    lines += _reasons(answer["decision"])
    lines += [
        f"  event {event['seq']}, {event['created_at']}: {event['kind']} {json.dumps(event['payload'])}"
        for event in answer["events"]
    ]
    show(answer, "\n".join(lines), as_json=as_json)


def _reasons(decision: dict[str, Any] | None) -> list[str]:
    if decision is None:
        return ["A user queued it."]
    source = {"policy": "The model decided on it", "fallback": "It is quasi-random (the model could not decide)"}
    waiting = ", ".join(map(str, decision["pending"])) or "none"
    lines = [
        f"{source[decision['origin']]} after event {decision['revision']}, on {decision['results']} results; "
        f"trials without one: {waiting}; failed: {', '.join(map(str, decision['failed'])) or 'none'}.",
        f"Random draws by seed {decision['random']['seed']}, step {decision['random']['step']}.",
    ]
    if decision["best"] is not None:
        lines.append(f"The best was {decision['best']['value']!r} at {point(decision['best']['parameters'])}.")
    if decision["path"]:
        lines.append(f"Its cell is {decision['path'][-1]['key']}, at depth {decision['path'][-1]['depth']}.")
    return lines


def export(
    study: StudyId,
    format: Annotated[str, typer.Option(help="jsonl: everything; csv: the observations")] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)] = None,
    url: Url = LOCAL,
    as_json: Annotated[bool, typer.Option("--json", help="the same as --format jsonl")] = False,
) -> None:
    """Export everything that a study holds."""
    if as_json and format != "jsonl":
        fail(f"--json is --format jsonl; leave out one of --json and --format {format}")
    query = str(httpx.QueryParams({"format": format}))
    text = _request(url, "GET", f"{_path(study, '/export')}?{query}").text
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        fail(f"cannot write {output} ({error.strerror}); give a file in a folder that exists and is writable")


def _path(study: str, rest: str = "") -> str:
    return f"/v1/studies/{httpx.URL('http://x', path='/' + study).raw_path.decode().removeprefix('/')}{rest}"


def _items(url: str, path: str, **query: str) -> list[dict[str, Any]]:
    """All items of a listing, page by page."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        asked = query if cursor is None else {**query, "cursor": cursor}
        page = _send(url, "GET", f"{path}?{httpx.QueryParams(asked)}")
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


def _send(url: str, method: str, path: str, body: Any = None) -> Any:
    response = _request(url, method, path, body)
    return response.json() if response.content else None


def _request(url: str, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if method == "POST":
        headers["Idempotency-Key"] = uuid.uuid4().hex
    try:
        content = None if body is None else json.dumps(body, allow_nan=False)
    except ValueError:
        fail("NaN and infinity cannot be sent, give finite numbers (for a run without a result: observe --failed)")
    try:
        response = httpx.request(method, url.rstrip("/") + path, content=content, headers=headers, timeout=60)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        fail(f"no server answers at {url} ({error}); start one with: adabkb serve")
    if response.is_error:
        _refused(response)
    return response


def _refused(response: httpx.Response) -> NoReturn:
    try:
        problem = response.json()
        message = f"{problem['detail']} [{problem['code']}]"
    except (ValueError, KeyError, TypeError):
        fail(f"the server answered {response.status_code}")
    remedy = f" {WHICH_STUDIES}" if problem["code"] == "study_not_found" else ""
    fail(message + remedy, problem)


def _summary(study: dict[str, Any]) -> str:
    counts, best = study["counts"], study["best"]
    why = f" ({study['reason']})" if study["reason"] else ""
    # Only the full study has a budget; the summary in other answers has none.
    budget = study.get("budget")
    total = f"{counts['trials']} trials so far" if budget is None else f"{budget} trials"
    algorithm = study.get("algorithm", {})
    system = [algorithm.get("kind"), algorithm.get("profile")]
    chosen = "" if system in ([None, None], ["ada-bkb", "auto"]) else f" ({' '.join(filter(None, system))})"
    line = f"{study['id']}{chosen}: {study['state']}{why}, {counts['completed']} of {total} completed"
    if best is not None:
        line += f", best {best['value']!r} at {point(best['parameters'])}"
    return line

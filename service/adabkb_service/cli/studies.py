"""Commands about a study as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from adabkb_service.cli import rows
from adabkb_service.cli.calling import Server, StudyId, path
from adabkb_service.cli.catalogues import CatalogueTables, add_catalogues
from adabkb_service.cli.descriptors import DescriptorTables, add_descriptors
from adabkb_service.cli.identifiers import STUDY
from adabkb_service.cli.output import AsJson, fail, in_unit, show, summary
from adabkb_service.cli.values import parse, parse_point

NO_LIMIT = "none"
PARAMETER = 'such as \'{"name": "lr", "kind": "float", "low": 0.001, "high": 1, "scale": "log"}\''


def create_study(
    server: Server,
    definition: Annotated[
        Path, typer.Argument(help="JSON file with the definition, - for stdin", allow_dash=True, show_default=False)
    ],
    transfer_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STUDY", help="an older study whose results it begins from; may be repeated", show_default=False
        ),
        STUDY,
    ] = None,
    descriptors: DescriptorTables = None,
    catalogue: CatalogueTables = None,
    as_json: AsJson = False,
) -> None:
    """Create a study from its definition.

    The definition is the body of POST /v1/studies. --descriptors takes the choices of a parameter, and numbers that
    describe them, from a table; --catalogue takes the rows of a table as the values of a parameter.

    echo '{"id": "svm", "direction": "maximize", "budget": 60, "parameters": [{"name": "C", "kind": "float", "low":
    0.001, "high": 1000, "scale": "log"}]}' | adabkb study create -
    """
    source = "standard input" if str(definition) == "-" else definition
    try:
        text = typer.get_text_stream("stdin").read() if str(definition) == "-" else definition.read_text()
        body = json.loads(text)
    except OSError as error:
        fail(f"cannot read the definition from {source} ({error.strerror}); give a file, or - for standard input")
    except ValueError as error:
        fail(f"cannot read the definition from {source}, which is no JSON ({error}); see adabkb study create --help")
    if transfer_from is not None and isinstance(body, dict):
        body["transfer_from"] = transfer_from
    if descriptors is not None and isinstance(body, dict):
        add_descriptors(descriptors, body.get("parameters"), "the definition")
    if catalogue is not None and isinstance(body, dict):
        add_catalogues(catalogue, body)
    study = server.post("/studies", body)
    show(study, f"Study {study['id']} is {study['state']}.", as_json=as_json)


def list_studies(server: Server, as_json: AsJson = False) -> None:
    """List all studies, newest first."""
    studies = list(server.pages("/studies"))
    show(studies, rows.columns(rows.studies(studies)) if studies else "There are no studies.", as_json=as_json)


def show_study(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Show the state, the counts and the best result of a study.

    It also says what going on will probably gain.
    """
    found = server.get(path(study))
    lines = [summary(found)]
    if found["gap"] is not None:
        lines.append(f"going on will probably gain less than {in_unit(found, format(found['gap'], '.6g'))}")
    if older := found.get("transfer_from"):
        lines.append(f"begins from: {', '.join(older)}")
    if found["constraints"]:
        lines.append(f"constraints: {', '.join(found['constraints'])}")
    lines += map(_mixture, found.get("mixtures", []))
    show(found, "\n".join(lines), as_json=as_json)


def _mixture(mixture: dict[str, Any]) -> str:
    """A mixture in words."""
    most, least = mixture.get("at_most"), mixture.get("least")
    many = "" if most is None else f", at most {most} above 0"
    few = f", each 0 or at least {least:.10g}" if least else ""
    return f"mixture: {' + '.join(mixture['parameters'])} = {mixture['total']:.10g}{many}{few}"


def pause(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Issue no trials until the study is resumed. Results are still accepted."""
    _change(server, study, {"state": "paused"}, as_json=as_json)


def resume(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Issue trials again."""
    _change(server, study, {"state": "running"}, as_json=as_json)


def _limit(what: str) -> Any:
    return typer.Option(help=what, show_default=False, metavar="<number|none>")


def update(
    server: Server,
    study: StudyId,
    budget: Annotated[str | None, _limit("trials, at most")] = None,
    tolerance: Annotated[str | None, _limit("gap at which the study is complete")] = None,
    lease_seconds: Annotated[float | None, typer.Option(help="length of a lease", show_default=False)] = None,
    max_attempts: Annotated[
        int | None, typer.Option(help="leases of a trial before it fails", show_default=False)
    ] = None,
    max_runtime_seconds: Annotated[str | None, _limit("seconds for an attempt, at most")] = None,
    failure_limit: Annotated[str | None, _limit("failures in a row that pause the study")] = None,
    pending_limit: Annotated[str | None, _limit("trials without a result at once, at most")] = None,
    no_gain_for: Annotated[str | None, _limit("results in a row without a better one that end the study")] = None,
    gap_share_below: Annotated[str | None, _limit("gap that ends the study, as a share of the results' range")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="replaces all tags; may be repeated", show_default=False),
    ] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=JSON",
            help="label, unit, digits, low and high of value (the objective) or of a metric; replaces those of all; "
            "may be repeated",
            show_default=False,
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON",
            help="edits the space: replaces the parameter of its name, or is added; may be repeated",
            show_default=False,
        ),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="the value that a parameter which is added had in the trials so far; may be repeated",
            show_default=False,
        ),
    ] = None,
    descriptors: DescriptorTables = None,
    as_json: AsJson = False,
) -> None:
    """Change the settings of a study, or edit its space.

    "none" takes a limit away.
    The rules to stop, --no-gain-for and --gap-share-below, are replaced together.

    \b
    adabkb study update svm --budget 100 --tolerance none
    adabkb study update svm --quantity 'value={"label": "Yield", "unit": "%", "low": 0, "high": 100}'
    adabkb study update svm --parameter '{"name": "shift", "kind": "float", "low": 0, "high": 1}' --default shift=0
    """
    limits = {
        "budget": budget,
        "tolerance": tolerance,
        "max_runtime_seconds": max_runtime_seconds,
        "failure_limit": failure_limit,
        "pending_limit": pending_limit,
    }
    changes: dict[str, Any] = {
        name: None if text == NO_LIMIT else parse(text) for name, text in limits.items() if text is not None
    }
    others = {"lease_seconds": lease_seconds, "max_attempts": max_attempts}
    changes |= {name: value for name, value in others.items() if value is not None}
    rules = {"no_gain_for": no_gain_for, "gap_share_below": gap_share_below}
    if any(rules.values()):
        changes["stop"] = {name: parse(text) for name, text in rules.items() if text not in (None, NO_LIMIT)} or None
    if tag is not None:
        changes["tags"] = dict(_tag(text) for text in tag)
    if quantity is not None:
        changes["quantities"] = parse_point(quantity)
    if parameter is not None:
        changes["parameters"] = [_parameter(text) for text in parameter]
    if descriptors is not None:
        add_descriptors(descriptors, changes.get("parameters", []), "--parameter")
    if default is not None:
        changes["defaults"] = parse_point(default)
    if not changes:
        fail("nothing is to be changed; give at least one option, such as --budget 100")
    _change(server, study, changes, as_json=as_json)


def export(
    server: Server,
    study: StudyId,
    format: Annotated[
        Literal["jsonl", "csv", "xlsx", "curves"],
        typer.Option(help="jsonl: everything; csv or xlsx: the trials and results; curves: reports, as CSV"),
    ] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Export everything that a study holds, or tables of it. --json is --format jsonl."""
    if as_json and format != "jsonl":
        fail(f"--json is --format jsonl; leave out one of --json and --format {format}")
    if format == "xlsx":
        if output is None:
            fail("an Excel file is no text for a terminal; give --output FILE.xlsx")
        content = server.content(path(study, "/export"), format=format)
        _write(output, lambda file: file.write_bytes(content))
        return
    is_for_excel = output is not None and format != "jsonl"  # a program that reads stdout takes no byte order mark
    text = server.text(path(study, "/export"), format=format, **({"bom": "true"} if is_for_excel else {}))
    if output is None:
        typer.echo(text, nl=False)
        return
    _write(output, lambda file: file.write_text(text, encoding="utf-8", newline=""))


def export_report(
    server: Server,
    study: StudyId,
    output: Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report as Markdown, for a notebook.

    It has the definition, the best point, all results with failures and reasons, who did what, and the hash of the log.
    The page has the same with charts, to print or to save as PDF: http://SERVER/studies/STUDY/report.
    """
    text = server.text(path(study, "/report"))
    told = json.dumps({"markdown": text}) + "\n" if as_json else text
    if output is None:
        typer.echo(told, nl=False)
        return
    _write(output, lambda file: file.write_text(told, encoding="utf-8", newline=""))


def _write(output: Path, write: Callable[[Path], object]) -> None:
    try:
        write(output)
    except OSError as error:
        fail(f"cannot write {output} ({error.strerror}); give a file in a folder that exists and is writable")


def _parameter(text: str) -> dict[str, Any]:
    found = parse(text)
    if not isinstance(found, dict):
        fail(f"--parameter {text!r} is no JSON object; give a parameter as a definition has it, {PARAMETER}")
    return found


def _tag(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        fail(f"--tag {text!r} has no value; give --tag NAME=TEXT")
    return name, value


def _change(server: Server, study: str, changes: dict[str, Any], *, as_json: bool) -> None:
    changed = server.patch(path(study), changes)
    show(changed, summary(changed), as_json=as_json)

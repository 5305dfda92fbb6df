"""Commands about a study as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from adabkb_client import APIError, StudyInfo
from adabkb_client import _client_calls as client_calls
from adabkb_client._calls import Steps
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import difference
from adabkb_service.cli import rows
from adabkb_service.cli.described import in_unit, summary
from adabkb_service.cli.descriptors import DescriptorTables, add_descriptors
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.refusals import option_names, refuse
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.study_settings import RULES, UPDATED, read_settings, with_settings
from adabkb_service.cli.values import NO_LIMIT, parse_tag

STAYS = (
    "early stopping cannot be removed from a study; to change it, give --early-stopping the rule with other numbers, "
    'such as \'{"rule": "median", "max_steps": 27, "min_steps": 9}\''
)


def list_studies(
    server: Server,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="only studies with this tag; may be repeated", show_default=False),
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="USER", help="only studies that this user owns", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the studies, newest first."""
    studies = server.items(client_calls.studies(dict(map(parse_tag, tag or ())), owner))
    none = "No study has these tags." if tag else "There are no studies."
    none = "There are no such studies." if owner else none
    show(studies, rows.columns(rows.studies(studies)) if studies else none, as_json=as_json)


def show_study(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Show the state, counts and best result of a study.

    It also shows a bound on the gain from further trials.
    """
    found = server.document(StudyCalls(study).info())
    lines = [summary(found)]
    if found["description"]:
        lines.append(found["description"])
    if found["gap"] is not None:
        lines.append(
            f"according to the model, no point is better by more than {in_unit(found, difference(found['gap']))}"
        )
    if error := found["model"]["error"]:
        lines.append(f"the model has failed: {error}")
    if older := found.get("transfer_from"):
        lines.append(f"also uses the results of: {', '.join(older)}")
    if found["constraints"]:
        lines.append(f"constraints: {', '.join(found['constraints'])}")
    lines += map(_mixture, found.get("mixtures", []))
    if plates := found.get("plates"):
        equal = f" with the same {', '.join(plates['shared'])}" if plates["shared"] else ""
        lines.append(f"plates: of {plates['size']} trials{equal}")
    show(found, "\n".join(lines), as_json=as_json)


def _mixture(mixture: dict[str, Any]) -> str:
    """Describe a mixture."""
    most, least = mixture.get("at_most"), mixture.get("least")
    many = "" if most is None else f", at most {most} above 0"
    few = f", each 0 or at least {least:.10g}" if least else ""
    return f"mixture: {' + '.join(mixture['parameters'])} = {mixture['total']:.10g}{many}{few}"


def pause(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Issue no trials until the study is resumed. Results are still accepted."""
    _change(server, StudyCalls(study).pause(), as_json=as_json)


def resume(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Issue trials again."""
    _change(server, StudyCalls(study).resume(), as_json=as_json)


@with_settings(UPDATED)
def update(
    server: Server,
    study: StudyId,
    *,
    descriptors: DescriptorTables = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Change the settings of a study, or edit its space.

    What is not given stays; "none", or --no-robust and --no-per-cost, removes a setting, except early stopping.
    Options listed from --tag on may be repeated; except for --parameter, they replace all old entries.

    \b
    adabkb study update svm --budget 100 --tolerance none --quantity 'value={"unit": "%", "low": 0, "high": 100}'
    adabkb study update svm --parameter '{"name": "shift", "kind": "float", "low": 0, "high": 1}' --default shift=0
    """
    if given["early_stopping"] == NO_LIMIT:
        fail(STAYS)
    changes = read_settings(given, may_remove=True)
    if "stop" in changes:
        changes |= _both_rules(changes["stop"], lambda: server.document(StudyCalls(study).info()).get("stop"))
    if descriptors is not None:
        add_descriptors(descriptors, changes.get("parameters", []), "--parameter")
    if not changes:
        fail("there is nothing to change; give at least one option, such as --budget 100")
    try:
        _change(server, StudyCalls(study).change(changes), as_json=as_json)
    except APIError as error:
        names = [each.get("name") for each in changes.get("parameters", ())]
        refuse(error, option_names(update), study, parameters=names)


def _both_rules(given: dict[str, Any], read: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
    """Return the fields of a change of stopping rules. The API replaces both rules, so a rule that was not given is
    repeated, and the server refuses the change if another person has changed that rule meanwhile.

    Args:
        given: the new value of one rule or both; None removes a rule.
        read: returns the present rules.
    """
    is_partial = len(given) < len(RULES)
    now = read() if is_partial else None
    kept = {name: number for name, number in {**(now or {}), **given}.items() if number is not None}
    return {"stop": kept or None, **({"was": {"stop": now}} if is_partial else {})}


def export(
    server: Server,
    study: StudyId,
    format: Annotated[
        Literal["jsonl", "csv", "xlsx", "curves"],
        typer.Option(help="jsonl: everything; csv or xlsx: trials and results; curves: intermediate values, as CSV"),
    ] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Export a study with everything in it, or as tables. --json is short for --format jsonl."""
    if as_json and format != "jsonl":
        fail(f"--json is --format jsonl; leave out one of --json and --format {format}")
    if format == "xlsx":
        if output is None:
            fail("an Excel file cannot be written to standard output; give --output FILE.xlsx")
        content = server.perform(StudyCalls(study).export_excel())
        _write(output, lambda file: file.write_bytes(content))
        return
    text = server.perform(StudyCalls(study).export(format))
    if output is None:
        typer.echo(text, nl=False)
        return
    encoding = "utf-8" if format == "jsonl" else "utf-8-sig"  # Excel needs the byte order mark
    _write(output, lambda file: file.write_text(text, encoding=encoding, newline=""))


def export_report(
    server: Server,
    study: StudyId,
    output: Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report as Markdown, for a notebook.

    It has the definition, the best point, all results, failures with reasons, who did what, and the hash of the log.
    For the same report with charts, to print or save as PDF, open http://SERVER/studies/STUDY/report.
    """
    text = server.perform(StudyCalls(study).export_report())
    content = json.dumps({"markdown": text}) + "\n" if as_json else text
    if output is None:
        typer.echo(content, nl=False)
        return
    _write(output, lambda file: file.write_text(content, encoding="utf-8", newline=""))


def _write(output: Path, write: Callable[[Path], object]) -> None:
    try:
        write(output)
    except OSError as error:
        fail(f"cannot write {output} ({error.strerror}); give a file in a folder that exists and is writable")


def _change(server: Server, change: Steps[StudyInfo], *, as_json: bool) -> None:
    changed = server.document(change)
    show(changed, summary(changed), as_json=as_json)

"""Commands about a study as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from adabkb_client import APIError, StudyInfo
from adabkb_client import _client_calls as client_calls
from adabkb_client._calls import Steps
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import difference
from adabkb_service.cli import rows
from adabkb_service.cli.creation import other
from adabkb_service.cli.described import in_unit, summary
from adabkb_service.cli.descriptors import DescriptorTables, add_descriptors
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.refusals import option_names, refuse
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.values import (
    NO_LIMIT,
    parse,
    parse_budget,
    parse_object,
    parse_objects,
    parse_parameter,
    parse_point,
    parse_tag,
)

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
    as_json: AsJson = False,
) -> None:
    """List the studies, newest first."""
    studies = server.items(client_calls.studies(dict(map(parse_tag, tag or ()))))
    none = "No study has these tags." if tag else "There are no studies."
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


def _limit(what: str) -> Any:
    return typer.Option(help=what, show_default=False, metavar="LIMIT")


def update(
    server: Server,
    study: StudyId,
    budget: Annotated[str | None, _limit('number of trials, "3 plates" or "cost 50"')] = None,
    tolerance: Annotated[str | None, _limit("gap at which the study is complete")] = None,
    lease_seconds: Annotated[float | None, other("duration of a lease", "SECONDS")] = None,
    max_attempts: Annotated[int | None, other("expired leases after which a trial fails", "NUMBER")] = None,
    max_runtime_seconds: Annotated[str | None, other("time limit of an attempt", "SECONDS")] = None,
    failure_limit: Annotated[str | None, other("failures in a row that pause the study", "NUMBER")] = None,
    pending_limit: Annotated[str | None, other("maximum number of unfinished trials", "NUMBER")] = None,
    no_gain_for: Annotated[str | None, _limit("stop after this many results without a gain")] = None,
    gap_share_below: Annotated[str | None, other("stop at this gap, as a share of the range", "NUMBER")] = None,
    title: Annotated[str | None, typer.Option(help="name of the study for display", show_default=False)] = None,
    description: Annotated[str | None, typer.Option(help="what the study is about", show_default=False)] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="a tag", show_default=False),
    ] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=JSON",
            help="label, unit, low, high of value or a metric",
            show_default=False,
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JSON",
            help="a parameter to add, or to replace",
            show_default=False,
        ),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="value of an added parameter in older trials",
            show_default=False,
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="a constraint on parameters",
            show_default=False,
        ),
    ] = None,
    mixture: Annotated[
        list[str] | None,
        typer.Option(metavar="JSON", help="a mixture", show_default=False),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=JSON",
            help="a belief about the optimum",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="a value of the baseline (current settings)",
            show_default=False,
        ),
    ] = None,
    outcome_constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="JSON", help="bounds of a metric", show_default=False),
    ] = None,
    early_stopping: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="other settings of the rule; give it once", show_default=False),
    ] = None,
    noise_std: Annotated[str | None, other("standard deviation of a result; 0 if exact", "NUMBER")] = None,
    per_cost: Annotated[bool | None, other("suggest by the expected gain per cost")] = None,
    robust: Annotated[bool | None, other("give less weight to contradicted results")] = None,
    descriptors: DescriptorTables = None,
    as_json: AsJson = False,
) -> None:
    """Change the settings of a study, or edit its space.

    What is not given stays; "none", or --no-robust and --no-per-cost, removes a setting, except early stopping.
    Options listed from --tag on may be repeated; except for --parameter, they replace all old entries.

    \b
    adabkb study update svm --budget 100 --tolerance none --quantity 'value={"unit": "%", "low": 0, "high": 100}'
    adabkb study update svm --parameter '{"name": "shift", "kind": "float", "low": 0, "high": 1}' --default shift=0
    """
    options: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "budget": (budget, parse_budget),
        "tolerance": (tolerance, parse),
        "lease_seconds": (lease_seconds, float),
        "max_attempts": (max_attempts, int),
        "max_runtime_seconds": (max_runtime_seconds, parse),
        "failure_limit": (failure_limit, parse),
        "pending_limit": (pending_limit, parse),
        "title": (title, str),
        "description": (description, str),
        "tags": (tag, lambda texts: dict(map(parse_tag, texts))),
        "quantities": (quantity, parse_point),
        "constraints": (constraint, list),
        "mixtures": (mixture, partial(parse_objects, "--mixture")),
        "prior": (prior, parse_point),
        "baseline": (baseline, parse_point),
        "outcome_constraints": (outcome_constraint, partial(parse_objects, "--outcome-constraint")),
        "noise_std": (noise_std, parse),
        "per_cost": (per_cost, bool),
        "robust": (robust, bool),
    }
    given = {name: each for name, each in options.items() if each[0] is not None}
    changes: dict[str, Any] = {
        name: None if value in (NO_LIMIT, [NO_LIMIT]) else read(value) for name, (value, read) in given.items()
    }
    rules = {"no_gain_for": no_gain_for, "gap_share_below": gap_share_below}
    if any(rules.values()):
        # the API replaces both rules
        now = None if all(rules.values()) else server.document(StudyCalls(study).info()).get("stop")
        kept = {name: number for name, number in (now or {}).items() if rules[name] is None and number is not None}
        new = {name: parse(text) for name, text in rules.items() if text not in (None, NO_LIMIT)}
        changes["stop"] = {**kept, **new} or None
        if not all(rules.values()):  # refuse it if another person has changed the other rule meanwhile
            changes["was"] = {"stop": now}
    if parameter is not None:
        changes["parameters"] = list(map(parse_parameter, parameter))
    if descriptors is not None:
        add_descriptors(descriptors, changes.get("parameters", []), "--parameter")
    if default is not None:
        changes["defaults"] = parse_point(default)
    if early_stopping is not None:
        if early_stopping == NO_LIMIT:
            fail(STAYS)
        changes["early_stopping"] = parse_object("--early-stopping", early_stopping)
    if not changes:
        fail("there is nothing to change; give at least one option, such as --budget 100")
    try:
        _change(server, StudyCalls(study).change(changes), as_json=as_json)
    except APIError as error:
        names = [each.get("name") for each in changes.get("parameters", ())]
        refuse(error, option_names(update), study, parameters=names)


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

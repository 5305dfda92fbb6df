"""The command that creates a study, from options, a file with its definition, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from adabkb_client import APIError
from adabkb_client import _client_calls as client_calls
from adabkb_service.cli.catalogues import CatalogueTables, add_catalogues
from adabkb_service.cli.descriptors import DescriptorTables, add_descriptors
from adabkb_service.cli.identifiers import STUDY
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.refusals import RENAMED, refuse
from adabkb_service.cli.server_calls import Server
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

OTHERS = "Other settings, as in a definition (docs/http.md)"
"""The heading of the options that the help only names. Their help texts are shown by shell completion."""


def _option(what: str, metavar: str | None = None) -> Any:
    return typer.Option(help=what, metavar=metavar, show_default=False)


def other(what: str, metavar: str | None = None, flag: str | None = None) -> Any:
    """Return an option that is listed below ``OTHERS``."""
    names = () if flag is None else (flag,)
    return typer.Option(*names, help=what, metavar=metavar, show_default=False, rich_help_panel=OTHERS)


def create_study(
    server: Server,
    definition: Annotated[
        Path | None,
        typer.Argument(help="JSON file with a definition; - for stdin", allow_dash=True, show_default=False),
    ] = None,
    id: Annotated[str | None, _option("the study's id (default: a new one)"), STUDY] = None,
    parameter: Annotated[list[str] | None, _option("a parameter; may be repeated", "JSON")] = None,
    direction: Annotated[Literal["minimize", "maximize"] | None, _option("minimize or maximize", "WORD")] = None,
    budget: Annotated[str | None, _option('number of trials, "3 plates" or "cost 50"', "LIMIT")] = None,
    seed: Annotated[int | None, _option("seed of the suggestions")] = None,
    constraint: Annotated[list[str] | None, _option("a constraint on parameters; may be repeated", "TEXT")] = None,
    metric: Annotated[list[str] | None, _option("another measured quantity; may be repeated", "NAME")] = None,
    noise_std: Annotated[float | None, _option("standard deviation of a result")] = None,
    tolerance: Annotated[float | None, _option("gap at which the study is complete")] = None,
    no_gain_for: Annotated[int | None, _option("stop after this many results without a gain")] = None,
    gap_share_below: Annotated[float | None, _option("stop at this gap, as a share of the range")] = None,
    lease_seconds: Annotated[float | None, other("duration of a lease", "SECONDS")] = None,
    max_attempts: Annotated[int | None, other("expired leases after which a trial fails", "NUMBER")] = None,
    max_runtime_seconds: Annotated[float | None, other("time limit of an attempt", "SECONDS")] = None,
    failure_limit: Annotated[str | None, other("failures in a row that pause the study, or none", "LIMIT")] = None,
    pending_limit: Annotated[int | None, other("maximum number of unfinished trials", "NUMBER")] = None,
    title: Annotated[str | None, other("name of the study for display", "TEXT")] = None,
    description: Annotated[str | None, other("what the study is about", "TEXT")] = None,
    objective: Annotated[list[str] | None, other("one of several objectives", "JSON")] = None,
    outcome_constraint: Annotated[list[str] | None, other("bounds of a metric", "JSON")] = None,
    mixture: Annotated[list[str] | None, other("shares of a whole", "JSON")] = None,
    prior: Annotated[list[str] | None, other("a belief about the optimum", "NAME=JSON")] = None,
    baseline: Annotated[list[str] | None, other("a current setting", "NAME=VALUE")] = None,
    quantity: Annotated[list[str] | None, other("label, unit, low, high of value or a metric", "NAME=JSON")] = None,
    plates: Annotated[str | None, other("batches of trials that share values", "JSON")] = None,
    early_stopping: Annotated[str | None, other("the rule that ends trials early", "JSON")] = None,
    cost: Annotated[Literal["told", "measured"] | None, other("source of the cost: told or measured", "WORD")] = None,
    per_cost: Annotated[bool, other("suggest by the expected gain per cost", flag="--per-cost")] = False,
    robust: Annotated[bool, other("give less weight to contradicted results", flag="--robust")] = False,
    algorithm: Annotated[str | None, other("an algorithm with its constants", "JSON")] = None,
    tag: Annotated[list[str] | None, _option("a tag; may be repeated", "NAME=TEXT")] = None,
    transfer_from: Annotated[list[str] | None, _option("an older study to learn from", "STUDY"), STUDY] = None,
    descriptors: DescriptorTables = None,
    catalogue: CatalogueTables = None,
    update: Annotated[bool, typer.Option("--update", help="if it exists, change its settings")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a study.

    Options replace fields of the file; one stopping rule replaces both rules.

    \b
    adabkb study create --id svm --direction maximize --budget 60 \\
      --parameter '{"name": "C", "kind": "float", "low": 0.001, "high": 1000}'
    """
    rules = {"no_gain_for": no_gain_for, "gap_share_below": gap_share_below}
    parameters = list(map(parse_parameter, parameter or ()))
    names = [each.get("name") for each in parameters]
    given = {
        "id": id,
        "direction": direction,
        "seed": seed,
        "noise_std": noise_std,
        "tolerance": tolerance,
        "lease_seconds": lease_seconds,
        "max_attempts": max_attempts,
        "max_runtime_seconds": max_runtime_seconds,
        "failure_limit": None if failure_limit is None else parse(failure_limit),
        "pending_limit": pending_limit,
        "title": title,
        "description": description,
        "constraints": constraint,
        "metrics": metric,
        "transfer_from": transfer_from,
        "parameters": None if parameter is None else parameters,
        "budget": None if budget is None else parse_budget(budget),
        "stop": {name: value for name, value in rules.items() if value is not None} or None,
        "tags": None if tag is None else dict(map(parse_tag, tag)),
        "objectives": parse_objects("--objective", objective or ()) or None,
        "outcome_constraints": parse_objects("--outcome-constraint", outcome_constraint or ()) or None,
        "mixtures": parse_objects("--mixture", mixture or ()) or None,
        "prior": None if prior is None else parse_point(prior),
        "baseline": None if baseline is None else parse_point(baseline),
        "quantities": None if quantity is None else parse_point(quantity),
        "plates": None if plates is None else parse_object("--plates", plates),
        "early_stopping": None if early_stopping is None else parse_object("--early-stopping", early_stopping),
        "cost": cost,
        "per_cost": per_cost or None,
        "robust": robust or None,
        "algorithm": None if algorithm is None else parse_object("--algorithm", algorithm),
    }
    settings = {name: value for name, value in given.items() if value is not None}
    if failure_limit == NO_LIMIT:
        settings["failure_limit"] = None
    if definition is None and not (settings or catalogue):
        fail("give a file with a definition, or at least --direction and --parameter; see adabkb study create --help")
    body = {**({} if definition is None else _read(definition)), **settings}
    if descriptors is not None:
        add_descriptors(descriptors, body.get("parameters"), "the definition" if parameter is None else "--parameter")
    if catalogue is not None:
        body.setdefault("parameters", [])
        add_catalogues(catalogue, body)
    try:
        steps = client_calls.create_or_open(body, update=True) if update else client_calls.create(body)
        study = server.document(steps)
    except APIError as error:
        refuse(error, _options(settings), body.get("id"), parameters=names)
    show(study, f"Study {study['id']} is {study['state']}.", as_json=as_json)


def _read(definition: Path) -> dict[str, Any]:
    is_stdin = str(definition) == "-"
    source = "standard input" if is_stdin else definition
    try:
        found = json.loads(typer.get_text_stream("stdin").read() if is_stdin else definition.read_text())
    except OSError as error:
        fail(f"cannot read the definition from {source} ({error.strerror}); give a file, or - for standard input")
    except ValueError as error:
        fail(f"cannot read the definition from {source}, which is not JSON ({error}); see adabkb study create --help")
    if not isinstance(found, dict):
        fail(f"the definition from {source} is not a JSON object; see adabkb study create --help")
    return found


def _options(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the options that gave these settings. An error in any other field comes from the file."""
    names = {RENAMED.get(name, name) for name in settings if name != "stop"}
    names |= settings.get("stop", {}).keys()
    if "parameters" in names:
        names = names - {"parameters"} | {"parameter"}
    return {name: f"--{name.replace('_', '-')}" for name in names}

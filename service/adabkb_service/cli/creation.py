"""The command that creates a study, from options, a file with its definition, or both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from adabkb_client import APIError
from adabkb_client import _client_calls as client_calls
from adabkb_service.cli.catalogues import CatalogueTables, add_catalogues
from adabkb_service.cli.descriptors import DescriptorTables, add_descriptors
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.refusals import refuse
from adabkb_service.cli.server_calls import Server
from adabkb_service.cli.study_settings import CREATED, read_settings, with_settings


@with_settings(CREATED)
def create_study(
    server: Server,
    definition: Annotated[
        Path | None,
        typer.Argument(help="JSON file with a definition; - for stdin", allow_dash=True, show_default=False),
    ] = None,
    *,
    descriptors: DescriptorTables = None,
    catalogue: CatalogueTables = None,
    update: Annotated[bool, typer.Option("--update", help="if it exists, change its settings")] = False,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Create a study.

    Options replace fields of the file; one stopping rule replaces both rules.

    \b
    adabkb study create --id svm --direction maximize --budget 60 \\
      --parameter '{"name": "C", "kind": "float", "low": 0.001, "high": 1000}'
    """
    settings = read_settings(given)
    if definition is None and not (settings or catalogue):
        fail("give a file with a definition, or at least --direction and --parameter; see adabkb study create --help")
    body = {**({} if definition is None else _read(definition)), **settings}
    if descriptors is not None:
        source = "--parameter" if "parameters" in settings else "the definition"
        add_descriptors(descriptors, body.get("parameters"), source)
    if catalogue is not None:
        body.setdefault("parameters", [])
        add_catalogues(catalogue, body)
    try:
        steps = client_calls.create_or_open(body, update=True) if update else client_calls.create(body)
        study = server.document(steps)
    except APIError as error:
        # an error in any other field comes from the file
        names = {name: f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None}
        parameters = [each.get("name") for each in settings.get("parameters", ())]
        refuse(error, names, body.get("id"), parameters=parameters)
    show(study, f"Study {study['id']} is {study['state']}.", as_json=as_json)


def _read(definition: Path) -> dict[str, Any]:
    is_stdin = str(definition) == "-"
    source = "standard input" if is_stdin else definition
    try:
        raw = typer.get_binary_stream("stdin").read() if is_stdin else definition.read_bytes()
        found = json.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        fail(f"cannot read the definition from {source} ({error.strerror}); give a file, or - for standard input")
    except ValueError as error:
        fail(f"cannot read the definition from {source}, which is not JSON ({error}); see adabkb study create --help")
    if not isinstance(found, dict):
        fail(f"the definition from {source} is not a JSON object; see adabkb study create --help")
    return found

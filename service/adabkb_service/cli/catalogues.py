"""Add catalogues from tables to a study's definition, and change a catalogue's rows while the study runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from adabkb_client import Catalogue
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import figure
from adabkb_service.cli.described import summary
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.cli.server_calls import Server, StudyId

CatalogueTables = Annotated[
    list[str] | None,
    typer.Option(
        "--catalogue",
        metavar="NAME=FILE",
        help="a parameter whose values are a table's rows",
        show_default=False,
    ),
]


def rows(
    server: Server,
    study: StudyId,
    containing: Annotated[
        str, typer.Option(metavar="TEXT", help="only rows whose names contain this text", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the rows of a catalogue, with their numbers."""
    found = server.items(StudyCalls(study).rows(containing))
    columns = list(found[0]["numbers"]) if found else []
    cells = [
        [each["name"], *map(figure, each["numbers"].values()), "withdrawn" if each["withdrawn"] else ""]
        for each in found
    ]
    none = f"Study {study} has no catalogue." if not containing else f"No row of study {study} contains {containing!r}."
    show(found, table(["row", *columns, ""], cells) if found else none, as_json=as_json)


def change_catalogue(
    server: Server,
    study: StudyId,
    parameter: Annotated[str, typer.Argument(help="name of the catalogue", show_default=False)],
    add: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="a table of rows to add, with the same columns", show_default=False),
    ] = None,
    withdraw: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW", help="a row that the server must not suggest again; may be repeated", show_default=False
        ),
    ] = None,
    restore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW", help="a withdrawn row that the server may suggest again; may be repeated", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add, withdraw and restore rows of a catalogue.

    The study keeps running. The model still uses the results of withdrawn rows.

    \b
    adabkb study change-catalogue dyes molecule --add new.csv
    adabkb study change-catalogue dyes molecule --withdraw "Nile red" --withdraw fluorescein
    """
    if not (add or withdraw or restore):
        fail("there is nothing to change; give at least one option, such as --withdraw ROW")
    rows = read(add) if add else None
    change = StudyCalls(study).change_catalogue(parameter, add=rows, withdraw=withdraw or (), restore=restore or ())
    changed = server.document(change)
    show(changed, summary(changed), as_json=as_json)


def add_catalogues(tables: Sequence[str], definition: dict[str, Any]) -> None:
    """Add catalogue parameters from tables to a definition, in place. A catalogue that has the name gets the table, and
    keeps its other fields.

    Args:
        tables: each ``NAME=FILE``.
        definition: the study's definition.

    Raises:
        Failure: a text is not NAME=FILE, the name belongs to a parameter of another kind, or the table cannot be read.
    """
    parameters = definition.setdefault("parameters", [])
    for text in tables:
        name, equals, file = text.partition("=")
        if not (equals and name and file):
            fail(f"--catalogue {text!r} must be NAME=FILE")
        listed = parameters if isinstance(parameters, list) else []
        found = [each for each in listed if isinstance(each, dict) and each.get("name") == name]
        if found and found[0].get("kind") != "catalogue":
            fail(
                f"the definition has a parameter {name!r} that is not a catalogue; remove it from the definition, or "
                "give the catalogue another name"
            )
        made = {"name": name, **read(file).to_json()}
        if found:
            found[0].update(made)
        elif isinstance(parameters, list):
            parameters.append(made)


def read(file: str) -> Catalogue:
    """Read the rows of a table.

    Raises:
        Failure: the file cannot be read, or does not have the form of a table.
    """
    try:
        return Catalogue.from_csv(file)
    except OSError as error:
        fail(f"cannot read {file} ({error.strerror}); give a CSV or Excel file")
    except (ValueError, ImportError) as error:
        fail(str(error))

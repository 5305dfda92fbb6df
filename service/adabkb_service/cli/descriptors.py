"""Choices and their descriptors from tables, for the parameters of a definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from adabkb_client._parameters import read_choices
from adabkb_service.cli.output import fail

DescriptorTables = Annotated[
    list[str] | None,
    typer.Option(
        "--descriptors",
        metavar="NAME=FILE",
        help="table of a parameter's choices",
        show_default=False,
    ),
]


def add_descriptors(tables: Sequence[str], parameters: Any, where: str) -> None:
    """Add the choices and descriptors of tables to parameters, in place.

    Args:
        tables: each ``NAME=FILE``.
        parameters: the parameters of a definition.
        where: the source of the parameters, for the error.

    Raises:
        Failure: there is no such parameter, or the table cannot be read.
    """
    for text in tables:
        name, equals, file = text.partition("=")
        if not (equals and name and file):
            fail(f"--descriptors {text!r} must be NAME=FILE")
        listed = parameters if isinstance(parameters, list) else []
        found = [each for each in listed if isinstance(each, dict) and each.get("name") == name]
        if not found or found[0].get("kind") != "categorical":
            example = f'{{"name": "{name}", "kind": "categorical"}}'
            fail(f"{where} has no categorical parameter {name!r}, which --descriptors names; add {example}")
        try:
            found[0]["choices"], found[0]["descriptors"] = read_choices(file)
        except OSError as error:
            fail(f"cannot read {file} ({error.strerror}); give a file with a table")
        except (ValueError, ImportError) as error:
            fail(str(error))

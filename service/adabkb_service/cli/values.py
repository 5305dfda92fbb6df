"""Values of parameters as arguments of commands: ``NAME=VALUE``, or an object in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from adabkb_service.cli.output import fail

EXAMPLE = 'such as C=10 kernel=rbf, or as JSON \'{"C": 10, "kernel": "rbf"}\''

Point = Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help=f"the point, {EXAMPLE}", show_default=False)]
ActualPoint = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=VALUE]...", help="what was run, if it is not what was suggested", show_default=False),
]
ResultAtPoint = Annotated[
    list[str],
    typer.Argument(
        metavar="[VALUE] NAME=VALUE...",
        help=f"the result (none where there are several objectives, which are metrics), then the point, {EXAMPLE}",
        show_default=False,
    ),
]


def _several(option: str, metavar: str, text: str) -> Any:
    """An option that may be repeated."""
    return typer.Option(option, metavar=metavar, help=text, show_default=False)


FixedParameters = Annotated[
    list[str] | None,
    _several("--fixed", "NAME=VALUE", "a value that a parameter is to have, the others are chosen; may be repeated"),
]
ContextValues = Annotated[
    list[str] | None, _several("--context", "NAME=VALUE", "the value of a context parameter; give all of them")
]
MetricValues = Annotated[
    list[str] | None, _several("--metric", "NAME=NUMBER", "what else was measured, or what it cost; may be repeated")
]
MetricErrors = Annotated[
    list[str] | None, _several("--metric-std-error", "NAME=NUMBER", "standard error of a metric; may be repeated")
]


def parse_metrics(values: Sequence[str] | None, errors: Sequence[str] | None) -> dict[str, Any]:
    """The fields of a result that arguments give: ``metrics`` and ``std_errors``.

    Raises:
        Failure: an argument is no ``NAME=NUMBER``.
    """
    given = {"metrics": values, "std_errors": errors}
    example = "such as latency_ms=12.5"
    return {field: parse_point(texts, "a metric", example) for field, texts in given.items() if texts}


def parse_result(arguments: Sequence[str]) -> tuple[float | None, dict[str, Any]]:
    """The value, if the first argument is none of a parameter, and the point that the others give.

    Raises:
        Failure: the value is no number, there is no point, or an argument of it is neither ``NAME=VALUE`` nor JSON.
    """
    first, *others = arguments
    if "=" in first or first.lstrip().startswith("{"):
        return None, parse_point(arguments)
    try:
        value = float(first)
    except ValueError:
        fail(f"{first!r} is not a number; give the result first, then the point, {EXAMPLE}")
    if not others:
        fail(f"give the point of the result, too, {EXAMPLE}")
    return value, parse_point(others)


def parse_point(arguments: Sequence[str], what: str = "a parameter", example: str = EXAMPLE) -> dict[str, Any]:
    """The point that arguments give, or other values by name.

    Args:
        arguments: each one value, or several.
        what: they are values of, for the error.
        example: of them, for the error.

    Raises:
        Failure: an argument is neither ``NAME=VALUE`` nor an object in JSON.
    """
    found: dict[str, Any] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        document = parse(argument)
        if isinstance(document, dict):
            found |= document
        elif equals and name:
            found[name] = parse(text)
        else:
            fail(f"{argument!r} is no value of {what}; give NAME=VALUE, {example}")
    return found


def parse(text: str) -> Any:
    """The value of a text: its JSON value, or otherwise the text itself. A text that looks like a number needs
    quotation marks: '"1"'."""
    try:
        return json.loads(text)
    except ValueError:
        return text

"""Values of parameters as arguments of commands: ``NAME=VALUE``, or an object in JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

import typer

from adabkb_service.cli.output import fail

EXAMPLE = 'such as C=10 kernel=rbf, or as JSON \'{"C": 10, "kernel": "rbf"}\''
NO_LIMIT = "none"
"""The text that removes a limit or another setting of a study."""
OBJECTS = {
    "--algorithm": '\'{"kind": "sobol"}\'',
    "--early-stopping": '\'{"rule": "asha", "max_steps": 27}\'',
    "--mixture": '\'{"parameters": ["water", "ethanol"], "total": 1}\'',
    "--objective": '\'{"metric": "cost", "direction": "minimize"}\'',
    "--outcome-constraint": '\'{"metric": "latency_ms", "upper": 20}\'',
    "--parameter": '\'{"name": "lr", "kind": "float", "low": 0.001, "high": 1, "scale": "log"}\'',
    "--plates": '\'{"size": 24, "shared": ["temperature"]}\'',
}
"""An example for each option whose argument is an object in JSON."""

Point = Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help=f"the point, {EXAMPLE}", show_default=False)]
ActualPoint = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=VALUE]...",
        help="values that differ from those of the suggested point; the others are as suggested",
        show_default=False,
    ),
]
MeasuredSoFar = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=VALUE]...",
        help="values so far of the parameters that are measured with the result",
        show_default=False,
    ),
]
ResultAtPoint = Annotated[
    list[str],
    typer.Argument(
        metavar="[VALUE] NAME=VALUE...",
        help=f"the result (omit it with several objectives, which are metrics), then the point, {EXAMPLE}",
        show_default=False,
    ),
]


def number(text: str) -> float:
    """Return the number in an argument.

    Raises:
        typer.BadParameter: the text is not a number.
    """
    try:
        return float(text)
    except ValueError:
        remedy = "; write decimals with a point, such as 45.3" if "," in text else ""
        raise typer.BadParameter(f"{text!r} is not a number{remedy}") from None


def _several(option: str, metavar: str, text: str) -> Any:
    """Return an option that may be repeated."""
    return typer.Option(option, metavar=metavar, help=text, show_default=False)


FixedParameters = Annotated[
    list[str] | None,
    _several("--fixed", "NAME=VALUE", "value of a parameter to fix; may be repeated"),
]
ContextValues = Annotated[
    list[str] | None, _several("--context", "NAME=VALUE", "value of a context parameter; give them all")
]
ShownContext = Annotated[
    list[str] | None,
    _several(
        "--context", "NAME=VALUE", "value of a context parameter; give them all, or latest: as in the last result"
    ),
]
MetricValues = Annotated[
    list[str] | None,
    _several("--metric", "NAME=NUMBER", "another measured quantity, such as the cost; may be repeated"),
]
MetricErrors = Annotated[
    list[str] | None, _several("--metric-std-error", "NAME=NUMBER", "standard error of a metric; may be repeated")
]


def parse_context(texts: Sequence[str] | None) -> dict[str, Any] | Literal["latest"] | None:
    """Return the context for which a best point is shown; None without one.

    Raises:
        Failure: an argument is neither ``NAME=VALUE`` nor, alone, ``latest``.
    """
    if texts and list(texts) == ["latest"]:
        return "latest"
    return parse_point(texts) if texts else None


def parse_metrics(
    values: Sequence[str] | None, errors: Sequence[str] | None, *, removable: bool = False
) -> dict[str, Any]:
    """Return the fields ``metrics`` and ``std_errors`` of a result from arguments. If standard errors are
    ``removable``, that of ``NAME=none`` is None.

    Raises:
        Failure: an argument is not ``NAME=NUMBER``.
    """
    given = {"metrics": ("--metric", values), "std_errors": ("--metric-std-error", errors)}
    return {
        field: _numbers(option, texts, removable=removable and field == "std_errors")
        for field, (option, texts) in given.items()
        if texts
    }


def _numbers(option: str, texts: Sequence[str], *, removable: bool) -> dict[str, Any]:
    example = "such as latency_ms=12.5"
    return {
        name: None if removable and value == NO_LIMIT else _metric(option, name, value, example)
        for name, value in parse_point(texts, "a metric", example).items()
    }


def _metric(option: str, name: str, value: Any, example: str) -> float:
    """Return the number of a metric. Numbers such as .7 and +7 are not JSON, so they come as text."""
    with suppress(ValueError):
        if isinstance(value, str) and math.isfinite(found := float(value)):
            return found
    if not isinstance(value, int | float) or isinstance(value, bool):
        fail(f"{option} {name}={value} is not a number; give NAME=NUMBER, {example}")
    return value


def parse_result(arguments: Sequence[str]) -> tuple[float | None, dict[str, Any]]:
    """Return the value, if the first argument is not a parameter's, and the point.

    Raises:
        Failure: the value is not a number, the point is missing, or one of its arguments is neither ``NAME=VALUE`` nor
            JSON.
    """
    first, *others = arguments
    if "=" in first or first.lstrip().startswith("{"):
        return None, parse_point(arguments)
    try:
        value = float(first)
    except ValueError:
        fail(f"{first!r} is not a number; give the result first, then the point, {EXAMPLE}")
    if not others:
        fail(f"also give the point of the result, {EXAMPLE}")
    return value, parse_point(others)


def parse_point(arguments: Sequence[str], what: str = "a parameter", example: str = EXAMPLE) -> dict[str, Any]:
    """Return the point, or other named values, from arguments.

    Args:
        arguments: each gives one value or several.
        what: the kind of object that the values belong to, for the error.
        example: an example, for the error.

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
            fail(f"{argument!r} is not a value of {what}; give NAME=VALUE, {example}")
    return found


def parse_parameter(text: str) -> dict[str, Any]:
    """Return the parameter of a study in the argument of --parameter.

    Raises:
        Failure: the argument is not an object in JSON.
    """
    return parse_object("--parameter", text)


def parse_object(option: str, text: str) -> dict[str, Any]:
    """Return the object in JSON that an option gives.

    Raises:
        Failure: the argument is not an object in JSON.
    """
    found = parse(text)
    if not isinstance(found, dict):
        fail(f"{option} {text!r} is not a JSON object; give one as in a definition, such as {OBJECTS[option]}")
    return found


def parse_objects(option: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the objects in JSON that a repeated option gives: see ``parse_object``."""
    return [parse_object(option, text) for text in texts]


def parse_budget(text: str) -> Any:
    """Return the budget in the argument of --budget: a number of trials, a number of plates, such as "3 plates", or a
    cost, such as "cost 50".

    Raises:
        Failure: the argument is none of these.
    """
    if cost := re.fullmatch(r"cost +(\S+)", text):
        return {"cost": parse(cost[1])}
    if plates := re.fullmatch(r"(\d+) *plates?", text):
        return {"plates": int(plates[1])}
    found = parse(text)
    if isinstance(found, str):
        fail(f"--budget {text!r} is not a number of trials such as 60, '3 plates' or 'cost 50'; give one of these")
    return found


def parse_tag(text: str) -> tuple[str, str]:
    """Return the name and the text in the argument of --tag.

    Raises:
        Failure: the argument is not ``NAME=TEXT``.
    """
    name, equals, value = text.partition("=")
    if not equals:
        fail(f"--tag {text!r} has no value; give --tag NAME=TEXT")
    return name, value


def parse(text: str) -> Any:
    """Return the JSON value of a text or, if the text is not JSON, the text itself. A string that looks like a number
    needs quotation marks: '"1"'."""
    try:
        return json.loads(text)
    except ValueError:
        return text

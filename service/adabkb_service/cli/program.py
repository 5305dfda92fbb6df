"""The interface between ``adabkb run`` and a program: arguments, environment, files, result."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from adabkb_client import LeasedTrial
from adabkb_client._run import evaluation

PARAMETER_PREFIX = "ADABKB_PARAM_"
PARAMETERS_FILE = "parameters.json"
RESULT_FILE = "result"
REPORTS_FILE = "reports"
SHOWN = 100
"""The maximum number of characters of an unusable result that an error shows."""

Result = float | dict[str, Any]
"""A value, or an object with fields of a result."""
FIELDS = frozenset(evaluation.Result._fields)
"""The fields of a result: the same as of a function in Python."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Report(NamedTuple):
    """A line of the file of reports: see ``LeasedTrial.report``."""

    step: int
    value: float
    cost: float | None = None
    parameters: dict[str, Any] | None = None


class WrongPlaceholder(ValueError):
    """An argument names a parameter that has no value when the program starts, or has an unpaired brace."""


class NoResult(ValueError):
    """A program has written no result, or an invalid result or report."""


class NotFinite(ValueError):
    """A number in the output of a program is infinite or not a number."""


def check_placeholders(command: Sequence[str], names: Sequence[str], expected: evaluation.Expected) -> None:
    """Refuse a command with a placeholder that names no parameter, or with an unpaired brace.

    Args:
        command: the program and its arguments.
        names: the parameters whose values are known when the program starts.
        expected: the kind of result that the study accepts.

    Raises:
        WrongPlaceholder: the message names the argument and the parameters.
    """
    for argument in command:
        for found in _BRACES.finditer(argument):
            if found[1] in expected.measured:
                raise WrongPlaceholder(
                    f"the argument {argument!r} has {found[0]}, whose value is only measured with the result; leave it "
                    f"out, and let the program give the value in its result, such as {expected.example}"
                )
        _BRACES.sub(partial(_filled, argument, dict.fromkeys(names)), argument)


def filled(command: Sequence[str], parameters: Mapping[str, Any]) -> list[str]:
    """Return the command with ``{name}`` replaced by the parameter's value, and doubled braces by single ones. An
    argument that names an inactive parameter is omitted.

    Args:
        command: one that ``check_placeholders`` accepts.
        parameters: the values of the active parameters.
    """
    return [
        _BRACES.sub(partial(_filled, argument, parameters), argument)
        for argument in command
        if all(found[1] is None or found[1] in parameters for found in _BRACES.finditer(argument))
    ]


def environment(trial: LeasedTrial, folder: Path) -> dict[str, str]:
    """Return the environment variables that describe a trial, and write the file of parameters."""
    parameters = trial.parameters
    file = folder / PARAMETERS_FILE
    file.write_text(json.dumps(parameters, ensure_ascii=False), encoding="utf-8")
    return {
        **{variable(name): as_text(value) for name, value in parameters.items()},
        "ADABKB_STUDY": trial.trial.study,
        "ADABKB_TRIAL": str(trial.number),
        "ADABKB_ATTEMPT": str(trial.trial.attempt),
        "ADABKB_PARAMETERS": str(file),
        "ADABKB_TO_MEASURE": json.dumps(trial.trial.to_measure, ensure_ascii=False),
        "ADABKB_RESULT": str(folder / RESULT_FILE),
        "ADABKB_REPORTS": str(folder / REPORTS_FILE),
    }


def variable(name: str) -> str:
    """Return the name of the variable that holds a parameter's value."""
    return PARAMETER_PREFIX + re.sub(r"[^A-Za-z0-9_]", "_", name)


def as_text(value: Any) -> str:
    """Return a value as an argument: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def result(folder: Path, output: str, pattern: re.Pattern[str] | None) -> Result:
    """Return the result, from the file if it is not empty, otherwise from the standard output.

    Args:
        folder: where the program may have written the file.
        output: the last part of the program's standard output.
        pattern: its last match is the result; without a pattern, the last nonempty line is.

    Raises:
        NoResult: there is no result, or it is neither a number nor a JSON object with the fields of a result.
        NotFinite: a number in the result is infinite or NaN.
    """
    file = folder / RESULT_FILE
    try:
        written = file.read_text(encoding="utf-8").strip() if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise NoResult(f"the file $ADABKB_RESULT cannot be read: {error}") from None
    if written:
        return _parsed(written, "the file $ADABKB_RESULT")
    if pattern is not None:
        matches = [match[1] for match in pattern.finditer(output)]
        if not matches or matches[-1] is None:
            raise NoResult(f"nothing in the standard output matches --pattern {pattern.pattern!r}")
        return _parsed(matches[-1].strip(), "the match of --pattern")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        raise NoResult(
            "the program ended without a result: its standard output is empty, and it wrote no file $ADABKB_RESULT"
        )
    return _parsed(lines[-1], "the last line of standard output")


def report(line: str) -> Report | None:
    """Return the report in a line of the file of reports; None for an empty line.

    Raises:
        NoResult: the line is neither ``STEP VALUE`` or ``STEP VALUE COST``, nor JSON such as ``{"step": 3, "value":
            0.5}``, which may have ``cost`` and ``parameters``.
        NotFinite: a number is infinite or NaN.
    """
    words = line.split()
    if not words:
        return None
    step = value = cost = parameters = None
    try:
        if line.lstrip().startswith("{"):
            document = json.loads(line)
            step, value = document["step"], document["value"]
            cost, parameters = document.get("cost"), document.get("parameters")
        elif len(words) <= 3:
            step, value, cost = int(words[0]), float(words[1]), float(words[2]) if len(words) > 2 else None
    except (ValueError, KeyError, IndexError):
        step = None
    if isinstance(step, bool) or not isinstance(step, int):
        shown = line if len(line) <= SHOWN else f"{line[:SHOWN]}..."
        raise NoResult(
            f"a line of the file $ADABKB_REPORTS is {shown!r}, not STEP VALUE such as 3 0.52, or STEP VALUE COST, or "
            'JSON such as {"step": 3, "value": 0.52}'
        )
    source = "in a line of the file $ADABKB_REPORTS"
    return Report(
        step,
        _finite(f"value {source}", value),
        None if cost is None else _finite(f"cost {source}", cost),
        None if parameters is None else _named_values(source, parameters),
    )


def _filled(argument: str, parameters: Mapping[str, Any], found: re.Match[str]) -> str:
    name = found[1]
    if found[0] in ("{{", "}}"):
        return found[0][0]
    if name is not None and name in parameters:
        return as_text(parameters[name])
    what = "a single brace" if name is None else f"{found[0]}, which is not a parameter"
    raise WrongPlaceholder(
        f"the argument {argument!r} has {what}; the parameters are {', '.join(parameters)}. "
        "Write {{ and }} for literal braces"
    )


def _parsed(text: str, source: str) -> Result:
    try:
        document = {"value": float(text)}
    except ValueError:
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
    if not isinstance(document, dict) or not document.keys() & {"value", "metrics"} or not document.keys() <= FIELDS:
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        raise NoResult(
            f"{source} is {shown!r}, neither a number nor JSON such as "
            '{"value": 0.93, "std_error": 0.01, "metrics": {"latency_ms": 12}}'
        )
    if document.keys() == {"value"}:
        return _finite("value of the result", document["value"])
    return {name: _checked(name, part) for name, part in document.items() if part is not None}


def _checked(name: str, part: Any) -> Any:
    if name == "partial":
        if not isinstance(part, bool):
            raise NoResult(f"partial in the result must be true or false, not {part!r}")
        return part
    if name == "parameters":
        return _named_values("of the result", part)
    if name in ("value", "std_error", "seconds"):
        return _finite(f"{name} of the result", part)
    if not isinstance(part, dict):
        raise NoResult(f'the {name} of the result must be an object such as {{"latency_ms": 12}}, not {part!r}')
    return {metric: _finite(f"{name} ({metric}) of the result", number) for metric, number in part.items()}


def _named_values(source: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise NoResult(f'the parameters {source} must be an object such as {{"humidity": 0.4}}, not {given!r}')
    for name, value in given.items():
        if isinstance(value, float):
            _finite(f"parameter {name} {source}", value)
    return given


def _finite(name: str, number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise NoResult(f"the {name} is {number!r}, not a number")
    if not math.isfinite(number):
        raise NotFinite(f"the {name} is {number!r}, not a finite number")
    return float(number)

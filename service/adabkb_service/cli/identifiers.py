"""Ids and numbers as arguments of commands. A command checks them before it does anything else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, get_args

import typer

from adabkb_service.cli.output import fail

LONGEST = 60
"""The maximum number of characters of an invalid id that an error shows."""
MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True)
class Identifier:
    """The required form of an id or a number, for the annotation of a command's parameter."""

    name: str
    pattern: str
    rule: str
    """The pattern in words, with an example."""
    remedy: str
    is_number: bool = False

    def parse(self, text: str, option: str = "") -> str | int:
        """Return the id or the number. The error names the option that gave it, if any.

        Raises:
            Failure: the text does not match.
        """
        if re.fullmatch(self.pattern, text, re.ASCII) is None or (self.is_number and int(text) > MAX_NUMBER):
            shown = repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")
            name = f"{option}, the {self.name}," if option else f"the {self.name}"
            fail(f"{name} must be {self.rule}, not {shown}. {self.remedy}")
        return int(text) if self.is_number else text


def _number(name: str, remedy: str) -> Identifier:
    return Identifier(name, "[1-9][0-9]{0,9}", f"a whole number from 1 to {MAX_NUMBER}, such as 7", remedy, True)


def _token(name: str, remedy: str) -> Identifier:
    return Identifier(name, "[0-9a-f]{12}", "12 digits, 0 to 9 or a to f, such as 0123456789ab", remedy)


STUDY = Identifier(
    "id of a study",
    "[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    "1 to 100 letters, digits, dots, underscores or hyphens that begin with a letter or a digit, such as svm",
    "List them: adabkb study list",
)
STUDIES = Identifier(
    "studies of a token",
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\*?",
    "an id, or a prefix followed by *, such as svm or vision-*",
    "List the studies: adabkb study list",
)
TRIAL = _number("number of a trial", "List them: adabkb trial list STUDY")
OBSERVATION = _number("number of an observation", "List them: adabkb result list STUDY")
FILE = _number("number of a file", "List them: adabkb trial files STUDY TRIAL or adabkb result files STUDY OBSERVATION")
DELETION = _number("number of a deletion", "List them: adabkb trash list")
LINK = _token("id of a link", "List them: adabkb access links STUDY")
WEBHOOK = _token("id of a webhook", "List them: adabkb study webhooks STUDY")
TOKEN = _token("id of a token", "List them: adabkb token list")

StudyId = Annotated[str, typer.Argument(help="the study's id", show_default=False), STUDY]
"""For commands that call no server, so the shell cannot complete the id."""
TrialNumber = Annotated[int, typer.Argument(help="the trial's number", show_default=False, parser=str), TRIAL]
Observation = Annotated[
    int,
    typer.Argument(help="the observation's sequence number (adabkb result list)", show_default=False, parser=str),
    OBSERVATION,
]
TokenId = Annotated[str, typer.Argument(help="the token's id (adabkb token list)", show_default=False), TOKEN]


def checking(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command, so that it refuses an invalid id or number before it does anything."""
    found: dict[str, tuple[Identifier, str]] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        notes = get_args(parameter.annotation)
        is_option = any(isinstance(note, typer.models.OptionInfo) for note in notes)
        for note in notes:
            if isinstance(note, Identifier):
                found[name] = note, f"--{name.replace('_', '-')}" if is_option else ""

    @wraps(command)
    def checked(**given: Any) -> None:
        command(**{**given, **{name: _parsed(*each, given.get(name)) for name, each in found.items()}})

    return checked


def _parsed(identifier: Identifier, option: str, given: Any) -> Any:
    """Return the parsed text, or texts; None if the option was not given."""
    if isinstance(given, list):
        return [identifier.parse(text, option) for text in given]
    return None if given is None else identifier.parse(given, option)

"""An invalid id or number is refused with an example, before a command does anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from adabkb_service.contract.parameters import StudyId
from tests.integration.cli.shell import adabkb, commands
from tests.samples import rotated

NOWHERE = {"ADABKB_URL": "http://127.0.0.1:1", "ADABKB_RETRY_FOR": "0"}
"""No server listens there, so a command that sends a request fails."""
STUDIES = ("", " ", "a/b", "a b", "-", ".a", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "s\n", "a" * 101)
NUMBERS = ("", "0", "x", "1.5", "7\n", "\N{ARABIC-INDIC DIGIT ONE}", "2147483648", "9" * 5000)
TOKENS = ("", "svm", "0123456789AB", "0123456789abc")
EXAMPLES = {"svm": STUDIES, "7": NUMBERS, "0123456789ab": TOKENS}
"""Example -> invalid values for arguments of this form."""
ARGUMENTS = {
    "study": "svm",
    "transfer_from": "svm",
    "trial": "7",
    "trials": "7",
    "seq": "7",
    "deletion": "7",
    "link": "0123456789ab",
    "token": "0123456789ab",
}
"""Examples by the name of the parameter."""
OTHERS = {"definition": "-", "file": "-", "name": "ann", "user": "ann", "step": "1", "value": "1"}
"""Values for other arguments of the same commands; arguments that are not listed accept any string."""
VALUES = 2
"""Number of invalid values tested per argument. Different arguments are tested with different values."""
ACCESS_TOKEN = "--token"
"""An option with the same name and another meaning."""


def identifiers() -> Iterator[tuple[tuple[str, ...], Any, list[Any]]]:
    """Yield each argument or option that takes an id or a number: its command, itself, and the command's arguments."""
    for path, command in commands():
        arguments: list[Any] = [each for each in command.params if each.param_type_name == "argument"]
        for parameter in command.params:
            if parameter.name in ARGUMENTS and parameter.opts[0] != ACCESS_TOKEN:
                yield path, parameter, arguments


def line(path: tuple[str, ...], parameter: Any, arguments: list[Any], text: str) -> list[str]:
    """Return a command line with ``text`` for one parameter, and valid values for the other required arguments."""
    option = [] if parameter in arguments else [f"{parameter.opts[0]}={text}"]
    given = [
        text if each is parameter else ARGUMENTS.get(each.name) or OTHERS.get(each.name, "x=1")
        for each in arguments
        if each is parameter or each.required
    ]
    return [*path, *option, "--json", "--", *given]


@pytest.mark.parametrize(
    ("path", "parameter", "arguments"),
    [pytest.param(*each, id=" ".join((*each[0], each[1].name))) for each in identifiers()],
)
def test_what_cannot_be_an_id_is_named_with_an_example(
    path: tuple[str, ...], parameter: Any, arguments: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    example = ARGUMENTS[parameter.name]
    for text in rotated(EXAMPLES[example], (path, parameter.name))[:VALUES]:
        said = json.loads(adabkb(*line(path, parameter, arguments, text), code=1, stdin="{}"))["error"]
        assert re.search(rf", such as {example}( or .*)?, not '", said), text
        assert "adabkb " in said  # a command that lists the valid ones
        assert len(said) < 400


def test_every_command_that_asks_for_an_id_is_tested() -> None:
    tested = {path for path, _, _ in identifiers()}
    for path, command in commands():
        for parameter in command.params:
            helped = f"{parameter.name} {parameter.help or ''}"
            if "'s id" in helped or "its id" in helped or "'s number" in helped or "its number" in helped:
                assert path in tested, path


@settings(max_examples=30)
@given(st.text(max_size=105) | st.from_regex(r"[A-Za-z0-9._-]{0,105}", fullmatch=True))
def test_the_command_takes_the_ids_that_the_server_takes(text: str) -> None:
    try:
        TypeAdapter(StudyId).validate_python(text)
    except ValidationError:
        expected = "the id of a study must be"
    else:
        expected = "there is no database at"
    arguments = ("data", "replay", "--database", "sqlite:////nowhere/a.db", "--", text)
    assert expected in adabkb(*arguments, code=1)

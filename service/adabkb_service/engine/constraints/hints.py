"""What somebody probably meant who wrote symbols of other languages in a constraint."""

from __future__ import annotations

import re
from collections.abc import Iterator

INSTEAD = (
    (r"&&?", "and"),
    (r"\|\|?", "or"),
    (r"~|!(?!=)", "not"),
    (r"=>", ">="),
    (r"=<", "<="),
    (r"<>", "!="),
    (r"={3,}", "=="),
    (r"(?<![=<>!])=(?![=<>])", "=="),
    (r"\b(?!and\b)(?i:and)\b", "and"),
    (r"\b(?!or\b)(?i:or)\b", "or"),
    (r"\b(?!not\b)(?i:not)\b", "not"),
    (r"\b(?!in\b)(?i:in)\b", "in"),
)
"""Symbols that the grammar does not have, as regular expressions, and what it has in their place."""
CONSTANTS = {"true": "True", "false": "False", "null": "None", "none": "None"}
"""Names of values in other languages, in small letters, and their names here."""


def instead(text: str) -> tuple[int, str] | None:
    """The first symbol of another language in a text: its place, and what to write; None if there is none."""
    found = sorted(_found(_without_quoted(text)))
    return found[0] if found else None


def _found(text: str) -> Iterator[tuple[int, str]]:
    for pattern, meant in INSTEAD:
        if match := re.search(pattern, text):
            yield match.start(), f"write {meant} in place of {match[0]}"


def _without_quoted(text: str) -> str:
    """A text with blanks in place of what is in quotes."""
    return re.sub(r'"[^"]*"|\'[^\']*\'', lambda quoted: " " * len(quoted[0]), text)

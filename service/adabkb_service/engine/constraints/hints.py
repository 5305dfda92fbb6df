"""Suggestions for symbols of other languages in a constraint."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

INSTEAD = (
    (r"&&?", "and"),
    (r"\|\|?", "or"),
    (r"~|!(?!=)", "not"),
    (r"([<>!=])\s+=(?!=)", r"\1="),
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
"""Regular expressions of foreign symbols -> replacements in the grammar."""
IMPLICATIONS = (
    r"(?i:if)\b(?P<condition>.+?)(?:\b(?i:then)\b|[,:])(?P<consequence>.+)",
    r"(?P<consequence>.+)\b(?i:if)\b(?P<condition>.+)",
    r"(?P<condition>.+?)(?:\b(?i:implies)\b|=>|->|\u2192|\u21d2)(?P<consequence>.+)",
)
"""Regular expressions of constraints of which one part must hold only where another one does."""
RESERVED = {*keyword.kwlist} - {"and", "or", "not", "in", "True", "False", "None"}
"""Python keywords that have no meaning in constraints, and cannot be names without quotes."""
CONSTANTS = {"true": "True", "false": "False", "null": "None", "none": "None"}
"""Names of values in other languages, in lower case -> their names here."""


def instead(text: str) -> tuple[int, str] | None:
    """Return the position of the first foreign symbol in a text, and a message; None without one."""
    found = sorted(_found(_without_quoted(text)))
    return found[0] if found else None


def implications(text: str) -> Iterator[tuple[str, str]]:
    """Yield the conditions and the consequences into which a text such as ``if kind == "x" then a <= 1`` can be
    split."""
    for pattern in IMPLICATIONS:
        if match := re.fullmatch(pattern, _without_quoted(text)):
            condition, consequence = (text[slice(*match.span(part))].strip() for part in ("condition", "consequence"))
            yield condition, consequence


def reserved_word(text: str) -> tuple[int, str] | None:
    """Return the position of the first reserved word in a text that has no meaning in constraints, and the word."""
    words = re.finditer(r"[^\W\d]\w*", _without_quoted(text))
    return next(((word.start(), word[0]) for word in words if word[0] in RESERVED), None)


def _found(text: str) -> Iterator[tuple[int, str]]:
    for pattern, replacement in INSTEAD:
        if match := re.search(pattern, text):
            yield match.start(), f"write {match.expand(replacement)} in place of {match[0]}"


def _without_quoted(text: str) -> str:
    """The text with quoted parts replaced by quotation marks."""
    return re.sub(r'"[^"]*"|\'[^\']*\'', lambda quoted: "'" * len(quoted[0]), text)

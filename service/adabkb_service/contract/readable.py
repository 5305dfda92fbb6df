"""Names and other short texts in the definition of a study: people must be able to read them as they are stored.

Control characters, line breaks and invisible marks that change the direction of text are refused. With them, a text may
look like another one, or break a line of a table or a log. Text of any script is allowed, such as Arabic and Hebrew,
which need no such marks. A description may have several lines, so it is not checked.

Studies of older versions may have such texts. They stay readable, and a change of such a study may keep its texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from adabkb_service.contract.tables import names_in, table_of
from adabkb_service.errors import MAX_ERRORS, FieldError, Invalid, json_pointer
from adabkb_service.storage.catalogues import Pieces, pieces_of

CODE = "unreadable_text"
TABLES = (("parameters", "table"), ("catalogues", "add"))
"""Paths of tables, without the index or the name of the catalogue: its whole table, and rows that are added to it."""

_LINE_BREAKS = "\n\r\x85\u2028\u2029"
# The marks are the characters with Unicode's property Bidi_Control.
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Unreadable(NamedTuple):
    """A text with a refused character."""

    path: tuple[str | int, ...]
    text: str
    detail: str


def check_readable(fields: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Check the texts of a definition, or of fields that change it.

    Args:
        fields: the fields in JSON's types, with their texts and tables at any depth.
        before: the stored definition that they change, whose texts may stay; None for a new study.

    Raises:
        Invalid: one error per text, which names its field.
    """
    found = list(chain.from_iterable(_in(value, (name,)) for name, value in fields.items() if name != "description"))
    if found and before is not None:
        known = set(_texts(before))
        found = [each for each in found if each.text not in known]
    if found:
        field_errors = [FieldError(json_pointer(*each.path), each.detail, CODE) for each in islice(found, MAX_ERRORS)]
        raise Invalid(field_errors, len(found) - len(field_errors))


def readable_line(text: str) -> str:
    """Return a short text unchanged.

    Raises:
        PydanticCustomError: it has such a character.
    """
    if sentence := _error(text):
        raise PydanticCustomError(CODE, "{sentence}", {"sentence": sentence})
    return text


def _in(value: Any, path: tuple[str | int, ...]) -> Iterator[Unreadable]:
    """Yield the texts in a value, and the names in it, that have a refused character."""
    if isinstance(value, str) and (path[0], *path[2:]) in TABLES:
        yield from _in_table(value, path)
    elif isinstance(value, str):
        if sentence := _error(value):
            yield Unreadable(path, value, sentence)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if sentence := _error(name):
                yield Unreadable(path, name, f"has a name that {sentence}")
            else:
                yield from _in(item, (*path, name))
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _in(item, (*path, index))


def _in_table(table: str, path: tuple[str | int, ...]) -> Iterator[Unreadable]:
    try:
        known = table_of(Pieces(table)) if path[-1] == "table" else None  # which is cached
        names = names_in(table) if known is None else [*known.columns, *known.names]
    except PydanticCustomError:  # which the edit reports
        return
    for name in names:
        if sentence := _error(name):
            yield Unreadable(path, name, f"has the name {name!r}, which {sentence}")


def _error(text: str) -> str | None:
    """Return the error in a text; None if it has no refused character."""
    found = None if text.isprintable() else _REFUSED.search(text)  # every such character is unprintable
    if found is None:
        return None
    character = found[0]
    number = f"U+{ord(character):04X}"
    if character in _LINE_BREAKS:
        return f"must not contain line breaks ({number}); write it in one line"
    if character < "\xa0":
        return f"must not contain the control character {number}; leave it out"
    return f"must not contain {number}, an invisible mark that changes the direction of text; leave it out"


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts and names in a stored definition, also those in its tables."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        if value.get("kind") == "catalogue" and "digest" in value:
            yield from _names_of(value["digest"])
        yield from chain.from_iterable(map(_texts, value.values()))
    elif isinstance(value, Sequence):
        yield from chain.from_iterable(map(_texts, value))


def _names_of(digest: str) -> Iterable[str]:
    table = table_of(pieces_of(digest))
    return (*table.columns, *table.names)

"""Strict JSON for bodies of requests and lines of exports.

Python's parser accepts what other parsers refuse or read differently: NaN, lone surrogates, integers of any size,
duplicate names. PostgreSQL refuses NUL in text. ``loads`` refuses duplicate names, and converts long integers to
floats; ``find_errors`` finds the other problems. So other code need not check them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 32

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Path = tuple["Path", str | int] | None
"""The path of a value: the path of its container, and its name or index there; None for the root."""


def loads(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, or an object has a duplicate name.
        RecursionError: the text is nested too deeply for Python.
    """
    return json.loads(text, parse_int=_parse_int, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise ValueError(f"an object has the name {twice[:50]!r} twice; send it once")
    return found


def _parse_int(digits: str) -> int | float:
    """Parse an integer. One with more than 18 characters becomes a float, which integer fields refuse as out of
    range."""
    return int(digits) if len(digits) <= 18 else float(digits)


def find_errors(value: Any, path: Path = None, depth: int = 0) -> Iterator[tuple[Path, str, str]]:
    """Yield the errors in a value: path, sentence and code. A JSON pointer can be as long as the body, so it is not
    built for each value; see ``steps``."""
    if depth > MAX_DEPTH:
        yield (path, f"is nested deeper than {MAX_DEPTH} levels", "too_deep")
    elif isinstance(value, float) and not math.isfinite(value):
        yield (path, "must be a finite number", "finite_number")
    elif isinstance(value, str) and (sentence := text_error(value)):
        yield (path, sentence, "invalid_text")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_errors(item, (path, index), depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if sentence := text_error(name):
                yield (path, f"has a name that {sentence}", "invalid_text")
            else:
                yield from find_errors(item, (path, name), depth + 1)


def steps(path: Path) -> list[str | int]:
    """Return the names and indices on the path to a value, as for a JSON pointer."""
    found = []
    while path is not None:
        path, step = path
        found.append(step)
    return found[::-1]


def text_error(text: str) -> str | None:
    """Return the error in a text; None if it is valid."""
    if "\0" in text:
        return "must not contain the character U+0000"
    if not text.isascii() and _LONE_SURROGATE.search(text):
        return "must be valid Unicode (it has a lone surrogate)"
    return None

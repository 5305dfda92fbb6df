"""The base class of records. ``_show`` registers their text and HTML."""

from functools import singledispatch
from typing import Any


class Record:
    """A response of the server. A console shows it as one line, a notebook as a table."""

    def __repr__(self) -> str:
        return line(self)

    def _repr_html_(self) -> str:
        return page(self)


@singledispatch
def line(record: Any) -> str:
    """Return a record as one line of text."""
    raise NotImplementedError(f"nothing is registered for {type(record).__name__}")


@singledispatch
def page(record: Any) -> str:
    """Return a record as HTML."""
    raise NotImplementedError(f"nothing is registered for {type(record).__name__}")

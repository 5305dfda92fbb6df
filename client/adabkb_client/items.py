"""The items of a list as a program gets them: read page by page, and shown by consoles and notebooks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from adabkb_client import html, text
from adabkb_client.calls import Listing
from adabkb_client.errors import AdaBKBError

if TYPE_CHECKING:
    from adabkb_client.transport import Transport

T = TypeVar("T")

SHOWN = 10
"""Items of a list that a console shows."""


class Items(Iterator[T], Generic[T]):
    """An iterator over the items of a list: ``list(...)`` has them all, with a length and an index.

    A console and a notebook show the first ones, which are read for that. What the iteration yields stays the same.
    """

    def __init__(self, transport: "Transport", listing: Listing[T]) -> None:
        self._transport, self._listing = transport, listing
        self._items = transport.each(listing)

    def __next__(self) -> T:
        return next(self._items)

    def __repr__(self) -> str:
        try:
            first = self._first(SHOWN + 1)
        except (AdaBKBError, RuntimeError) as error:  # RuntimeError: the client is closed
            return f"<{self._listing.path}: {error}>"
        return text.records(first[:SHOWN], is_all=len(first) <= SHOWN)

    def _repr_html_(self) -> str:
        first = self._first(html.SHOWN + 1)
        return html.records(first[: html.SHOWN], is_all=len(first) <= html.SHOWN)

    def _first(self, count: int) -> list[T]:
        return self._transport.perform(self._listing.first(count))

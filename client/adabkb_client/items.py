"""The items of a list as a program gets them: read page by page, and shown by notebooks."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from adabkb_client import html
from adabkb_client.calls import Listing

T = TypeVar("T")


class Items(Iterator[T], Generic[T]):
    """An iterator over the items of a list. A notebook shows the first ones, which are read for that; what the
    iteration yields stays the same."""

    def __init__(self, each: Callable[[Listing[T]], Iterator[T]], listing: Listing[T]) -> None:
        self._each, self._listing = each, listing
        self._items = each(listing)

    def __next__(self) -> T:
        return next(self._items)

    def _repr_html_(self) -> str:
        first = list(islice(self._each(self._listing), html.SHOWN + 1))
        return html.records(first[: html.SHOWN], is_all=len(first) <= html.SHOWN)

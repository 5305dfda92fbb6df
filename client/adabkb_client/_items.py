"""A list on the server as a program gets it: a sequence that is read page by page, and shown by consoles."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from adabkb_client._calls import Listing
from adabkb_client._show import columns, html, text
from adabkb_client.errors import AdaBKBError

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_client._http.transport import Transport

T = TypeVar("T")

SHOWN = 10
"""Items of a list that a console shows."""


class Items(Sequence[T], Generic[T]):
    """A list on the server. Pages are read when they are needed, each once.

    ``items[0]``, ``items[:5]`` and a loop read pages as far as they go; ``len(items)`` and ``items[-1]`` read all. What
    is stored on the server after a page was read is not in it: get the list again.

    A console and a notebook show the first items, which are read anew for that.
    """

    def __init__(self, transport: "Transport", listing: Listing[T], shown: Listing[Any] | None = None) -> None:
        self._transport, self._listing = transport, listing
        self._shown = shown or listing
        self._read: list[T] = []
        self._cursor: str | None = None
        self._has_more = True

    def __iter__(self) -> Iterator[T]:
        place = 0
        while self._has(place):
            yield self._read[place]
            place += 1

    def __len__(self) -> int:
        self._has(None)
        return len(self._read)

    def __bool__(self) -> bool:
        return self._has(0)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        self._has(_last_needed(place))
        return self._read[place]

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas frame with a row for each item; each parameter and metric has its own column.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 (an optional dependency)
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        records = self if self._shown is self._listing else self._transport.perform(self._shown.all())
        return pd.DataFrame([columns.fields(each) for each in records])

    def __repr__(self) -> str:
        try:
            first = self._first(SHOWN + 1)
        except (AdaBKBError, RuntimeError) as error:  # RuntimeError: the client is closed
            return f"<{self._listing.path}: {error}>"
        return text.records(first[:SHOWN], is_all=len(first) <= SHOWN)

    def _repr_html_(self) -> str:
        first = self._first(columns.SHOWN + 1)
        return html.records(first[: columns.SHOWN], is_all=len(first) <= columns.SHOWN)

    def _first(self, count: int) -> list[Any]:
        return self._transport.perform(self._shown.first(count))

    def _has(self, place: int | None) -> bool:
        """Whether there is an item at a place, which is read if need be; with None, all are read."""
        while self._has_more and (place is None or place >= len(self._read)):
            items, cursor = self._transport.perform(self._listing.page_after(self._cursor))
            self._read += items
            self._cursor, self._has_more = cursor, cursor is not None
        return place is not None and place < len(self._read)


def _last_needed(place: int | slice) -> int | None:
    """The place of the last item to read for an index or a slice; None if that depends on how many there are."""
    first, last = (place.start or 0, place.stop) if isinstance(place, slice) else (place, place)
    if last is None or first < 0 or last < 0:
        return None
    return last - 1 if isinstance(place, slice) else last

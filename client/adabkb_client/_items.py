"""Lists on the server, as sequences that are read page by page, and displayed by consoles and notebooks."""

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from adabkb_client import _console as console
from adabkb_client import _frames as frames
from adabkb_client import _notebook as notebook
from adabkb_client._calls import Listing
from adabkb_client.errors import AdaBKBError

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_client._http.async_transport import AsyncTransport
    from adabkb_client._http.transport import Transport

T = TypeVar("T")
Make = Callable[[Any], T]
"""Converts a record to an item."""

SHOWN = 10
"""The number of items that a console shows."""


class Items(Sequence[T], Generic[T]):
    """A list on the server. Each page is read once, when it is needed. Therefore errors, such as ConnectionFailed, are
    raised by the first use of the list, not by the call that returns it; a console shows them in place of the items.

    ``items[0]``, ``items[:5]`` and loops read only the pages that they need; ``len(items)`` and ``items[-1]`` read all.
    Items that the server stores later may be missing: get the list again to see them. A list that
    ``AsyncItems`` returned has been read completely.

    Consoles and notebooks show the first items, which are read again each time.
    """

    def __init__(self, listing: Listing[Any], make: Make[T], read_by: "Transport | list[Any]") -> None:
        self._listing, self._make = listing, make
        self._transport = None if isinstance(read_by, list) else read_by
        self._records: list[Any] = read_by if isinstance(read_by, list) else []
        self._read: list[T] = [make(record) for record in self._records]
        self._cursor: str | None = None
        self._has_more = self._transport is not None

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

        A cell without a value, such as that of an inactive parameter, is missing: NaN or NA in numbers and truth
        values, NaT in times and None in other columns, all of which ``isna()`` finds. A choice None is the text "None".

        Raises:
            ImportError: pandas is not installed.
        """
        self._has(None)
        return frames.frame(self._records)

    def __repr__(self) -> str:
        try:
            first = self._first(SHOWN + 1)
        except (AdaBKBError, RuntimeError) as error:  # RuntimeError: the client is closed
            return f"<{self._listing.path}: {error}>"
        return console.records(first[:SHOWN], is_all=len(first) <= SHOWN)

    def _repr_html_(self) -> str:
        first = self._first(frames.SHOWN + 1)
        return notebook.records(first[: frames.SHOWN], is_all=len(first) <= frames.SHOWN)

    def _first(self, count: int) -> list[Any]:
        if self._transport is None:
            return self._records[:count]
        return self._transport.perform(self._listing.first(count))

    def _has(self, place: int | None) -> bool:
        """Read pages until it is known whether an item exists at a position, and return whether it does. With None,
        read all pages."""
        while self._transport is not None and self._has_more and (place is None or place >= len(self._read)):
            records, cursor = self._transport.perform(self._listing.page_after(self._cursor))
            self._records += records
            self._read += map(self._make, records)
            self._cursor, self._has_more = cursor, cursor is not None
        return place is not None and place < len(self._read)


class AsyncItems(Generic[T]):
    """A list on the server, for an event loop.

    ``async for`` reads page after page. ``await study.trials()`` reads all items, and returns ``Items``, which have a
    length, slices and ``to_frame()``. ``await study.trials()[:5]`` reads only the pages it needs.
    """

    def __init__(self, transport: "AsyncTransport", listing: Listing[Any], make: Make[T]) -> None:
        self._transport, self._listing, self._make = transport, listing, make

    async def __aiter__(self) -> AsyncIterator[T]:
        async for record in self._transport.each(self._listing):
            yield self._make(record)

    def __await__(self) -> Generator[Any, None, Items[T]]:
        return self._all().__await__()

    @overload
    def __getitem__(self, place: int) -> Coroutine[Any, Any, T]: ...
    @overload
    def __getitem__(self, place: slice) -> Coroutine[Any, Any, list[T]]: ...
    def __getitem__(self, place: int | slice) -> Coroutine[Any, Any, T] | Coroutine[Any, Any, list[T]]:
        return self._at(place)

    async def to_frame(self) -> "pd.DataFrame":
        """Return a pandas frame with a row for each item: see ``Items.to_frame``."""
        import asyncio  # noqa: PLC0415 (the blocking client does without it)

        found = await self
        return await asyncio.to_thread(found.to_frame)

    def __repr__(self) -> str:
        return f"<{self._listing.path}: await it, or read it with async for>"

    async def _all(self) -> Items[T]:
        return Items(self._listing, self._make, await self._transport.perform(self._listing.all()))

    async def _at(self, place: int | slice) -> Any:
        needed = _last_needed(place)
        read: list[T] = []
        if needed is None or needed >= 0:
            async for item in self:
                read.append(item)
                if needed is not None and needed < len(read):
                    break
        return read[place]


def _last_needed(place: int | slice) -> int | None:
    """Return the position of the last item that an index or a slice needs; -1 if it needs none; None if the position
    depends on the length."""
    if not isinstance(place, slice):
        return place if place >= 0 else None
    start, stop = place.start, place.stop
    if (start is not None and start < 0) or (stop is not None and stop < 0):
        return None
    is_backward = place.step is not None and place.step < 0
    last: int | None = start if is_backward else stop
    return last if last is None or is_backward else last - 1

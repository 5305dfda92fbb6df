"""The transport that awaits: as ``transport.py``, on httpx's asynchronous client."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import httpx
from tenacity import AsyncRetrying

from adabkb_client._calls import Call, Json, Listing, Steps
from adabkb_client._http.connection import Settings
from adabkb_client._http.local import LocalServer
from adabkb_client._http.outbox import Delivery, KeptResult, delivery
from adabkb_client._http.transport import Exchange, deleted_before, tell_of
from adabkb_client.errors import AdaBKBError, NotFound

log = logging.getLogger("adabkb_client")

T = TypeVar("T")


class AsyncTransport(Exchange):
    """Performs procedures, and lets other tasks run meanwhile."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._http = httpx.AsyncClient(**self._http_options)
        self._delivering = False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        self.server.close()

    async def perform(self, steps: Steps[T]) -> T:
        """Perform a procedure, and repeat each call until it is answered."""
        try:
            return await _performed(steps, self._call)
        except AdaBKBError as error:
            # The frames of the repetition would only hide where the program made the call.
            raise error.with_traceback(None) from None

    async def each(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Yield the items of a list, page after page."""
        cursor: str | None = None
        while True:
            page = await self._call(listing.page(cursor))
            for item in page["items"]:
                yield listing.decode(item)
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def deliver(self) -> Delivery:
        """Send the results that are kept for this server, each once."""
        return await _performed(delivery(self.outbox), self._send)

    async def _call(self, call: Call) -> Json:
        kept = self._kept(call)
        try:
            answer = await self._repeated(call, kept)
        except AdaBKBError as error:
            raise self._failed(kept, error) from None
        self._succeeded(kept)
        await self._deliver_along()
        return answer

    async def _repeated(self, call: Call, kept: KeptResult | None) -> Json:
        async for attempt in AsyncRetrying(**self._retrying(call, kept)):
            with attempt:
                try:
                    return await self._send(call)
                except NotFound:
                    if deleted_before(call, attempt.retry_state):
                        return None
                    raise
        raise AssertionError("tenacity returns or raises")

    async def _send(self, call: Call) -> Json:
        address = await self._address()
        try:
            response = await self._http.send(self._request(self._http, address, call))
        except httpx.TransportError as error:
            raise self._unreachable(error, address) from error
        return self._read(call, response, address)

    async def _address(self) -> str:
        if isinstance(self.server, LocalServer):  # to start it takes seconds
            return await asyncio.to_thread(self.server.address)
        return self.server.address()

    async def _deliver_along(self) -> None:
        """Send what is kept now that the server answers, unless another task does."""
        if not self._delivering:
            self._delivering = True
            try:
                tell_of(await self.deliver())
            except (AdaBKBError, OSError) as error:
                log.info("kept results are not delivered yet: %s", error)
            finally:
                self._delivering = False


async def _performed(steps: Steps[T], answer: Callable[[Call], Awaitable[Json]]) -> T:
    try:
        call = next(steps)
        while True:
            try:
                document = await answer(call)
            except AdaBKBError as error:
                call = steps.throw(error)
            else:
                call = steps.send(document)
    except StopIteration as end:
        result: T = end.value
        return result

"""The transport that awaits: as ``transport.py``, on httpx's asynchronous client."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import httpx
from tenacity import AsyncRetrying

from adabkb_client.calls import Call, Listing, Steps, delivery
from adabkb_client.errors import AdaBKBError, NotFound
from adabkb_client.outbox import Delivery, KeptResult, Outbox
from adabkb_client.protocol import Json, unreachable
from adabkb_client.transport import Exchange, deleted_before, tell_of

log = logging.getLogger("adabkb_client")

T = TypeVar("T")


class AsyncTransport(Exchange):
    """Performs procedures, and lets other tasks run meanwhile."""

    def __init__(
        self, url: str, token: str | None, timeout: float, retry_for: float | None, outbox: Outbox | None
    ) -> None:
        super().__init__(url, token, timeout, retry_for, outbox)
        self._http = httpx.AsyncClient(**self._http_options)
        self._delivering = False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

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
        return await _performed(delivery(self.outbox), self._once)

    async def _call(self, call: Call) -> Json:
        request = self._request(self._http, call)
        kept = self._kept(call, request)
        try:
            answer = await self._repeated(call, request, kept)
        except AdaBKBError as error:
            raise self._failed(kept, error) from None
        self._succeeded(kept)
        await self._deliver_along()
        return answer

    async def _repeated(self, call: Call, request: httpx.Request, kept: KeptResult | None) -> Json:
        async for attempt in AsyncRetrying(**self._retrying(call, kept)):
            with attempt:
                try:
                    return await self._send(call, request)
                except NotFound:
                    if deleted_before(call, attempt.retry_state):
                        return None
                    raise
        raise AssertionError("tenacity returns or raises")

    async def _once(self, call: Call) -> Json:
        return await self._send(call, self._request(self._http, call))

    async def _send(self, call: Call, request: httpx.Request) -> Json:
        try:
            response = await self._http.send(request)
        except httpx.TransportError as error:
            raise unreachable(error, self.url) from error
        return self._read(call, response)

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

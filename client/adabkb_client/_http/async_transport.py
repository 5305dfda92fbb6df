"""The async transport, on httpx's async client, with the features of ``transport.py``. Files are accessed in
threads."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import httpx
from tenacity import AsyncRetrying, RetryCallState

from adabkb_client._calls import Call, Json, Listing, Steps
from adabkb_client._http.connection import Settings, trusted_certificates
from adabkb_client._http.local import LocalServer
from adabkb_client._http.outbox import Delivery, KeptResult, delivery
from adabkb_client._http.transport import Exchange, deleted_before, error_of, log_delivery, log_first_failure
from adabkb_client.errors import AdaBKBError, NotFound

log = logging.getLogger("adabkb_client")

T = TypeVar("T")


class AsyncTransport(Exchange):
    """Performs procedures without blocking the event loop."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        given = settings.http_client
        if given is not None and not isinstance(given, httpx.AsyncClient):
            raise TypeError(f"http_client must be an httpx.AsyncClient, not {type(given).__name__}")
        self._own = _Connections(given)
        self._delivering = False

    async def close(self) -> None:
        """Close the connections that this object opened, and disconnect from a local server."""
        if not self._is_ours:
            return
        if self._settings.http_client is None:
            await self._own.close()
        self.server.close()

    async def perform(self, steps: Steps[T]) -> T:
        """Perform a procedure, and retry each of its calls for a limited time."""
        try:
            return await _performed(steps, self._call)
        except AdaBKBError as error:
            # The frames of the retries would hide where the program made the call.
            raise error.with_traceback(None) from None

    async def perform_in_threads(self, steps: Steps[T]) -> T:
        """Perform a procedure that reads or writes files: the steps between two calls run in threads."""
        try:
            return await _performed(steps, self._call, advance=_in_thread)
        except AdaBKBError as error:
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
        """Send the results that are kept for this server; the server stores each once."""
        return await _performed(delivery(self.outbox), self._send, advance=_in_thread)

    async def _call(self, call: Call) -> Json:
        kept = self._result_to_keep(call)
        try:
            answer = await self._call_with_retries(call, kept)
        except AdaBKBError as error:
            if kept is None:
                raise
            raise await asyncio.to_thread(self._error_for, kept, error) from None
        if self.outbox is not None and self._is_kept(kept):
            await asyncio.to_thread(self.outbox.remove, kept)
        if self._may_deliver():
            await self._deliver_kept()
        return answer

    async def _call_with_retries(self, call: Call, kept: KeptResult | None) -> Json:
        time_limit = self._time_limit(call)

        async def on_failure(state: RetryCallState) -> None:
            log_first_failure(time_limit, state)
            if kept is not None and self.outbox is not None:  # before the wait, during which this process may end
                await asyncio.to_thread(self.outbox._keep, kept, error_of(state))

        async for attempt in AsyncRetrying(**self._retrying(time_limit, on_failure)):
            with attempt:
                try:
                    return await self._send(call)
                except NotFound:
                    if deleted_before(call, attempt.retry_state):
                        return None
                    raise
        raise AssertionError("tenacity returns or raises")

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)

    async def _send(self, call: Call) -> Json:
        address = await self._address()
        try:
            http = await self._own.opened(self._settings)
            response = await http.send(self._request(http, address, call), auth=self._auth)
        except httpx.TransportError as error:
            raise self._unreachable(error, address) from error
        return self._read(call, response, address)

    async def _address(self) -> str:
        if isinstance(self.server, LocalServer):  # starting it takes seconds
            return await asyncio.to_thread(self.server.address)
        return self.server.address()

    async def _deliver_kept(self) -> None:
        """Send kept results now that the server responds, unless another task does."""
        if not self._delivering:
            self._delivering = True
            try:
                log_delivery(await self.deliver())
            except (AdaBKBError, OSError) as error:
                log.info("kept results are not delivered yet: %s", error)
            finally:
                self._delivering = False


class _Connections:
    """The httpx client, created at the first call, since reading certificates takes time."""

    def __init__(self, given: httpx.AsyncClient | None) -> None:
        self._http = given

    async def opened(self, settings: Settings) -> httpx.AsyncClient:
        if self._http is None:
            trusted = await asyncio.to_thread(trusted_certificates, settings.verify)
            if self._http is None:  # another task may have created it
                self._http = httpx.AsyncClient(verify=trusted, proxy=settings.proxy)
        return self._http

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()


Step = Callable[[], Call]
"""Continues a procedure until its next call, or raises StopIteration with the procedure's return value."""


async def _here(step: Step) -> Call | StopIteration:
    try:
        return step()
    except StopIteration as end:
        return end


async def _in_thread(step: Step) -> Call | StopIteration:
    def done() -> Call | StopIteration:  # a future cannot have StopIteration as its exception
        try:
            return step()
        except StopIteration as end:
            return end

    return await asyncio.to_thread(done)


async def _performed(
    steps: Steps[T],
    answer: Callable[[Call], Awaitable[Json]],
    advance: Callable[[Step], Awaitable[Call | StopIteration]] = _here,
) -> T:
    call = await advance(partial(next, steps))
    while isinstance(call, Call):
        try:
            document = await answer(call)
        except AdaBKBError as error:
            call = await advance(partial(steps.throw, error))
        else:
            call = await advance(partial(steps.send, document))
    result: T = call.value
    return result

"""The entry point for asyncio programs: awaitable versions of the methods in ``_client.py``."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from adabkb_client import _client_calls as client_calls
from adabkb_client._async_client_methods import AsyncClient as AsyncClientMethods
from adabkb_client._async_study import AsyncStudy
from adabkb_client._hints import add_hints
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._http.connection import OutboxFolder, Settings, Verify, server_at, settings
from adabkb_client._http.local import LocalServer
from adabkb_client._http.outbox import Delivery
from adabkb_client._http.transport import Connected
from adabkb_client._items import AsyncItems
from adabkb_client._records import Deletion
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import as_it_is


class AsyncClient(AsyncClientMethods, Connected[AsyncTransport]):
    """A connection to a server, for the tasks of one event loop. Close it, or use it in an ``async with`` block.

    ``await AsyncClient.local("study.db")`` starts a server for a local file if none is running.

    Args:
        url: as in ``Client``, like the other arguments.
        token: sent as bearer token.
        timeout: seconds to wait for an answer.
        retry_for: seconds for which a call is retried while the server is down or busy.
        outbox: the folder that keeps results while the server is down; False keeps none.
        headers: sent with each request.
        verify: how to verify https.
        proxy: URL of a proxy.
        http_client: your own ``httpx.AsyncClient``, in place of ``verify`` and ``proxy``. You must close it.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retry_for: float | None = None,
        outbox: OutboxFolder = None,
        headers: Mapping[str, str] | None = None,
        verify: Verify = True,
        proxy: str | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        at = server_at(url)
        self._connect(settings(at, token, timeout, retry_for, outbox, headers, verify, proxy, http_client))

    @classmethod
    async def local(
        cls,
        database: str | Path,
        *,
        timeout: float = 60.0,
        retry_for: float | None = None,
        outbox: OutboxFolder = None,
    ) -> Self:
        """Connect to the server of a local database, and start the server if it does not run: see ``Client.local``."""
        client = cls.__new__(cls)
        server = await asyncio.to_thread(LocalServer.running, database)
        client._connect(settings(server, None, timeout, retry_for, outbox))
        return client

    def _connect(self, settings: Settings) -> None:
        self._transport = AsyncTransport(settings)
        self.outbox = settings.outbox
        """The results kept on this machine until the server can be reached."""

    @property
    def url(self) -> str:
        """The server's URL; with ``local``, that of the last call, since it changes with each start of the server."""
        return self._transport.server.last_address

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._transport.server.shown!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. The server of a local database stops after its last client."""
        await self._transport.close()

    async def deliver(self) -> Delivery:
        """Send the results that were kept while the server was down: see ``Client.deliver``."""
        return await self._transport.deliver()

    async def study(self, id: str) -> AsyncStudy:
        """Open a study.

        Raises:
            NotFound: there is no study with this id.
        """
        await self._transport.perform(client_calls.find_study(id))
        return AsyncStudy(self._transport, id)

    def studies(self, tags: Mapping[str, str] | None = None, *, owner: str | None = None) -> AsyncItems[AsyncStudy]:
        """Return the studies that you may read, newest first: see ``Client.studies``."""
        infos = client_calls.studies(tags, owner)
        return AsyncItems(self._transport, infos, lambda info: AsyncStudy(self._transport, info.id))

    async def delete_study(self, id: str, *, purge: bool = False) -> None:
        """Delete a study and everything in it: see ``Client.delete_study``."""
        await self._transport.perform(StudyCalls(id).delete(purge=purge))

    def trash(self, *, owner: str | None = None) -> AsyncItems[Deletion]:
        """Return the deleted studies that can be restored, the most recently deleted ones first: see
        ``Client.trash``."""
        return AsyncItems(self._transport, client_calls.trash(owner), as_it_is)

    async def restore_study(self, id: str, deletion: int | None = None) -> AsyncStudy:
        """Restore a deleted study: see ``Client.restore_study``."""
        info = await self._transport.perform(client_calls.restore_study(id, deletion))
        return AsyncStudy(self._transport, info.id)

    async def purge_study(self, deletion: int) -> None:
        """Permanently delete a study in the trash: see ``Client.purge_study``."""
        await self._transport.perform(client_calls.purge_study(deletion))


add_hints(AsyncClient)

"""Servers that share a PostgreSQL database: which of them are alive, which follow studies, and messages between them.

Each server, including each model worker (a server without HTTP), has a row in the table ``servers``. A server is alive
while it is connected to PostgreSQL and regularly updates its row, by the clock of the database. (If it is the only
server, it does not update its row.) Messages are notifications (``NOTIFY``). A message is lost only if the sender or
the recipient loses its connections. That server then gets a new id, so servers that wait for a reply from the old id
notice that the old id is gone.

The id of a server is part of its channel's name. It is a secret: anyone who knows it can send requests as any user. By
default, only the owner of the table can read it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from traceback import clear_frames
from typing import Any

import psycopg
from psycopg.abc import Params
from sqlalchemy import URL

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
"""Interval between two updates of a server's row."""
SILENT_SECONDS = 3.0
"""Time without an update after which a server counts as dead."""
CONNECT_SECONDS = 5.0
"""Timeout of a connection attempt."""
REPLY_SECONDS = 3.0
"""Timeout of a statement, after which the connection is closed."""
RETRY_SECONDS = 1.0
"""Delay of the next attempt to connect after the connections were lost."""
CLOSE_SECONDS = 1.0
"""The maximum wait for closed connections to end."""
BATCH_BYTES = 2**20
"""A statement gets messages until they reach this size; the next statement sends the rest."""
PART_BYTES = 7800
"""Size of the part of a message that one notification holds. PostgreSQL allows 7999 bytes, including the part's
header."""

OPTIONS: dict[str, Any] = {
    "options": "-c synchronous_commit=off -c statement_timeout=5000 -c lock_timeout=5000",
    # The following detect a lost network within seconds, even on a connection that only listens.
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}

_CONNECTED = "(pid, backend_start) = (process, started_at)"

FORGET = f"DELETE FROM servers WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE {_CONNECTED})"  # noqa: S608
ENTER = """
    INSERT INTO servers (id, version, is_model_worker, seen_at, process, started_at, is_leaving)
    SELECT %(id)s, %(version)s, %(is_model_worker)s, clock_timestamp(), pid, backend_start, false
    FROM pg_stat_activity WHERE pid = pg_backend_pid()
"""
BEAT = f"""
    WITH others AS (
        SELECT id, seen_at, is_leaving, is_model_worker FROM servers JOIN pg_stat_activity ON {_CONNECTED}
        WHERE id <> %(id)s AND version = %(version)s),
    beat AS (
        UPDATE servers SET seen_at = clock_timestamp(), is_leaving = %(is_leaving)s
        WHERE id = %(id)s AND EXISTS (SELECT FROM others))
    SELECT id, is_leaving, is_model_worker FROM others
    WHERE seen_at > clock_timestamp() - make_interval(secs => %(silent)s)
"""  # noqa: S608
CALL_TO_LOOK = "SELECT pg_notify('adabkb_' || id, '') FROM servers WHERE id <> %(id)s"
SEND = """
    SELECT pg_notify('adabkb_' || recipient, part)
    FROM unnest(%(recipients)b::text[], %(parts)b::text[]) AS sent (recipient, part)
"""
Receive = Callable[[str], None]
Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class Peers:
    """One of the servers on a PostgreSQL database. Only its event loop may use it.

    Args:
        url: the URL of the database.
        version: the version of the server; servers of other versions are ignored.
        receive: called with each message.
        changed: called when ``alive`` has changed.
        is_model_worker: whether this server follows studies without serving HTTP.
    """

    def __init__(
        self,
        url: URL,
        version: str,
        receive: Receive,
        changed: Callable[[], None],
        *,
        is_model_worker: bool = False,
    ) -> None:
        self.id = ""
        """Id of this server; a new one for each connection."""
        self.alive: frozenset[str] = frozenset()
        """Ids of the servers that are alive, including this one; empty while the database does not respond."""
        self.model_workers: frozenset[str] = frozenset()
        """Ids of the servers in ``alive`` that are model workers, which do not serve HTTP."""
        self.followers: frozenset[str] = frozenset()
        """Ids of the servers that follow studies: the model workers that are not stopping or, if there are none, the
        servers that are not stopping. A server always counts itself as not stopping."""
        self._url = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._version = version
        self._receive = receive
        self._changed = changed
        self._is_model_worker = is_model_worker
        self._is_leaving = False
        self._messages = 0
        """Number of messages sent."""
        self._unsent: deque[tuple[str, str]] = deque()
        """Pairs (recipient, message) to send."""
        self._incomplete: dict[str, list[str]] = {}
        """Id of a message -> received parts, while other parts are missing."""
        self._beat_at = -SILENT_SECONDS
        """Time of the last update of this server's row ("beat"), by ``time.monotonic``."""
        self._look = False
        """Whether to update this server's row and to read the rows of other servers before this is due."""
        self._woken = asyncio.Event()
        """Set when there are messages to send, or the row must be updated."""
        self._listens = asyncio.Event()
        """Set when PostgreSQL has registered the channel."""
        self._hears = asyncio.Event()
        """Set when a notification has arrived over the current connections."""

    @property
    def is_seen(self) -> bool:
        """Whether other servers consider this one alive. They do not if it was suspended for ``SILENT_SECONDS``, until
        it has updated its row."""
        return time.monotonic() - self._beat_at < SILENT_SECONDS

    def send(self, recipient: str, message: str) -> None:
        """Queue a message for a server. The message must be ASCII and not empty."""
        self._unsent.append((recipient, message))
        self._woken.set()

    def leave(self) -> None:
        """Ask the other servers to send no more requests."""
        self._is_leaving = True
        self._beat_soon()

    async def run(self) -> None:
        """Send and receive until cancelled. Cancellation takes at most ``CLOSE_SECONDS``."""
        is_logged = False
        effect = "this one follows all studies itself"
        if self._is_model_worker:
            effect = "this model worker gets no requests"
        while True:
            try:
                await self._take_part()
            except (psycopg.Error, OSError) as error:
                if self.alive or not is_logged:
                    logger.warning("no contact with other servers; %s: %s", effect, error)
                is_logged = True
            except Exception:
                logger.exception("no contact with other servers; %s", effect)
            finally:
                self._see({})
            await asyncio.sleep(RETRY_SECONDS)

    async def _take_part(self) -> None:
        """Send and receive while there are connections.

        Raises:
            psycopg.Error, OSError: a connection was lost.
        """
        self.id = secrets.token_hex(16)
        self._unsent.clear()  # their senders no longer wait for replies
        self._incomplete.clear()
        self._listens.clear()
        self._hears.clear()
        async with _connected(self._url) as listening, _connected(self._url) as talking:
            tasks = {asyncio.create_task(work) for work in (self._listen(listening), self._talk(talking))}
            try:
                first, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                # If the task were cancelled, the driver would open another connection to cancel its statement.
                _close(listening)
                _close(talking)
                self._listens.set()
                self._hears.set()
                self._beat_soon()
                await _ended(tasks)
            for task in first:
                await task

    async def _listen(self, connection: Connection) -> None:
        await _execute(connection, f"LISTEN adabkb_{self.id}")
        await _execute(connection, "SELECT")  # so that pg_stat_activity does not show the id
        self._listens.set()
        async for notification in connection.notifies():
            if not notification.payload:
                self._hears.set()
                self._beat_soon()
            elif (message := self._completed(notification.payload)) is not None:
                self._receive(message)

    async def _talk(self, connection: Connection) -> None:
        await self._listens.wait()
        await _execute(connection, SEND, {"recipients": [self.id], "parts": [""]})
        try:
            await asyncio.wait_for(self._hears.wait(), REPLY_SECONDS)
        except TimeoutError as error:
            remedy = "configure the pooler between the server and PostgreSQL to pool sessions, not transactions"
            raise TimeoutError(f"notifications of PostgreSQL do not arrive; {remedy}") from error
        await _execute(connection, FORGET)
        entered = {"id": self.id, "version": self._version, "is_model_worker": self._is_model_worker}
        await _execute(connection, ENTER, entered)
        due, notified = 0.0, None
        while True:
            if self._look or time.monotonic() >= due:
                self._look, due = False, time.monotonic() + BEAT_SECONDS
                notified = await self._beat(connection, notified)
            if self._unsent:
                recipients, parts = self._batch()
                await _execute(connection, SEND, {"recipients": recipients, "parts": parts})
            if not (self._look or self._unsent):
                self._woken.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(due - time.monotonic()):
                        await self._woken.wait()

    async def _beat(self, connection: Connection, notified: object) -> object:
        """Update this server's row, and read which servers are alive. If this state differs from ``notified``, the
        state of the last notification, notify the other servers.

        Returns:
            The state, which other servers are now notified of.
        """
        begun, is_leaving = time.monotonic(), self._is_leaving
        values = {"id": self.id, "version": self._version, "is_leaving": is_leaving, "silent": SILENT_SECONDS}
        others = await _execute(connection, BEAT, values)
        self._beat_at = begun
        self._see({self.id: (False, self._is_model_worker), **{server: facts for server, *facts in others}})
        if (found := (self.alive, is_leaving)) != notified:
            await _execute(connection, CALL_TO_LOOK, {"id": self.id})
        return found

    def _beat_soon(self) -> None:
        self._look = True
        self._woken.set()

    def _see(self, servers: Mapping[str, Sequence[bool]]) -> None:
        """Update the state. ``servers`` maps the id of each server that is alive to a pair: whether it is stopping, and
        whether it is a model worker."""
        has_changed = servers.keys() != self.alive
        self.alive = frozenset(servers)
        self.model_workers = frozenset(server for server, (_, is_model_worker) in servers.items() if is_model_worker)
        staying = frozenset(server for server, (is_leaving, _) in servers.items() if not is_leaving)
        self.followers = staying & self.model_workers or staying
        if has_changed:
            self._changed()

    def _batch(self) -> tuple[list[str], list[str]]:
        """The messages for one statement, split into parts: the recipient of each part, and the parts."""
        recipients: list[str] = []
        parts: list[str] = []
        while self._unsent and len(parts) * PART_BYTES < BATCH_BYTES:
            recipient, message = self._unsent.popleft()
            self._messages += 1
            starts = range(0, len(message), PART_BYTES)
            for number, start in enumerate(starts, 1):
                recipients.append(recipient)
                header = f"{self.id}-{self._messages} {number} {len(starts)} "
                parts.append(header + message[start : start + PART_BYTES])
        return recipients, parts

    def _completed(self, payload: str) -> str | None:
        """The message that this part completes; None if parts are missing. PostgreSQL delivers the parts in order."""
        key, number, count, part = payload.split(" ", 3)
        if count == "1":
            return part
        parts = self._incomplete.setdefault(key, [])
        parts.append(part)
        return "".join(self._incomplete.pop(key)) if number == count else None


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    """A connection to PostgreSQL.

    Raises:
        psycopg.Error, OSError: the connection failed or timed out.
    """
    async with asyncio.timeout(CONNECT_SECONDS):
        try:
            connection = await psycopg.AsyncConnection.connect(url, autocommit=True, **OPTIONS)
        except asyncio.CancelledError as error:  # the frames of the traceback keep the connection open
            clear_frames(error.__traceback__)
            raise
    try:
        yield connection
    finally:
        await connection.close()


async def _execute(connection: Connection, statement: str, values: Params | None = None) -> Sequence[tuple[Any, ...]]:
    """Execute a statement, and return its rows.

    Raises:
        psycopg.Error: the statement failed or timed out.
    """
    timer = asyncio.get_running_loop().call_later(REPLY_SECONDS, _close, connection)
    try:
        cursor = await connection.execute(statement.encode(), values, prepare=values is not None)
        return [] if cursor.description is None else await cursor.fetchall()
    finally:
        timer.cancel()


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Wait for tasks whose connections are shut down, even if this task is cancelled meanwhile. Otherwise, a socket
    might be closed while a task waits for it, and uvloop then aborts the process."""
    is_cancelled = False
    waiting = asyncio.ensure_future(asyncio.wait(tasks, timeout=CLOSE_SECONDS))
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            is_cancelled = True
    ended, others = waiting.result()
    for task in others:
        task.cancel()
        await asyncio.sleep(0)  # lets the waiting task resume
    for task in ended:
        task.exception()  # else asyncio logs it
    if is_cancelled:
        raise asyncio.CancelledError


def _close(connection: Connection) -> None:
    """Make all operations on a connection fail at once, even without a network."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)

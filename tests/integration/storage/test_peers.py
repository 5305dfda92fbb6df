"""Live servers, and messages between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adabkb_service.storage.database import Database
from adabkb_service.storage.peers import SILENT_SECONDS, Peers
from tests.waiting import TIMEOUT_SECONDS

ROW = st.fixed_dictionaries(
    {
        "age": st.sampled_from([-TIMEOUT_SECONDS, SILENT_SECONDS + 0.5, 30.0, 90.0]),
        "is_connected": st.booleans(),
        "version": st.sampled_from(["1", "2"]),
        "is_leaving": st.booleans(),
        "is_model_worker": st.booleans(),
    }
)
PUT = """INSERT INTO servers (id, version, is_model_worker, seen_at, process, started_at, is_leaving)
SELECT %(id)s, %(version)s, %(is_model_worker)s, clock_timestamp() + make_interval(secs => -%(age)s), pid,
    backend_start - make_interval(secs => %(before)s), %(is_leaving)s
FROM pg_stat_activity WHERE pid = pg_backend_pid()"""
END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture
def url(other_postgresql: str) -> sa.URL:
    database = Database(other_postgresql)
    database.close()
    return database.url


def connect(url: sa.URL) -> Any:
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.AsyncConnection.connect(plain, autocommit=True)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on an event loop like a server's."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(coroutine)


@asynccontextmanager
async def running(
    url: sa.URL, messages: list[str] | None = None, version: str = "1", *, is_model_worker: bool = False
) -> AsyncIterator[Peers]:
    receive = (messages if messages is not None else []).append
    peers = Peers(url, version, receive, lambda: None, is_model_worker=is_model_worker)
    task = asyncio.create_task(peers.run())
    await until(lambda: bool(peers.alive))
    try:
        yield peers
    finally:
        await ended(task)


async def ended(task: asyncio.Task[None]) -> None:
    """Check that a server stops in time, whatever the state of its connections."""
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=TIMEOUT_SECONDS)
    assert done, "it is still running"


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not is_so():
            await asyncio.sleep(0.005)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.dictionaries(st.text("abcdef", min_size=1, max_size=8), ROW, max_size=6), is_model_worker=st.booleans())
def test_connected_servers_with_recent_updates_are_alive(
    url: sa.URL, rows: dict[str, dict[str, Any]], is_model_worker: bool
) -> None:
    """Compares with a dictionary: servers of the same version with a connection and a recent update are alive. Of those
    that are not stopping, the model workers follow studies, or all servers if there are none.
    """
    alive = {
        name
        for name, row in rows.items()
        if row["is_connected"] and row["version"] == "1" and row["age"] < SILENT_SECONDS
    }

    async def compare() -> None:
        async with running(url, is_model_worker=is_model_worker) as peers, await connect(url) as connection:
            for name, row in rows.items():
                await connection.execute(PUT, {"id": name, "before": 0 if row["is_connected"] else 1, **row})
            await connection.execute("SELECT pg_notify(%s, '')", [f"adabkb_{peers.id}"])
            await until(lambda: peers.alive == {peers.id, *alive})
            workers = {name for name in alive if rows[name]["is_model_worker"]}
            workers |= {peers.id} if is_model_worker else set()
            assert peers.model_workers == workers
            staying = {peers.id, *(name for name in alive if not rows[name]["is_leaving"])}
            assert peers.followers == (staying & workers or staying)
            await connection.execute("DELETE FROM servers")

    run(compare())


def test_server_whose_connection_ended_is_removed(url: sa.URL) -> None:
    async def compare() -> None:
        async with running(url) as peers:
            async with await connect(url) as connection:
                row = {"id": "x", "version": "1", "age": -1000.0, "before": 0}
                await connection.execute(PUT, {**row, "is_leaving": False, "is_model_worker": False})
                await until(lambda: "x" in peers.alive)
            await until(lambda: "x" not in peers.alive)

    run(compare())


def test_servers_of_the_same_version_see_each_other_start_and_stop(url: sa.URL) -> None:
    async def compare() -> None:
        async with running(url) as one, running(url, version="2") as stranger:
            async with running(url) as other:
                await until(lambda: one.followers == other.followers == {one.id, other.id})
                other.leave()
                await until(lambda: one.followers == {one.id})
                assert one.alive == {one.id, other.id}
            await until(lambda: one.alive == {one.id})
            assert stranger.alive == {stranger.id}

    run(compare())


def test_model_workers_follow_studies_while_one_is_left(url: sa.URL) -> None:
    async def compare() -> None:
        async with running(url) as server, running(url, version="2", is_model_worker=True):
            async with running(url, is_model_worker=True) as one, running(url, is_model_worker=True) as other:
                await until(lambda: server.followers == one.followers == other.followers == {one.id, other.id})
                one.leave()
                await until(lambda: server.followers == {other.id})
                other.leave()
                await until(lambda: server.followers == {server.id})
                assert server.alive == {server.id, one.id, other.id}
            await until(lambda: server.alive == {server.id})

    run(compare())


def test_single_server_writes_nothing(url: sa.URL) -> None:
    """Its row is still from the same transaction."""

    async def compare() -> None:
        async with running(url), await connect(url) as connection:
            found = [
                await (await connection.execute("SELECT xmin::text, seen_at FROM servers")).fetchone()
                for _ in range(2)
                if await asyncio.sleep(1.5, result=True)
            ]
            assert found[0] == found[1]

    run(compare())


def test_messages_of_any_length_arrive_complete_and_in_order(url: sa.URL) -> None:
    sent = [f"{size} " + "a" * size for size in (0, 1, 7_790, 7_798, 7_801, 100_000, 3, 3_000_000, 5)]

    async def compare() -> None:
        received: list[str] = []
        async with running(url, received) as one, running(url) as other, running(url) as third:
            await until(lambda: len(one.alive) == 3)
            for message in sent:
                other.send(one.id, f"o{message}")
                third.send(one.id, f"t{message}")
            await until(lambda: len(received) == 2 * len(sent))
        for sender in "ot":
            assert [message[1:] for message in received if message[0] == sender] == sent

    run(compare())


def test_disconnected_server_is_removed_and_returns_with_a_new_id(url: sa.URL) -> None:
    """So servers that wait for its reply notice that a message may be lost."""

    async def compare() -> None:
        async with running(url) as one, running(url) as other, await connect(url) as connection:
            seen = set[str]()
            for count in (2, 4, 6):
                await until(lambda: one.alive == other.alive == {one.id, other.id})
                seen.update(one.alive)
                assert len(seen) == count
                await connection.execute(END_OTHERS)
                await until(lambda: seen.isdisjoint(one.alive | other.alive))

    run(compare())


@pytest.mark.parametrize("seconds", [0.0, 0.002, 0.5])
def test_disconnected_server_stops_without_delay(url: sa.URL, seconds: float) -> None:
    async def compare() -> None:
        async with await connect(url) as connection:
            peers = Peers(url, "1", lambda _: None, lambda: None)
            task = asyncio.create_task(peers.run())
            await until(lambda: bool(peers.alive))
            await connection.execute(END_OTHERS)
            await asyncio.sleep(seconds)
            await ended(task)

    run(compare())


class Link:
    """A network link between a server and PostgreSQL that can fail silently, and can drop notifications."""

    def __init__(self, url: sa.URL, *, loses_notifications: bool = False) -> None:
        self._path = f"{url.query['host']}/.s.PGSQL.5432"
        self._loses_notifications = loses_notifications
        self._tasks: list[asyncio.Task[None]] = []
        self._writers: list[asyncio.StreamWriter] = []
        self.is_up = asyncio.Event()
        self.is_up.set()

    @asynccontextmanager
    async def over(self, url: sa.URL) -> AsyncIterator[sa.URL]:
        """The URL of the database over this link."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        yield url.set(host="127.0.0.1", port=port, query={"sslmode": "disable", "gssencmode": "disable"})
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        upstream, downstream = await asyncio.open_unix_connection(self._path)
        self._writers.append(downstream)
        self._tasks.append(asyncio.create_task(self._ask(reader, downstream)))
        self._tasks.append(asyncio.create_task(self._answer(upstream, writer)))

    async def _ask(self, client: asyncio.StreamReader, database: asyncio.StreamWriter) -> None:
        while data := await client.read(2**16):
            await self.is_up.wait()
            database.write(data)
        database.close()

    async def _answer(self, database: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Forward message by message: kind, length and content."""
        with suppress(asyncio.IncompleteReadError):
            while True:
                header = await database.readexactly(5)
                content = await database.readexactly(int.from_bytes(header[1:]) - 4)
                await self.is_up.wait()
                if not (self._loses_notifications and header[:1] == b"A"):
                    client.write(header + content)
        client.close()


def test_lost_network_is_noticed_and_delays_nothing(url: sa.URL) -> None:
    """The connections then report neither an error nor an end."""

    async def compare() -> None:
        link = Link(url)
        async with link.over(url) as far:
            peers = Peers(far, "1", lambda _: None, lambda: None)
            task = asyncio.create_task(peers.run())
            for _ in range(2):
                await until(lambda: bool(peers.alive))
                link.is_up.clear()
                await until(lambda: not peers.alive)
                link.is_up.set()
            await until(lambda: bool(peers.alive))
            link.is_up.clear()
            await ended(task)

    run(compare())


def test_server_that_stops_while_connecting_leaves_no_connection(url: sa.URL) -> None:
    """PostgreSQL would keep its session, which would prevent copying and dropping the database."""

    async def compare() -> None:
        begun, closed = asyncio.Event(), asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Behave like a slow database: read, but do not answer yet."""
            await reader.read(2**10)
            begun.set()
            await reader.read(2**10)
            closed.set()
            writer.close()

        slow = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = slow.sockets[0].getsockname()[1]
        peers = Peers(url.set(host="127.0.0.1", port=port, query={}), "1", lambda _: None, lambda: None)
        task = asyncio.create_task(peers.run())
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await begun.wait()
            await ended(task)
            await closed.wait()
        slow.close()

    run(compare())


def test_server_without_notifications_has_no_peers_and_logs_the_reason(
    url: sa.URL, caplog: pytest.LogCaptureFixture
) -> None:
    """As behind a pooler that uses another connection for each transaction."""

    async def compare() -> None:
        async with Link(url, loses_notifications=True).over(url) as far:
            peers = Peers(far, "1", lambda _: None, lambda: None)
            task = asyncio.create_task(peers.run())
            await until(lambda: "pool sessions" in caplog.text)
            assert not peers.alive
            await ended(task)

    run(compare())


def test_server_with_an_unreachable_database_has_no_peers(url: sa.URL) -> None:
    async def compare() -> None:
        peers = Peers(url.set(query={"host": "/nowhere"}), "1", lambda _: None, lambda: None)
        task = asyncio.create_task(peers.run())
        await asyncio.sleep(0.2)
        assert not peers.alive
        await ended(task)

    run(compare())

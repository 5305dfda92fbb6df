"""A proxy between the servers and PostgreSQL, in a separate process, that cuts connections during COMMIT.

The server then cannot know whether its transaction was committed: PostgreSQL never received the COMMIT, is about to
perform it, or has performed it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import closing, contextmanager

import sqlalchemy as sa

from tests.acceptance.chaos.proxy_process import Commands, proxy_process

COMMIT = b"Q\0\0\0\x0bCOMMIT\0"
"""The message of the simple query protocol, which psycopg sends separately."""


class Cutter:
    """The proxy, as controlled by its parent process."""

    def __init__(self, url: str, commands: Commands) -> None:
        self.url = url
        """The URL of the database, through the proxy."""
        self._commands = commands

    def cut(self, share: float) -> int:
        """Cut this share of the commits from now on. Return how many were cut so far."""
        count: int = self._commands.send(share)
        return count


@contextmanager
def cutter(url: str, seed: int) -> Iterator[Cutter]:
    """Run a proxy for a PostgreSQL server that listens on a Unix socket."""
    direct = sa.make_url(url)
    socket = f"{direct.query['host']}/.s.PGSQL.{direct.port or 5432}"
    with proxy_process(_Cutting, socket, seed) as commands:
        proxied = direct.difference_update_query(["host"]).set(host="127.0.0.1", port=commands.port)
        yield Cutter(proxied.render_as_string(hide_password=False), commands)


class _Cutting:
    def __init__(self, socket: str, seed: int) -> None:
        self._socket = socket
        self._random = random.Random(seed)
        self._share = 0.0
        self._count = 0

    def obey(self, share: float) -> int:
        self._share = share
        return self._count

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection of a server. If one side closes it, close the other side."""
        with closing(writer):
            try:
                answers, requests = await asyncio.open_unix_connection(self._socket)
            except OSError:
                return  # PostgreSQL is down
            with closing(requests):
                ways = [asyncio.create_task(self._ask(reader, requests)), asyncio.create_task(_copy(answers, writer))]
                _, other = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in other:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a server's messages, up to a COMMIT that is cut. Half of the cut COMMITs are forwarded, half are
        not."""
        while chunk := await reader.read(2**16):
            is_cut = COMMIT in chunk and self._random.random() < self._share
            self._count += is_cut
            if not is_cut or self._random.random() < 0.5:
                writer.write(chunk)
                await writer.drain()
            if is_cut:
                return


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(2**16):
        writer.write(chunk)
        await writer.drain()

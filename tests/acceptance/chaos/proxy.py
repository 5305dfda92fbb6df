"""An HTTP proxy before all servers, in a process of its own, that spoils a share of the requests.

It knows of HTTP/1.1 what it needs: a head, and a body of Content-Length bytes. Requests go to the servers in turn; one
that nobody takes, or whose server dies over it, gets a 502 or no answer at all.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Literal

from tests.acceptance.chaos.apart import Commands, apart

Fault = Literal["lose request", "delay request", "lose answer", "delay answer", "hang up", "duplicate", "repeat later"]

SHARES: dict[Fault, float] = {
    "lose request": 0.025,  # the servers never see it
    "delay request": 0.025,
    "lose answer": 0.025,  # it is done, and nobody is told
    "delay answer": 0.025,
    "hang up": 0.025,  # at once, so that the client asks again while a server is still at it
    "duplicate": 0.025,  # twice at the same moment, and one of the two answers
    "repeat later": 0.025,  # once more when it is long answered
}
"""Of all requests, how many each fault befalls."""
LONGEST_DELAY = 1.0
LONGEST_REPEAT = 3.0
"""Seconds after which a request may come once more."""
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nContent-Length: 17\r\n\r\nno server answers"

_Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """The proxy, seen from the process that started it."""

    def __init__(self, commands: Commands) -> None:
        self.url = f"http://127.0.0.1:{commands.port}"
        self._commands = commands

    def calm(self) -> Counter[str]:
        """No faults from now on; how many there were of each kind."""
        counts: Counter[str] = self._commands.send("calm")
        return counts


@contextmanager
def proxy(ports: Sequence[int], seed: int) -> Iterator[Proxy]:
    """A proxy before the servers on these ports of the loopback interface."""
    with apart(_Spoiler, list(ports), seed) as commands:
        yield Proxy(commands)


class _Spoiler:
    def __init__(self, ports: list[int], seed: int) -> None:
        self._random = random.Random(seed)
        self._ports = ports
        self._turns = itertools.cycle(ports)
        self._idle: dict[int, list[_Line]] = {port: [] for port in ports}
        self._shares = dict(SHARES)
        self._counts: Counter[str] = Counter()
        self._afterwards: set[asyncio.Task[object]] = set()

    def obey(self, _: str) -> Counter[str]:
        """Spoil no more requests."""
        self._shares = dict.fromkeys(self._shares, 0.0)
        return self._counts

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, request by request."""
        with closing(writer):
            try:
                while request := await _message(reader):
                    self._counts["requests"] += 1
                    answer = await self._spoiled(request)
                    if answer is None:
                        return
                    writer.write(answer)
                    await writer.drain()
            except ConnectionError:
                return  # the client has gone

    async def _spoiled(self, request: bytes) -> bytes | None:
        """The answer that the client is to get; None to hang up."""
        fault = self._draw()
        match fault:
            case "lose request":
                return None
            case "hang up":
                self._start(self._forward(request))
                return None
            case "duplicate":
                return self._random.choice(await asyncio.gather(self._forward(request), self._forward(request)))
            case "repeat later":
                self._start(self._repeat(request))
            case "delay request":
                await self._pause(LONGEST_DELAY)
        answer = await self._forward(request)
        if fault == "delay answer":
            await self._pause(LONGEST_DELAY)
        return None if fault == "lose answer" else answer

    def _draw(self) -> Fault | None:
        position = self._random.random()
        for fault, share in self._shares.items():
            position -= share
            if position < 0:
                self._counts[fault] += 1
                return fault
        return None

    async def _forward(self, request: bytes) -> bytes | None:
        """What a server answers; a 502 or None if there is none, or if it dies meanwhile."""
        for _ in self._ports:
            port = next(self._turns)
            try:
                reader, writer = await self._line(port)
            except ConnectionError:
                continue
            try:
                writer.write(request)
                await writer.drain()
                answer = await _message(reader)
            except ConnectionError:
                answer = None
            if answer is None:
                writer.close()
                break
            self._idle[port].append((reader, writer))
            return answer
        self._counts["no server"] += 1
        return self._random.choice([BAD_GATEWAY, None])

    async def _repeat(self, request: bytes) -> None:
        await self._pause(LONGEST_REPEAT)
        await self._forward(request)

    async def _line(self, port: int) -> _Line:
        """A connection to a server."""
        idle = self._idle[port]
        while idle:
            reader, writer = idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", port)

    async def _pause(self, longest: float) -> None:
        await asyncio.sleep(self._random.uniform(0.0, longest))

    def _start(self, work: Coroutine[object, object, object]) -> None:
        """Go on with something that nobody waits for."""
        task = asyncio.create_task(work)
        self._afterwards.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._afterwards.discard)


async def _message(reader: asyncio.StreamReader) -> bytes | None:
    """A request or an answer, as it came; None if the other side closed before its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        return head + await reader.readexactly(_length(head))
    except asyncio.IncompleteReadError:
        return None


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0

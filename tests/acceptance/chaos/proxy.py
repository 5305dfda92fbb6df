"""An HTTP proxy for all servers, in a separate process, that injects faults into a share of the requests.

It supports only the needed part of HTTP/1.1: a head, and a body of Content-Length bytes. Requests go to the servers in
turn. If no server accepts a request, or its server dies, the client gets a 502 or no answer.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Literal

from tests.acceptance.chaos.proxy_process import Commands, proxy_process

FaultKind = Literal[
    "lose request", "delay request", "lose answer", "delay answer", "hang up", "duplicate", "repeat later"
]

SHARES: dict[FaultKind, float] = {
    "lose request": 0.025,  # the servers never receive it
    "delay request": 0.025,
    "lose answer": 0.025,  # it is performed, but the client gets no answer
    "delay answer": 0.025,
    "hang up": 0.025,  # immediately, so that the client repeats it while a server still performs it
    "duplicate": 0.025,  # sent twice at the same moment; the client gets one of the answers
    "repeat later": 0.025,  # sent again long after the answer
}
"""The share of requests for each fault."""
MAX_DELAY = 1.0
MAX_REPEAT = 3.0
"""The maximum time in seconds after which a request is repeated."""
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nContent-Length: 17\r\n\r\nno server answers"

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """The proxy, seen from the process that started it."""

    def __init__(self, commands: Commands) -> None:
        self.url = f"http://127.0.0.1:{commands.port}"
        self._commands = commands

    def calm(self) -> Counter[str]:
        """Inject no more faults. Return how many there were of each kind."""
        counts: Counter[str] = self._commands.send("calm")
        return counts


@contextmanager
def proxy(ports: Sequence[int], seed: int) -> Iterator[Proxy]:
    """Run a proxy for the servers on these ports of the loopback interface."""
    with proxy_process(_FaultInjector, list(ports), seed) as commands:
        yield Proxy(commands)


class _FaultInjector:
    def __init__(self, ports: list[int], seed: int) -> None:
        self._random = random.Random(seed)
        self._ports = ports
        self._turns = itertools.cycle(ports)
        self._idle: dict[int, list[_Connection]] = {port: [] for port in ports}
        self._shares = dict(SHARES)
        self._counts: Counter[str] = Counter()
        self._afterwards: set[asyncio.Task[object]] = set()

    def obey(self, _: str) -> Counter[str]:
        """Inject no more faults."""
        self._shares = dict.fromkeys(self._shares, 0.0)
        return self._counts

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection of a client, request by request."""
        with closing(writer):
            try:
                while request := await _message(reader):
                    self._counts["requests"] += 1
                    answer = await self._answer_with_fault(request)
                    if answer is None:
                        return
                    writer.write(answer)
                    await writer.drain()
            except ConnectionError:
                return  # the client has disconnected

    async def _answer_with_fault(self, request: bytes) -> bytes | None:
        """Return the answer for the client; None to close the connection."""
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
                await self._pause(MAX_DELAY)
        answer = await self._forward(request)
        if fault == "delay answer":
            await self._pause(MAX_DELAY)
        return None if fault == "lose answer" else answer

    def _draw(self) -> FaultKind | None:
        position = self._random.random()
        for fault, share in self._shares.items():
            position -= share
            if position < 0:
                self._counts[fault] += 1
                return fault
        return None

    async def _forward(self, request: bytes) -> bytes | None:
        """Return a server's answer; a 502 or None if no server answers, or it dies meanwhile."""
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
        await self._pause(MAX_REPEAT)
        await self._forward(request)

    async def _line(self, port: int) -> _Connection:
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
        """Run a task in the background."""
        task = asyncio.create_task(work)
        self._afterwards.add(task)  # the loop itself keeps no reference
        task.add_done_callback(self._afterwards.discard)


async def _message(reader: asyncio.StreamReader) -> bytes | None:
    """Return a request or an answer unchanged; None if the other side closed the connection before its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        return head + await reader.readexactly(_content_length(head))
    except asyncio.IncompleteReadError:
        return None


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0

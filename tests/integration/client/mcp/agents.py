"""An agent's program: the SDK's own client, connected to ``adabkb mcp`` as a process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent, TextResourceContents

from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._http.connection import server_at, settings
from adabkb_client.mcp._server import create_server

ADABKB = str(Path(sys.executable).with_name("adabkb"))
SPACE = {"x": {"kind": "float", "low": 0, "high": 1}, "n": {"kind": "int", "low": 1, "high": 8}}


class Refused(Exception):
    """A tool answered with an error."""


@dataclass(frozen=True)
class Agent:
    """A connection to an MCP server."""

    client: Client
    errors: IO[str] | None = None
    """What the server writes to standard error, if it is this agent's."""

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool."""
        answer = await self.client.call_tool(tool, arguments)
        if answer.is_error:
            raise Refused("".join(part.text for part in answer.content if isinstance(part, TextContent)))
        found: dict[str, Any] = answer.structured_content or {}
        return found

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """What a tool says that does not do what it is asked for."""
        try:
            answer = await self.call(tool, **arguments)
        except Refused as error:
            return str(error)
        raise AssertionError(answer)

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        [content] = (await self.client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        return content.text

    def logged(self) -> str:
        """What the server has written to standard error."""
        assert self.errors is not None
        self.errors.seek(0)
        return self.errors.read()


def environment(url: str, token: str | None = None) -> dict[str, str]:
    """The variables of the command."""
    found = {**os.environ, "ADABKB_URL": url}
    return found if token is None else {**found, "ADABKB_TOKEN": token}


@asynccontextmanager
async def over_stdio(url: str, *options: str, token: str | None = None) -> AsyncIterator[Agent]:
    """An agent whose server is a process of its own."""
    server = StdioServerParameters(command=ADABKB, args=["mcp", *options], env=environment(url, token))
    with tempfile.TemporaryFile("w+") as errors:
        async with Client(stdio_client(server, errlog=errors)) as client:
            yield Agent(client, errors)


@asynccontextmanager
async def in_process(
    url: str, token: str | None = None, *, read_only: bool = False, worker: str | None = None
) -> AsyncIterator[Agent]:
    """An agent whose server is in this process: for what the tools do, whichever transport they are called over."""
    transport = AsyncTransport(settings(server_at(url), token, 60.0, None, False))
    try:
        async with Client(create_server(transport, read_only=read_only, worker=worker)) as client:
            yield Agent(client)
    finally:
        await transport.close()


@contextmanager
def http_server(url: str, *options: str, host: str = "127.0.0.1") -> Iterator[str]:
    """``adabkb mcp --http`` as a process; yields its URL."""
    command = [ADABKB, "mcp", "--http", f"{host}:0", *options]
    with subprocess.Popen(command, env=environment(url), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("adabkb mcp: listening on http://"), line
            yield line.split()[-1]
        finally:
            process.terminate()
            assert process.wait(60) in (0, -15, 143)


@asynccontextmanager
async def over_http(url: str, *, mode: str = "auto") -> AsyncIterator[Agent]:
    """An agent of a server that runs."""
    async with Client(url, mode=mode) as client:
        yield Agent(client)

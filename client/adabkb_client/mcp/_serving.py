"""The transports of the protocol: standard input and output, and streamable HTTP on a loopback address."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

import uvicorn

from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._http.connection import Settings
from adabkb_client.mcp._server import create_server

GRACE_SECONDS = 1
"""Seconds for which a stopping server waits for streams, which would not end by themselves."""


def serve_stdio(settings: Settings, *, read_only: bool) -> None:
    """Serve one client on standard input and output until it disconnects. A signal ends the process at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # otherwise the reading thread would keep the process alive

    async def run() -> None:
        transport = AsyncTransport(settings)
        try:
            await create_server(transport, read_only=read_only).run_stdio_async()
        finally:
            await transport.close()

    asyncio.run(run())


def serve_http(
    settings: Settings, listener: socket.socket, *, read_only: bool, on_start: Callable[[str], None]
) -> None:
    """Serve any number of clients at /mcp until a signal ends it. Requests with another host name are refused.

    Args:
        settings: the settings of the connection to the ask/tell server.
        listener: a socket that listens on a loopback address.
        read_only: as in ``create_server``.
        on_start: called with the URL once the server answers.
    """
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"

    async def run() -> None:
        transport = AsyncTransport(settings)
        try:
            app = create_server(transport, read_only=read_only).streamable_http_app(host="127.0.0.1")
            config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS)
            await _Server(config, lambda: on_start(url)).serve(sockets=[listener])
        finally:
            await transport.close()

    asyncio.run(run())


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()


def loopback(address: str) -> tuple[str, int]:
    """Return host and port of a loopback address such as 127.0.0.1:8750, [::1]:8750 or localhost:8750.

    Raises:
        ValueError: the text is not such an address.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"must be HOST:PORT such as 127.0.0.1:8750, not {address!r}")
    if host == "localhost":
        return "127.0.0.1", int(port)
    if host not in ("127.0.0.1", "::1"):
        raise ValueError(
            f"must be a loopback address such as 127.0.0.1:8750, not {address!r}: anyone who reaches this server acts "
            "with its token. For other machines, put a proxy with TLS and authentication before it"
        )
    return host, int(port)

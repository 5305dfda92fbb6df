"""``adabkb serve``, ``migrate`` and ``replay``: what works on the database itself."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import threading
from dataclasses import asdict
from types import FrameType
from typing import Annotated

import typer
import uvicorn

from adabkb_service.app import create_app
from adabkb_service.cli.database import opened
from adabkb_service.cli.output import AsJson, fail, reported, show
from adabkb_service.operations.replay import replay as replay_study
from adabkb_service.operations.service import service
from adabkb_service.settings import Settings, load
from adabkb_service.storage import migration

GRACE_SECONDS = 30
"""How long a request may take to end once the server is to stop; all are bounded by less."""

DatabaseUrl = Annotated[
    str | None, typer.Option("--database", help="sqlite:///file.db or postgresql://...", show_default=False)
]


class Server(uvicorn.Server):
    """Says where it listens, once it does, and tells the streams when it is to stop."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, without waiting for streams that have no end of their own."""
        self._stopping.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then print one line."""
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            typer.echo(f"adabkb: listening on http://{f'[{host}]' if ':' in host else host}:{port}")


def serve(
    host: Annotated[str | None, typer.Option(help="address to listen on", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="port; 0 takes a free one", show_default="8000")] = None,
    database: DatabaseUrl = None,
    access_log: Annotated[bool | None, typer.Option("--access-log", help="log each request as JSON")] = None,
) -> None:
    """Run a server. An empty database is migrated; a line with the address is printed when it is ready."""
    settings = _settings(host=host, port=port, database=database, access_log=access_log)
    _configure_logging(settings)
    with opened(settings.database) as prepared:
        migration.prepare(prepared)
    app = create_app(settings)
    if not _is_loopback(settings.host):
        typer.echo(f"warning: {settings.host} is not loopback, and there is no authentication yet.", err=True)
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        port_is_the_trouble = error.errno in (errno.EADDRINUSE, errno.EACCES)
        remedy = "try --port 0" if port_is_the_trouble else "give an address of this machine, such as --host 127.0.0.1"
        fail(f"cannot listen on {settings.host} port {settings.port}: {error.strerror}; {remedy}")
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=GRACE_SECONDS
    )
    Server(config, app.state.service.stopping).run(sockets=[listener])


def migrate(database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Bring a database to this version's schema. Back it up first."""
    with opened(_settings(database=database).database) as old:
        migration.upgrade(old)
    head = migration.head()
    show({"schema": head}, f"The schema is at {head}.", as_json=as_json)


def replay(
    study: Annotated[str, typer.Argument(help="the study's id")],
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild a study's cells and dictionary from its log, and compare every suggestion with it."""
    with opened(_settings(database=database).database, existing=True) as found:
        migration.prepare(found)
        done = replay_study(service(found), study)
    outcome = "they differed before" if done.changed else "they were the same before"
    lines = [f"{done.events} events give {done.cells} cells and a dictionary of {done.dictionary}; {outcome}."]
    if done.diverged:
        trials = ", ".join(map(str, done.diverged))
        lines.append(f"Of {done.suggestions} suggestions these now come out different: trials {trials}.")
    else:
        lines.append(f"All {done.suggestions} suggestions come out the same, bit for bit.")
    show(asdict(done), "\n".join(lines), as_json=as_json)
    if done.diverged:
        raise typer.Exit(1)


def _settings(**flags: object) -> Settings:
    with reported():
        return load(**{name: value for name, value in flags.items() if value is not None})


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _configure_logging(settings: Settings) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if settings.access_log:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger = logging.getLogger("adabkb.access")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False

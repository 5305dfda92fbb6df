"""``adabkb serve``."""

from __future__ import annotations

import errno
import gc
import socket
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import IO, Annotated

import portalocker
import typer
import uvicorn
from sqlalchemy import make_url

from adabkb_service.api.connections import config
from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.cli.database import DatabaseUrl, opened, settings
from adabkb_service.cli.other_servers import warn_of_other_servers
from adabkb_service.cli.output import fail
from adabkb_service.settings import Settings, listed
from adabkb_service.storage import migration, tokens
from adabkb_service.storage.database import Database
from adabkb_service.telemetry import logs

GRACE_SECONDS = 30
"""How long a stopping server waits for active requests. Requests that wait for a trial are answered at once."""

SWITCH_SECONDS = 0.001
"""Seconds after which a thread must release the interpreter lock if others wait for it, such as the event loop."""
LOOK_SECONDS = 0.1
"""Seconds between two checks whether any process uses the server."""
OTHER_FILES = 100
"""The maximum number of open files that are neither connections of clients nor connections to the database."""


class Server(uvicorn.Server):
    """A server that prints its address once it listens and ends event streams when it stops.

    Args:
        config: the configuration of uvicorn.
        stopping: set when the server stops.
        while_used: the server stops once no other process has a lock on this file.
    """

    def __init__(self, config: uvicorn.Config, stopping: threading.Event, while_used: Path | None = None) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._while_used = while_used

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, and end the event streams, which would not end by themselves."""
        self._stopping.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then print one line."""
        await super().startup(sockets)
        if self.started and sockets:
            keep_imported()
            host, port = sockets[0].getsockname()[:2]
            typer.echo(f"adabkb: listening on http://{f'[{host}]' if ':' in host else host}:{port}")
            if self._while_used is not None:
                threading.Thread(target=self._stop_unused, args=[self._while_used], daemon=True).start()

    def _stop_unused(self, file: Path) -> None:
        # Never closed, so that new clients wait until this process has ended.
        self._unused = file.open("r+b")
        while not _locked(self._unused):
            time.sleep(LOOK_SECONDS)
        self._stopping.set()
        self.should_exit = True


def serve(
    host: Annotated[str | None, typer.Option(help="address to listen on", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="port; 0 picks a free one", show_default="8000")] = None,
    database: DatabaseUrl = None,
    access_log: Annotated[bool | None, typer.Option("--access-log", help="log each request")] = None,
    insecure: Annotated[
        bool | None,
        typer.Option("--insecure", help="disable authentication, even if other machines can reach the server"),
    ] = None,
    while_used: Annotated[
        Path | None,
        typer.Option(
            help="stop once no other process has a lock on this file; used by Client.local",
            show_default=False,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Run a server.

    It creates the schema in an empty database and prints its address when it is ready.
    """
    found = settings(host=host, port=port, database=database, access_log=access_log, insecure=insecure)
    logs.configure(found.log_format, access=found.access_log)
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_files(found.connections + found.database_connections + OTHER_FILES)
    with closing(
        _listener(found)
    ) as listener:  # before the database is created: a server that cannot listen must not leave one
        if sys.stderr.isatty():  # a start may take long; programs need only the line with the address
            shown = make_url(found.database).set(query={}).render_as_string()
            typer.echo(f"adabkb: starting on the database {shown}", err=True)
        with opened(found.database) as prepared:
            migration.prepare(prepared)
            _check_guarded(found, prepared)
        beside = warn_of_other_servers(make_url(found.database))
        try:
            app = create_app(found)
        except ValueError as error:
            fail(str(error))
        uvicorns = config(
            app,
            log_config=None,
            proxy_headers=bool(found.proxies),
            forwarded_allow_ips=listed(found.proxies),
            log_level="warning",
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        with beside:
            Server(uvicorns, parts_of(app).service.stopping, while_used).run(sockets=[listener])


def _locked(file: IO[bytes]) -> bool:
    """Lock a file, and return whether that was possible."""
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    return True


def keep_imported() -> None:
    """Exempt imported objects from garbage collection, which would slow down requests."""
    gc.collect()
    gc.freeze()


def _listener(settings: Settings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        port_is_the_trouble = error.errno in (errno.EADDRINUSE, errno.EACCES)
        remedy = "try --port 0" if port_is_the_trouble else "give an address of this machine, such as --host 127.0.0.1"
        cause = (error.strerror or str(error)).partition(" (while")[0]  # Python repeats the address in strerror
        fail(f"cannot listen on {settings.host} port {settings.port}: {cause}; {remedy}")


def _check_guarded(settings: Settings, database: Database) -> None:
    """Refuse to serve other machines without tokens and without a provider, unless ``--insecure`` is given."""
    if settings.insecure:
        typer.echo(
            f"warning: this server needs no tokens: anyone who reaches {settings.host} can read, change and delete "
            "everything (--insecure)",
            err=True,
        )
    elif not settings.is_loopback and not settings.oidc_issuer:
        with database.reading() as connection:
            if not tokens.any_exist(connection):
                others, alone = f"other machines can reach {settings.host}", "--host 127.0.0.1"
                if settings.proxies:
                    others, alone = (
                        "other machines can reach the server through its proxies",
                        f"{alone}, without the setting proxies",
                    )
                fail(
                    f"{others}, and the database has no tokens to authenticate users. "
                    "Create the first one: adabkb token create admin --scope admin (with the same --database or "
                    f"ADABKB_DATABASE). Or serve this machine alone: {alone}. Or disable authentication: --insecure"
                )


def _allow_files(needed: int) -> None:
    """Raise this process's limit of open files to ``needed``, as far as the system allows, and warn if it does not."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 (not on Windows)

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        typer.echo(
            f"warning: the system allows this process {hard:,} open files (ulimit -n), of {needed:,} that it may need; "
            "raise the limit, or lower the setting connections",
            err=True,
        )

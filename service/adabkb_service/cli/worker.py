"""``adabkb work``."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
import uvicorn
from anyio.to_thread import run_sync
from fastapi import FastAPI

from adabkb_service.api.parts import parts_of
from adabkb_service.app import create_app
from adabkb_service.cli.database import opened, settings
from adabkb_service.cli.output import fail
from adabkb_service.cli.server import SWITCH_SECONDS, keep_imported
from adabkb_service.errors import NotReady
from adabkb_service.operations.monitoring.readiness import check
from adabkb_service.storage import migration
from adabkb_service.telemetry import logs

logger = logging.getLogger(__name__)

STATUS_SECONDS = 2.0
"""Seconds between two readiness checks."""
START_SECONDS = 0.1
"""Seconds between two readiness checks until the worker is ready."""


class Worker(uvicorn.Server):
    """An application that listens on no socket. It prints one line once servers can send it requests.

    Args:
        app: a model worker.
        status_file: a file for a line that says whether the worker is ready; removed when the worker stops.
    """

    def __init__(self, app: FastAPI, status_file: Path | None) -> None:
        super().__init__(uvicorn.Config(app, log_config=None, log_level="warning", lifespan="on"))
        self._app = app
        self._status_file = status_file
        self._reporting: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop. Requests that wait for a trial go back to the servers, which then perform them."""
        parts_of(self._app).service.stopping.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then report."""
        await super().startup(sockets)
        if self.started:
            keep_imported()
            self._reporting = asyncio.create_task(self._report())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down: servers send no more requests, and pending requests are answered."""
        if self._reporting is not None:
            self._reporting.cancel()
        if self._status_file is not None:
            self._status_file.unlink(missing_ok=True)
        await super().shutdown(sockets)

    async def _report(self) -> None:
        is_announced = False
        while True:
            reason = await self._not_ready_reason()
            if self._status_file is not None:
                try:
                    write(self._status_file, "ready" if reason is None else f"not ready: {reason}")
                except OSError as error:
                    logger.warning("the status file cannot be written: %s", error)
            if reason is None and not is_announced:
                is_announced = True
                name = parts_of(self._app).service.database.url.database
                typer.echo(f"adabkb: the model worker of the database {name} is ready")
            await asyncio.sleep(STATUS_SECONDS if is_announced else START_SECONDS)

    async def _not_ready_reason(self) -> str | None:
        """Return why the worker is not ready; None if it is."""
        parts = parts_of(self._app)
        if parts.forwarding is None or not parts.forwarding.model_workers:
            return "servers: the worker cannot reach them through PostgreSQL; see the log of the worker"
        try:
            await run_sync(check, parts.service, limiter=parts.admission)
        except NotReady as error:
            return error.detail
        return None


def work(
    database: Annotated[
        str | None, typer.Option(help="the servers' database: postgresql://user@host/name", show_default=False)
    ] = None,
    status_file: Annotated[
        Path | None,
        typer.Option(
            help="file to which the worker writes every 2 seconds whether it is ready, for container probes",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Run a model worker for servers that share a PostgreSQL database.

    It computes the models of all studies for the servers, until you stop it. It serves no HTTP. The settings of adabkb
    serve apply, from the environment or adabkb.toml; use the same settings for workers and servers.
    """
    found = settings(database=database)
    logs.configure(found.log_format, access=False)
    sys.setswitchinterval(SWITCH_SECONDS)
    with opened(found.database) as prepared:
        if prepared.is_sqlite:
            fail(
                "a model worker shares a PostgreSQL database with servers, but this is a SQLite file. Name the "
                "database of the servers: adabkb work --database postgresql://user@host/name (or ADABKB_DATABASE). On "
                "SQLite, run adabkb serve alone; it computes the models itself"
            )
        migration.prepare(prepared)
    if status_file is not None:
        try:
            write(status_file, "not ready: the worker starts")
        except OSError as error:
            fail(f"cannot write the status file {status_file}: {error.strerror}; name a file in a writable folder")
    try:
        app = create_app(found, is_model_worker=True)
    except ValueError as error:
        fail(str(error))
    Worker(app, status_file).run(sockets=[])


def write(file: Path, line: str) -> None:
    """Replace the content of a file atomically with this line: readers see the old line or the new one.

    Raises:
        OSError: the file cannot be written.
    """
    new = file.with_name(f"{file.name}.new")
    new.write_text(f"{line}\n", encoding="utf-8")
    os.replace(new, file)

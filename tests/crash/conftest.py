"""Databases to crash on, each with a history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.crash.cases import history
from tests.crash.databases import Databases, PostgreSQLDatabases, SQLiteDatabases
from tests.crash.server import perform_all


@pytest.fixture(scope="session")
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """On SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return SQLiteDatabases(tmp_path_factory.mktemp("crash"))
    return PostgreSQLDatabases(request.getfixturevalue("postgresql_server"))


@pytest.fixture(scope="session")
def lived(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """The URL of a database with a history, of the profile that is asked for; to be copied."""
    with databases.copy() as url:
        asyncio.run(perform_all(url, history(request.param)))
        yield url

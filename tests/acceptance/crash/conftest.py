"""Databases with a history, for the crash tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
import sqlalchemy as sa

from tests.acceptance.crash.cases import history
from tests.acceptance.crash.databases import Databases, PostgreSQLDatabases, SQLiteDatabases
from tests.acceptance.crash.dying import preload
from tests.acceptance.crash.server import perform_all

Histories = Callable[[str, str], tuple[Databases, str]]


@pytest.fixture(scope="session")
def histories(postgresql_server: sa.Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Histories]:
    """For a kind of database and a profile: the source of databases, and the URL of one with a history."""
    preload()
    sources: dict[str, Databases] = {
        "sqlite": SQLiteDatabases(tmp_path_factory.mktemp("crash")),
        "postgresql": PostgreSQLDatabases(postgresql_server),
    }
    with ExitStack() as stack:

        @cache
        def made(backend: str, profile: str) -> tuple[Databases, str]:
            url = stack.enter_context(sources[backend].copy())
            asyncio.run(perform_all(url, history(profile)))
            return sources[backend], url

        yield made

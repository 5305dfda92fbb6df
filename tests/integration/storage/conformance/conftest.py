"""A database with one study, and a transaction on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import sqlalchemy as sa

from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from tests.integration.storage.rows import study


class RollBack(Exception):
    """Rolls back a transaction."""


@contextmanager
def prepared(url: str) -> Iterator[Database]:
    """A migrated database, with the study "s"."""
    database = Database(url)
    with database.writing() as connection:
        studies.create(connection, study("s"))
    yield database
    database.close()


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    """A separate database, for tests that commit."""
    with prepared(migrated_url) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_database(module_migrated_url: str) -> Iterator[Database]:
    """A shared database, for tests that do not commit."""
    with prepared(module_migrated_url) as opened:
        yield opened


@pytest.fixture
def connection(shared_database: Database) -> Iterator[sa.Connection]:
    """A transaction for tests of queries. It reads its own writes, and is rolled back."""
    with suppress(RollBack), shared_database.writing() as opened:
        yield opened
        raise RollBack

"""A server with logins at the certified provider."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from tests.integration.identity.providers import Certified, settings
from tests.servers import free_port, serving


@dataclass(frozen=True)
class House:
    """A server, its database and its provider."""

    address: str
    url: str
    database: Database
    provider: Certified


@contextmanager
def server_at(port: int, url: str, issuer: str, **more: Any) -> Iterator[str]:
    """A server with a provider, at a port that is registered there."""
    chosen: dict[str, Any] = settings(issuer, **{"model_processes": 0, **more})
    with serving(create_app(Settings(database=url, **chosen)), port) as address:
        yield address


@pytest.fixture(scope="module")
def house(module_migrated_url: str) -> Iterator[House]:
    """On SQLite or on PostgreSQL, for all tests of a module."""
    port = free_port()
    provider = Certified([f"http://127.0.0.1:{port}"])
    with (
        provider.running(),
        closing(Database(module_migrated_url)) as database,
        server_at(port, module_migrated_url, provider.issuer) as address,
    ):
        yield House(address, module_migrated_url, database, provider)

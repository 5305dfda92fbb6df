"""A server with tokens, whose study "s" belongs to ann."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from adabkb_service.access import secrets
from adabkb_service.storage import tokens
from adabkb_service.storage.database import Database
from adabkb_service.storage.tokens import TokenRow
from adabkb_service.study.clock import utc_now
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on


def give_token(database: Database, user: str, scope: str, **more: Any) -> str:
    """Store a new token in the database."""
    minted = secrets.mint()
    fields: dict[str, Any] = dict.fromkeys(("studies", "link", "expires_at", "revoked_at", "used_at", "quotas")) | more
    row = TokenRow(
        id=minted.id,
        digest=secrets.digest(minted.token),
        user=user,
        name=user,
        scopes=[scope],  # type: ignore[list-item]
        created_at=utc_now(),
        **fields,
    )
    with database.writing() as connection:
        tokens.add(connection, row)
    return minted.token


@dataclass(frozen=True)
class Guarded:
    """A server that requires tokens."""

    address: str
    database: Database

    def token(self, user: str, scope: str, **more: Any) -> str:
        """A new token."""
        return give_token(self.database, user, scope, **more)

    def client(self, token: str | None) -> httpx.Client:
        """A connection with a token, to be closed."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60)

    def send(self, token: str | None, method: str, path: str, body: Any = None) -> httpx.Response:
        """The answer to one request."""
        with self.client(token) as client:
            return client.request(method, path, json=body)


@pytest.fixture(scope="module")
def guarded(module_migrated_url: str) -> Iterator[Guarded]:
    """On SQLite and on PostgreSQL, for all tests of a module."""
    with closing(Database(module_migrated_url)) as database:
        ann = give_token(database, "ann", "work")
        with server_on(module_migrated_url) as address:
            server = Guarded(address, database)
            assert server.send(ann, "POST", "/v1/studies", DEFINITION).status_code == 201
            yield server

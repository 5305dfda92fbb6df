"""Make a unit test fail if it opens a database or a network connection."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

FORBIDDEN_EVENTS = ("sqlite3.connect", "socket.connect")
"""Audit events that make a test fail. psycopg raises none, but unit tests have no fixture with a PostgreSQL server."""
_is_watched = False


def _watch(event: str, _: tuple[Any, ...]) -> None:
    if _is_watched and event in FORBIDDEN_EVENTS:
        raise AssertionError(f"{event} in a unit test; it belongs into tests/integration")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def _forbid_databases_and_connections() -> Iterator[None]:
    global _is_watched  # noqa: PLW0603 - a hook cannot be removed
    _is_watched = True
    yield
    _is_watched = False

"""``conftest`` prevents unit tests from opening databases and connections."""

from __future__ import annotations

import sqlite3

import pytest


def test_a_unit_test_cannot_open_a_database() -> None:
    with pytest.raises(AssertionError, match=r"tests/integration"):
        sqlite3.connect(":memory:")

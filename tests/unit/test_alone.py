"""``conftest`` prevents unit tests from opening databases and connections."""

from __future__ import annotations

import sqlite3

import pytest


def test_unit_tests_cannot_open_databases() -> None:
    with pytest.raises(AssertionError, match=r"tests/integration"):
        sqlite3.connect(":memory:")

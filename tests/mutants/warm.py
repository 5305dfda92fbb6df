"""Fixtures of the session that all mutants share. Pytest collects this file only if it is named."""

from __future__ import annotations

from pathlib import Path


def test_migrates_once(sqlite_template: Path) -> None:
    assert sqlite_template.exists()

from __future__ import annotations

from tests.operations.conftest import clock, database, running, study

__all__ = ["clock", "database", "running", "study"]

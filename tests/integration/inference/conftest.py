from __future__ import annotations

from tests.integration.operations.conftest import clock, database, running, study

__all__ = ["clock", "database", "running", "study"]

from __future__ import annotations

import pytest

from adabkb_service.inference import link
from adabkb_service.study import owner, turn
from tests.operations.conftest import clock, database, running, study

__all__ = ["clock", "database", "running", "study"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody does without the model: a process may take long to start on a machine that has much to do."""
    for module, name in ((turn, "DECIDE_SECONDS"), (link, "LATE_SECONDS"), (owner, "WAIT_SECONDS")):
        monkeypatch.setattr(module, name, 120.0)
    monkeypatch.setattr("adabkb_service.operations.service.ANSWER_SECONDS", 120.0)

from __future__ import annotations

import pytest

from tests.operations.conftest import clock, database, running, study
from tests.patient import be_patient

__all__ = ["clock", "database", "running", "study"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody does without the model."""
    be_patient(monkeypatch.setattr)

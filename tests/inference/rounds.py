"""What a few workers do to a study, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from adabkb_service.operations.service import Service
from tests.operations.verbs import Ask, Value, observe, suggest

PATIENCE = 60.0
"""Seconds after which something will never happen."""


def rounds(running: Service, study_id: str, count: int) -> list[dict[str, Any]]:
    """Two trials are asked for and told, so many times; their points. None may be made without the model."""
    points = []
    for _ in range(count):
        answer = suggest(running, study_id, Ask(2)).view
        assert not answer.degraded
        for trial in answer.trials:
            points.append(trial.parameters)
            observe(running, study_id, Value(float(trial.number % 5), trial.number))
    return points


def wait_for(is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Until it is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(0.02)

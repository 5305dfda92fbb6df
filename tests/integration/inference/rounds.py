"""What a few workers do to a study, and what came of it."""

from __future__ import annotations

from typing import Any

from adabkb_service.operations.service import Service
from tests.integration.operations.verbs import Ask, Value, observe, suggest


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

"""A few rounds of suggest and observe, and their points."""

from __future__ import annotations

from typing import Any

from adabkb_service.operations.service import Service
from tests.integration.operations.verbs import Ask, Value, observe, suggest


def rounds(running: Service, study_id: str, count: int) -> list[dict[str, Any]]:
    """Suggest and observe two trials a number of times. Return their points, none of which may be quasi-random."""
    points = []
    for _ in range(count):
        answer = suggest(running, study_id, Ask(2)).view
        assert not answer.degraded
        for trial in answer.trials:
            points.append(trial.parameters)
            observe(running, study_id, Value(float(trial.number % 5), trial.number))
    return points

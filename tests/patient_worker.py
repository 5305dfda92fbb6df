"""What a model process does in tests: as in production, but it takes its time. Apart, as it has to start soon."""

from __future__ import annotations

from typing import Any

from tests.waiting import PATIENCE


def work(*arguments: Any) -> None:
    """Decide on all points that are asked for, and store all models at the end, however long that takes."""
    from adabkb_service.inference import host, worker

    host.DECISION_SECONDS = worker.CLOSE_SECONDS = PATIENCE
    worker.main(*arguments)

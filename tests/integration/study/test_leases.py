"""The end of a lease, and its event."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from adabkb_service.operations.monitoring.sweep import sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.study.leases import lease_end
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, heartbeat, suggest
from tests.integration.study.test_lifecycle import NOW, study


@pytest.mark.parametrize(
    ("runtime", "seconds", "expected"), [(None, 30.0, 30.0), (40.0, 30.0, 30.0), (40.0, 60.0, 35.0), (None, 0.0, 1e-6)]
)
def test_lease_ends_after_its_length_or_the_run_time(runtime: float | None, seconds: float, expected: float) -> None:
    """The lease is renewed 5 s after its start; the shortest one lasts 1 us."""
    row = replace(study(), max_runtime_seconds=runtime)
    now = NOW + timedelta(seconds=5)
    assert (lease_end(row, NOW, now, seconds) - now).total_seconds() == expected


def test_end_of_a_lease_logs_attempt_worker_and_cause(running: Service, clock: ManualClock) -> None:
    create(running, definition(max_runtime_seconds=100, max_attempts=2))
    suggest(running, "s", Ask(worker="w", lease_seconds=60))
    clock.advance(61)
    sweep(running)
    suggest(running, "s", Ask(worker="w", lease_seconds=90))
    clock.advance(50)
    heartbeat(running, "s", 1, lease_seconds=90)
    clock.advance(51)
    sweep(running)
    logged = [(event.kind, event.payload) for event in read.list_events(running, "s", 0, 100).items[2:]]
    assert logged == [
        ("expired", {"attempt": 1, "worker": "w", "cause": "lease"}),
        ("leased", {"attempt": 2, "worker": "w", "renewed": False}),
        ("expired", {"attempt": 2, "worker": "w", "cause": "max_runtime"}),
        ("failed", {"attempt": None, "reason": "max_attempts"}),
    ]

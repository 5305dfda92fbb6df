"""What a batch does beside its requests."""

from __future__ import annotations

import pytest

from adabkb_service.errors import StudyNotFound
from adabkb_service.operations import read
from adabkb_service.operations.manage import create
from adabkb_service.operations.service import Service
from adabkb_service.storage.database import Database
from adabkb_service.study.cached_study import read_study
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, get, observe, suggest


def test_a_study_completes_when_its_model_says_so_and_nothing_else_happens(running: Service) -> None:
    """The gap of a parabola is far below the tolerance once it is known."""
    create(running, definition(tolerance=1e6))
    for step in range(9):
        assert get(running, "s").state == "running"
        x = step / 6 - 1.0
        observe(running, "s", Value(x * x, parameters={"x": x, "y": 1.0 + step}))
    assert get(running, "s").state == "complete"
    last = read.list_events(running, "s", 0, 100).items[-1]
    assert (last.kind, last.payload) == ("completed", {"reason": "converged"})


def test_a_study_that_is_read_has_the_next_expiry_of_its_leases(
    running: Service, database: Database, study: str, clock: ManualClock
) -> None:
    with database.reading() as connection:
        assert read_study(connection, study).next_expiry is None
    suggest(running, study, Ask(2, lease_seconds=30))
    with database.reading() as connection:
        found = read_study(connection, study)
    assert found.next_expiry is not None
    assert (found.next_expiry - clock()).total_seconds() == 30
    with database.reading() as connection, pytest.raises(StudyNotFound):
        read_study(connection, "nowhere")

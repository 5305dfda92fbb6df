"""What a batch does besides its requests: the state of the study, the next expiry, retries, and values of curves."""

from __future__ import annotations

import pytest

from adabkb_service.errors import Contention, StudyNotFound
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.study import curves
from adabkb_service.study.cached_study import read_study
from adabkb_service.study.contention import repeating
from adabkb_service.study.draft import Draft
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, get, observe, report, suggest


def test_study_completes_when_its_model_reports_convergence(running: Service) -> None:
    """For a parabola, the first gap that the model knows is far below the tolerance."""
    create(running, definition(tolerance=1e6))
    for step in range(9):
        assert get(running, "s").state == "running"
        x = step / 6 - 1.0
        observe(running, "s", Value(x * x, parameters={"x": x, "y": 1.0 + step}))
    assert get(running, "s").state == "complete"
    last = read.list_events(running, "s", 0, 100).items[-1]
    assert (last.kind, last.payload) == ("completed", {"reason": "converged"})


def test_study_is_read_with_the_next_expiry_of_its_leases(
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


def test_persistent_contention_is_reported() -> None:
    def overtaken() -> None:
        raise Contention("Study 's' changed meanwhile; try again.")

    with pytest.raises(Contention, match="changed meanwhile"):
        repeating(0.0)(overtaken)


def test_curve_values_are_of_one_attempt_and_the_given_steps(
    running: Service, database: Database, clock: ManualClock
) -> None:
    """Values in the database, and those added by the draft."""
    create(running, definition(early_stopping={"rule": "asha", "max_steps": 9}))
    suggest(running, "s", Ask(2))
    report(running, "s", 1, (1, 5.0), (2, 6.0))
    with database.reading() as connection:
        before = read_study(connection, "s")
    draft = Draft(database, before, clock())
    for trial, value in ((1, 7.0), (2, 9.0)):
        draft.record("reported", {"attempt": 1, "reports": [[3, value], [4, value + 1.0]]}, trial)
    assert curves.values(draft, 1, 1, {1, 3}) == {1: 5.0, 3: 7.0}
    assert curves.values(draft, 1, 2, {1, 3}) == {}
    assert curves.values(draft, 2, 1, {2, 4}) == {4: 10.0}
    draft.close()

"""What a batch does besides its requests: the state of the study, the next expiry, retries, and values of curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

import pytest

from adabkb_service.contract.answers import StudySummary
from adabkb_service.contract.requests import PointValueBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Contention, QuotaExceeded, ResultConflict, StudyNotFound, TrialNotFound
from adabkb_service.inference.link import ModelLink
from adabkb_service.operations import observe as operations
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.storage.usage import Usage
from adabkb_service.study import curves
from adabkb_service.study.batch import Answered, Batch, PendingRequest, Refused
from adabkb_service.study.cached_study import read_study
from adabkb_service.study.contention import repeating
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request
from adabkb_service.timeouts import Timeouts
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, get, observe, report, suggest
from tests.integration.study.test_group import observing, suggesting

BY_NUMBER = {"direction": "minimize", "parameters": [{"name": "n", "kind": "int", "low": 1, "high": 12}], "seed": 3}


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


@pytest.fixture
def batch(running: Service, database: Database, study: str, clock: ManualClock) -> Iterator[Batch]:
    """A batch of requests to a study without a model."""
    link = ModelLink(study, running.inference, lambda _: None, Timeouts(suggestion=0.0))
    with database.reading() as connection:
        before = read_study(connection, study)
    begun = Batch(database, before, link, clock())
    yield begun
    begun.close()


class Quota:
    """A quota of three trials or results."""

    def __init__(self) -> None:
        self.left = 3

    def spend(self, more: Usage, _: int) -> Callable[[], None]:
        if self.left < more.trials:
            raise QuotaExceeded("trials", 3, 3 - self.left, more.trials)
        self.left -= more.trials
        return partial(self.refund, more)

    def refund(self, less: Usage) -> None:
        self.left += less.trials


def fail(error: Exception, draft: Draft, _: Points) -> Outcome[StudySummary]:
    """Fail after a change of the draft."""
    draft.record("paused", {})
    raise error


def test_each_request_of_a_batch_is_finished_with_its_outcome(batch: Batch) -> None:
    """A refused request or a bug affects no other request, and leaves no changes."""
    refusal, bug = TrialNotFound("s", 99), ZeroDivisionError()
    of_errors = [Request("s", StudySummary, partial(fail, error)) for error in (refusal, bug)]
    requests = [PendingRequest(each, Future()) for each in (observing(1.0), *of_errors, suggesting(2))]
    told, *failed, asked = [batch.perform(each, checks_key_first=False) for each in requests]
    assert isinstance(told, Answered)
    assert isinstance(asked, Answered)
    assert failed == [Refused(requests[1], refusal), Refused(requests[2], bug)]
    assert told.outcome.view.observation.value == 1.0
    assert [trial.origin for trial in asked.outcome.view.trials] == ["fallback"] * 2
    assert [event.kind for event in batch.draft.log] == ["observed", "suggested", "suggested"]


def test_second_result_of_a_trial_in_a_batch_must_equal_the_first(batch: Batch) -> None:
    """As if the first one had been committed before."""
    results = [observing(value, trial=1) for value in (1.0, 1.0, 2.0)]
    _, stored, repeated, other = [
        batch.perform(PendingRequest(each, Future()), checks_key_first=False) for each in (suggesting(1), *results)
    ]
    assert isinstance(stored, Answered)
    assert isinstance(repeated, Answered)
    assert isinstance(other, Refused)
    assert isinstance(other.error, ResultConflict)
    assert [event.kind for event in batch.draft.log] == ["suggested", "observed"]


def test_fallback_points_of_a_batch_differ_in_a_finite_space(
    running: Service, database: Database, clock: ManualClock
) -> None:
    """Results and trials that earlier requests of the batch add count as known points."""
    create(running, StudyDefinition.model_validate({**BY_NUMBER, "id": "finite"}))
    with database.reading() as connection:
        before = read_study(connection, "finite")
    link = ModelLink("finite", running.inference, lambda _: None, Timeouts(suggestion=0.0))
    batch = Batch(database, before, link, clock())
    own = operations.observe("finite", PointValueBody(parameters={"n": 5}, value=1.0), None)
    for request in (own, *(replace(suggesting(2), study_id="finite") for _ in range(4))):
        assert isinstance(batch.perform(PendingRequest(request, Future()), checks_key_first=False), Answered)
    points = [point["n"] for point in batch.draft.changed_points()]
    batch.close()
    assert len(set(points)) == len(points) == 9


@pytest.mark.parametrize("committed", [False, True])
def test_quota_is_returned_unless_the_batch_is_committed(batch: Batch, *, committed: bool) -> None:
    """The third request would exceed it."""
    quota = Quota()
    requests = [replace(observing(value), spend=quota.spend) for value in (1.0, 2.0)]
    *answered, refused = [
        batch.perform(PendingRequest(request, Future()), checks_key_first=False)
        for request in (*requests, replace(suggesting(2), spend=quota.spend))
    ]
    assert all(isinstance(each, Answered) for each in answered)
    assert isinstance(refused, Refused)
    assert isinstance(refused.error, QuotaExceeded)
    assert quota.left == 1
    if committed:
        batch.commit()
    batch.close()
    assert quota.left == (1 if committed else 3)


def test_batch_updates_the_state_of_its_study(batch: Batch) -> None:
    batch.draft.record("paused", {})
    batch.update_state()
    assert batch.commit().study.state == "paused"


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
        draft.record("reported", {"attempt": 1, "reports": [(3, value), (4, value + 1.0)]}, trial)
    assert curves.values(draft, 1, 1, {1, 3}) == {1: 5.0, 3: 7.0}
    assert curves.values(draft, 1, 2, {1, 3}) == {}
    assert curves.values(draft, 2, 1, {2, 4}) == {4: 10.0}
    draft.close()

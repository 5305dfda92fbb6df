"""Failed trials can be retried: a programming error neither excludes a point forever nor uses up budget."""

from __future__ import annotations

import pytest

from adabkb_service.errors import StudyComplete, TrialFinished
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, change, get, observe, queue, release, retry, suggest

Parameters = dict[str, object]


def failed(running: Service, count: int = 1) -> list[int]:
    """Issue trials and fail them. Return their numbers."""
    numbers = [trial.number for trial in suggest(running, "s", Ask(count)).view.trials]
    for number in numbers:
        observe(running, "s", Failure(number, reason="no such file"))
    return numbers


def issue(running: Service, count: int = 1) -> list[tuple[int, int]]:
    """Issue the next trials. Return their numbers and attempts."""
    return [(trial.number, trial.attempt) for trial in suggest(running, "s", Ask(count)).view.trials]


def test_retried_trial_is_issued_before_new_points_at_no_cost(running: Service) -> None:
    create(running, definition(budget=3))
    first, second = failed(running, 2)
    retried = retry(running, "s", second).view
    assert retried.trial.state == "released"
    assert (retried.trial.reason, retried.trial.finished_at) == (None, None)
    assert retried.study.counts.trials == 2
    assert issue(running, 3) == [(second, 2), (3, 1)]
    assert read.trial(running, "s", first).state == "failed"


def test_complete_study_resumes_until_its_retried_trials_are_finished(running: Service) -> None:
    create(running, definition(budget=1))
    (number,) = failed(running)
    assert get(running, "s").state == "complete"
    assert retry(running, "s", number).view.study.state == "running"
    assert issue(running) == [(number, 2)]
    assert observe(running, "s", Value(1.0, number)).view.study.state == "complete"


def test_study_paused_after_failures_continues_with_retried_trials(running: Service) -> None:
    create(running, definition(failure_limit=2))
    numbers = failed(running, 2)
    for number in numbers:
        assert retry(running, "s", number).view.study.state == "paused"
    assert issue(running) == []
    change(running, "s", {"state": "running"})
    assert issue(running, 2) == [(number, 2) for number in numbers]


def test_model_forgets_a_retried_failure(database: Database, clock: ManualClock) -> None:
    """The next suggestion is the same as if the trial had never failed."""
    suggested: dict[str, list[Parameters]] = {}
    for name in ("released", "failed", "retried"):
        running = Service(database, clock=clock)
        create(running, definition(id=name))
        for value, x in enumerate((-0.75, 0.25, 1.25, 1.75)):
            observe(running, name, Value(float(value), parameters={"x": x, "y": 1.0}))
        queue(running, name, {"x": 0.5, "y": 1.0})
        (number,) = [trial.number for trial in suggest(running, name, Ask()).view.trials]
        if name == "released":
            release(running, name, number)
        else:
            observe(running, name, Failure(number))
        if name == "retried":
            retry(running, name, number)
        found = [trial.parameters for trial in suggest(running, name, Ask(6)).view.trials]
        suggested[name] = [point for point in found if point != {"x": 0.5, "y": 1.0}]
    assert suggested["retried"] == suggested["released"]
    assert suggested["retried"] != suggested["failed"][:5]


def test_retried_trial_gets_all_its_attempts_again(running: Service, clock: ManualClock) -> None:
    create(running, definition(max_attempts=2))
    assert issue(running) == [(1, 1)]
    clock.advance(61)
    assert issue(running) == [(1, 2)]
    clock.advance(61)
    assert issue(running) == [(2, 1)]
    retry(running, "s", 1)
    assert issue(running) == [(1, 3)]
    clock.advance(61)
    assert issue(running) == [(1, 4)]


def test_result_may_follow_a_retry_without_a_lease(running: Service, study: str) -> None:
    """A worker that repeats the experiment need not lease the trial again."""
    (number,) = failed(running)
    retry(running, study, number)
    observe(running, study, Failure(number, reason="another cause"))
    assert read.trial(running, study, number).reason == "another cause"
    retry(running, study, number)
    completed = observe(running, study, Value(1.5, number)).view.trial
    assert completed is not None
    assert (completed.state, completed.value) == ("completed", 1.5)


def test_retry_of_an_unfinished_trial_changes_nothing(running: Service, study: str, database: Database) -> None:
    (number,) = failed(running)
    retry(running, study, number, reason="the disk was full")
    before = get(running, study).revision
    assert retry(running, study, number).view.trial.state == "released"
    assert issue(running) == [(number, 2)]
    assert retry(running, study, number).view.trial.state == "active"
    assert get(running, study).revision == before + 1  # the lease
    with database.reading() as connection:
        retries = [event.payload for event in events.page(connection, study, 0) if event.kind == "retried"]
    assert retries == [{"attempt": 1, "reason": "the disk was full"}]


def test_converged_study_rejects_retries(running: Service) -> None:
    create(running, definition(tolerance=1e9))
    (number,) = failed(running)
    for _ in range(9):
        trial = suggest(running, "s", Ask()).view.trials[0]
        observe(running, "s", Value((trial.parameters["x"] - 1.0) ** 2, trial.number))
    assert get(running, "s").reason == "converged"
    with pytest.raises(StudyComplete, match="converged"):
        retry(running, "s", number)


def test_trial_with_a_result_cannot_be_retried(running: Service, study: str) -> None:
    (number,) = [trial.number for trial in suggest(running, study, Ask()).view.trials]
    observe(running, study, Value(0.25, number))
    before = get(running, study).revision
    with pytest.raises(TrialFinished, match=r"0\.25; only a failed or withdrawn trial can be retried"):
        retry(running, study, number)
    assert get(running, study).revision == before

"""Suggestions: distinct points, within the limits, and with a reason if there are fewer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import sqlalchemy as sa

from adabkb_service.contract.answers import Trial
from adabkb_service.errors import StudyNotFound
from adabkb_service.inference.inprocess import InProcess
from adabkb_service.inference.messages import Advance, Message, Reply
from adabkb_service.inference.pool import Receive
from adabkb_service.operations import suggest as suggestion
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import cells, dictionary
from adabkb_service.study.request import Key
from tests.integration.inference.held_replies import HeldReplies
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    change,
    correct,
    get,
    observe,
    queue,
    release,
    store,
    suggest,
)
from tests.waiting import TIMEOUT_SECONDS


def ask(running: Service, count: int = 1, **request: object) -> list[Trial]:
    return suggest(running, "s", Ask(count=count, **request)).view.trials  # type: ignore[arg-type]


def points(trials: list[Trial]) -> set[tuple[tuple[str, object], ...]]:
    return {tuple(trial.parameters.items()) for trial in trials}


@pytest.mark.parametrize("servers", [1, 2])
def test_concurrent_workers_get_different_trials_and_points(
    database: Database, clock: ManualClock, servers: int
) -> None:
    """On one server, and on two with the same database."""
    services = [Service(database, clock=clock) for _ in range(servers)]
    create(services[0], definition())
    observe(services[0], "s", Value(1.0, ask(services[0])[0].number))
    with ThreadPoolExecutor(6) as workers:
        found = list(workers.map(lambda i: ask(services[i % servers]), range(12)))
    trials = [trial for batch in found for trial in batch]
    assert sorted(trial.number for trial in trials) == list(range(2, 14))
    assert len(points(trials)) == 12


@pytest.mark.usefixtures("study")
def test_batch_of_suggestions_has_different_points(running: Service) -> None:
    trials = ask(running, 10)
    assert [trial.number for trial in trials] == list(range(1, 11))
    assert len(points(trials)) == 10


def test_concurrent_workers_never_exceed_the_budget(database: Database, clock: ManualClock) -> None:
    services = [Service(database, clock=clock) for _ in range(2)]
    create(services[0], definition(budget=10))
    with ThreadPoolExecutor(8) as workers:
        found = list(workers.map(lambda i: ask(services[i % 2]), range(24)))
    assert sorted(trial.number for batch in found for trial in batch) == list(range(1, 11))
    assert get(services[0], "s").counts.trials == 10


def test_fewer_trials_come_with_a_reason(running: Service) -> None:
    create(running, definition(budget=3))
    answer = suggest(running, "s", Ask(count=5)).view
    assert (len(answer.trials), answer.reason, answer.study.state) == (3, "budget", "running")
    again = suggest(running, "s", Ask()).view
    assert (again.trials, again.reason) == ([], "budget")
    assert again.retry_after is not None, "others may release their trials"


def test_pending_limit_applies_until_a_result_arrives(running: Service) -> None:
    create(running, definition(pending_limit=2))
    assert len(ask(running, 5)) == 2
    assert suggest(running, "s", Ask()).view.reason == "pending_limit"
    observe(running, "s", Value(1.0, 1))
    assert len(ask(running, 5)) == 1


def test_paused_study_issues_no_trials_but_accepts_results(running: Service, study: str) -> None:
    [trial] = ask(running)
    change(running, study, {"state": "paused"})
    assert suggest(running, study, Ask()).view.reason == "paused"
    assert observe(running, study, Value(1.0, trial.number)).view.study.state == "paused"
    change(running, study, {"state": "running"})
    assert len(ask(running)) == 1


def test_raising_the_budget_resumes_a_complete_study(running: Service) -> None:
    create(running, definition(budget=1))
    assert observe(running, "s", Value(1.0, ask(running)[0].number)).view.study.state == "complete"
    assert change(running, "s", {"budget": 2}).view.state == "running"
    assert [trial.number for trial in ask(running)] == [2]
    kinds = [event.kind for event in read.list_events(running, "s", 0, 100).items]
    assert kinds == ["created", "suggested", "observed", "completed", "updated", "suggested"]


def test_study_is_complete_when_its_gap_is_within_the_tolerance(running: Service) -> None:
    create(running, definition(tolerance=1e9))
    for _ in range(9):  # with fewer results, the gap is not known yet
        assert get(running, "s").state == "running"
        trial = ask(running)[0]
        observe(running, "s", Value((trial.parameters["x"] - 1.0) ** 2, trial.number))
    found = get(running, "s")
    assert (found.state, found.reason) == ("complete", "converged")
    assert suggest(running, "s", Ask()).view.reason == "converged"
    assert change(running, "s", {"tolerance": None}).view.state == "running"


def test_refinement_limit_is_recorded_in_the_log(running: Service) -> None:
    """With a huge F, every cell would be refined forever; there is still a point, and the log records the limit."""
    create(running, definition(algorithm={"profile": "paper", "norm_bound": 1e9, "beta": 1.0}))
    observe(running, "s", Value(1.0, ask(running)[0].number))
    assert ask(running)
    log = read.list_events(running, "s", 0, 100).items
    assert [event.payload["capped"] for event in log if event.kind == "suggested"] == [True, True]


def test_waiting_trials_are_issued_before_new_points_by_number(running: Service, study: str) -> None:
    first, _ = ask(running, 2)
    queued = queue(running, study, {"x": 0, "y": 1}).view
    release(running, study, first.number)
    taken = ask(running, 3)
    assert [trial.number for trial in taken] == [first.number, queued.number, 4]
    assert [trial.attempt for trial in taken] == [2, 1, 1]
    assert taken[1].parameters == {"x": 0.0, "y": 1.0}


@pytest.mark.usefixtures("study")
def test_expired_trial_is_leased_again_before_any_new_point(running: Service, clock: ManualClock) -> None:
    [lost] = ask(running, worker="gone")
    clock.advance(61)
    [found] = ask(running, worker="here")
    assert (found.number, found.attempt, found.worker) == (lost.number, 2, "here")
    assert found.parameters == lost.parameters


def test_trial_fails_after_its_last_expired_lease(running: Service, clock: ManualClock) -> None:
    create(running, definition(max_attempts=2))
    for attempt in (1, 2):
        assert ask(running)[0].attempt == attempt
        clock.advance(61)
    [new] = ask(running)
    assert new.number == 2
    failed = read.trial(running, "s", 1)
    assert (failed.state, failed.reason) == ("failed", "max_attempts")


def test_release_does_not_count_as_an_expired_attempt(running: Service, clock: ManualClock) -> None:
    create(running, definition(max_attempts=2))
    for _ in range(5):
        release(running, "s", ask(running)[0].number)
    assert ask(running)[0].attempt == 6
    clock.advance(61)
    assert ask(running)[0].attempt == 7


def test_failed_point_is_not_suggested_again(running: Service, study: str) -> None:
    seen = []
    for _ in range(8):
        [trial] = ask(running)
        seen.append(trial)
        observe(running, study, Failure(trial.number))
    assert len(points(seen)) == 8


def kinds(running: Service, study: str) -> list[str]:
    return [event.kind for event in read.list_events(running, study, 0, 1000).items]


def test_points_are_issued_when_the_engine_fails(running: Service) -> None:
    """With two results whose sum overflows, points are quasi-random and flagged, until a correction."""
    create(running, definition(algorithm={"profile": "paper", "outputs": "raw"}))
    for _ in range(2):
        observe(running, "s", Value(-1.7e308, parameters={"x": 0, "y": 1}))
    fallback = suggest(running, "s", Ask(count=2)).view
    assert fallback.degraded
    assert [trial.origin for trial in fallback.trials] == ["fallback", "fallback"]
    assert len(points(fallback.trials)) == 2
    suggest(running, "s", Ask())
    assert kinds(running, "s").count("model_failed") == 1

    correct(running, "s", 2, {"excluded": True}, "diverged")
    recovered = suggest(running, "s", Ask()).view
    assert (recovered.degraded, recovered.trials[0].origin) == (False, "policy")
    assert kinds(running, "s").count("model_recovered") == 1


@pytest.mark.parametrize(
    ("profile", "damage"),
    [
        ("paper", sa.insert(dictionary).values(study_id="s", ordinal=99)),
        ("auto", sa.delete(cells).where(cells.c.depth == 0)),
    ],
)
def test_unrestorable_model_loses_no_result_and_replay_repairs_it(
    database: Database, clock: ManualClock, profile: str, damage: sa.Executable
) -> None:
    """With rows that contradict the log, results are stored, points are issued, and a replay repairs the model."""
    running = Service(database, clock=clock)
    create(running, definition(algorithm={"profile": profile}))
    observe(running, "s", Value(1.0, ask(running)[0].number))
    observe(running, "s", Value(1.5, ask(running)[0].number))
    store(running, "s")
    with database.writing() as connection:
        connection.execute(damage)
    restarted = Service(database, clock=clock)
    answer = observe(restarted, "s", Value(2.0, parameters={"x": 0, "y": 1})).view
    assert answer.study.counts.observations == 3
    assert get(restarted, "s").model.status == "degraded"
    assert ask(restarted)[0].origin == "fallback"
    assert kinds(restarted, "s").count("model_failed") == 1

    replay(restarted, "s")
    assert get(restarted, "s").model.status == "ok"
    assert ask(restarted)[0].origin == "policy"
    assert kinds(restarted, "s").count("model_recovered") == 1


def test_unknown_study_raises_not_found(running: Service) -> None:
    with pytest.raises(StudyNotFound):
        suggest(running, "nowhere", Ask())


def test_events_are_numbered_without_gaps_under_concurrency(database: Database, clock: ManualClock) -> None:
    services = [Service(database, clock=clock) for _ in range(2)]
    create(services[0], definition())

    def work(i: int) -> None:
        [trial] = ask(services[i % 2])
        observe(services[(i + 1) % 2], "s", Value(float(i), trial.number))

    with ThreadPoolExecutor(6) as workers:
        list(workers.map(work, range(12)))
    log = read.list_events(services[0], "s", 0, 1000).items
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert sum(event.kind == "observed" for event in log) == 12
    assert get(services[0], "s").revision == len(log)


class Interrupted(InProcess):
    """Models that call a function just before they reply to a decision."""

    meanwhile: Callable[[], None] | None = None

    def post(self, message: Message, receive: Receive) -> None:
        replies: list[Reply] = []
        super().post(message, replies.append)
        if isinstance(message, Advance) and message.decide and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        for reply in replies:
            receive(reply)


def test_suggestion_for_a_deleted_study_is_not_issued_for_its_successor(database: Database, clock: ManualClock) -> None:
    """Another server deletes and recreates the study during the suggestion, with the same id and number of events."""
    inference = Interrupted(database)
    running, other = Service(database, clock=clock, inference=inference), Service(database, clock=clock)
    create(running, definition())

    def meanwhile() -> None:
        delete(other, "s")
        create(other, definition(parameters=[{"name": "z", "kind": "float", "low": 100, "high": 200}]))

    inference.meanwhile = meanwhile
    (trial,) = suggest(running, "s", Ask()).view.trials
    assert list(trial.parameters) == ["z"]
    assert list(examine(database)) == []


def test_repeated_request_is_answered_without_the_model(database: Database, clock: ManualClock) -> None:
    """The stored response is returned without another decision of the model."""
    models = HeldReplies(database)
    running = Service(database, clock=clock, inference=models, threads=2)
    running.open()
    create(running, definition())
    asking = partial(suggestion.suggest, "s", Ask(), Key("s", "k", "ask"))
    first = running.do(asking()).view
    models.is_holding = True
    observe(running, "s", Value(1.5, parameters={"x": 0.5, "y": 1.0}))
    again = running.submit(asking()).result(TIMEOUT_SECONDS)
    assert (again.view, again.replayed) == (first, True)
    running.close()

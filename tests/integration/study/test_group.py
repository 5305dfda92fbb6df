"""Waiting requests are committed in one transaction, and each gets its own outcome."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.contract.answers import StudySummary
from adabkb_service.contract.parameters import FloatParameter
from adabkb_service.errors import (
    Busy,
    DatabaseUnavailable,
    IdempotencyKeyReused,
    RequestInProgress,
    TrialFinished,
    TrialNotFound,
)
from adabkb_service.inference.link import ModelLink
from adabkb_service.operations import observe as observation
from adabkb_service.operations import suggest as suggestion
from adabkb_service.operations.data import trash
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage, read
from adabkb_service.storage.database import Database
from adabkb_service.study import lifecycle
from adabkb_service.study.draft import Draft
from adabkb_service.study.owner import MAX_QUEUED, RETRY_SECONDS, STATS_SECONDS, Owner
from adabkb_service.study.request import Key, Outcome, Points, Request
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, correct, get, observe, queue, suggest
from tests.samples import some

POINT = {"x": 0.5, "y": 1.0}


@contextmanager
def counted_commits(database: Database) -> Iterator[list[sa.Connection]]:
    """A list that gets an entry per commit of events in the block. The model's statistics may be committed alone, if
    the machine is busy."""
    commits: list[sa.Connection] = []
    written: set[sa.Connection] = set()

    def execute(connection: sa.Connection, _: object, statement: str, *__: object) -> None:
        if statement.startswith("INSERT INTO events"):
            written.add(connection)

    def commit(connection: sa.Connection) -> None:
        if connection in written:
            written.remove(connection)
            commits.append(connection)

    sa.event.listen(database.engine, "before_cursor_execute", execute)
    sa.event.listen(database.engine, "commit", commit)
    yield commits
    sa.event.remove(database.engine, "before_cursor_execute", execute)
    sa.event.remove(database.engine, "commit", commit)


def observing(value: float, trial: int | None = None, key: str | None = None) -> Request[Any]:
    parameters = None if trial else POINT
    named = None if key is None else Key("s", key, f"value {value}")
    return observation.observe("s", Value(value, trial, parameters=parameters), named)


def suggesting(count: int = 1, key: str | None = None) -> Request[Any]:
    return suggestion.suggest("s", Ask(count), None if key is None else Key("s", key, "ask"))


def together(running: Service, *requests: Request[Any]) -> list[Future[Any]]:
    """Queue all requests before the first is performed."""
    futures = [running.submit(request) for request in requests]
    running.scheduler.work_until(lambda: all(future.done() for future in futures))
    return futures


def views(futures: list[Future[Any]]) -> list[Any]:
    return [future.result().view for future in futures]


def values(running: Service) -> list[float | None]:
    return [row.value for row in read.list_observations(running, "s", 0, 1000).items]


@pytest.fixture
def warm(running: Service, study: str) -> Service:
    """A service with a study that has a result, an active trial and prefetched points."""
    suggest(running, study, Ask(2))
    observe(running, study, Value(1.0, 1))
    return running


def test_waiting_requests_share_one_commit(warm: Service, database: Database) -> None:
    with counted_commits(database) as commits:
        futures = together(warm, *(observing(float(value), key=f"k-{value}") for value in range(20)))
    assert len(commits) == 1
    assert [view.observation.seq for view in views(futures)] == list(range(2, 22))
    assert values(warm) == [1.0, *map(float, range(20))]
    assert list(examine(database)) == []


def test_waiting_suggestions_and_results_share_one_commit(warm: Service, database: Database) -> None:
    """Each sees the effects of earlier ones: two suggestions get different trials."""
    with counted_commits(database) as commits:
        futures = together(warm, suggesting(), observing(2.0), observing(0.5, 2))
    first, _, _ = views(futures)
    assert len(commits) == 1
    assert [trial.number for trial in first.trials] == [3]
    assert values(warm) == [1.0, 2.0, 0.5]
    assert list(examine(database)) == []


def test_edit_of_the_space_applies_to_later_requests_of_its_group(warm: Service, database: Database) -> None:
    """One worker edits while others suggest and observe. Prefetched points are not issued afterwards, an earlier trial
    is completed, and suggestions that wait for the model get points of the edited space.
    """
    changes = {"parameters": [FloatParameter(name="x", kind="float", low=1.25, high=1.5).model_dump()]}
    with counted_commits(database) as commits:
        before, edit, late, refused, after = together(
            warm,
            suggesting(key="before"),
            manage.change("s", changes, None, Key("s", "edit", "edit")),
            observing(0.25, 2),
            observing(3.0),
            suggesting(2, key="after"),
        )
    assert len(commits) == 2, "the group, and the last suggestion, which waits for the model"
    (first,), new = before.result().view.trials, after.result().view.trials
    assert first.number == 3
    assert all(1.25 <= trial.parameters["x"] <= 1.5 and trial.origin == "policy" for trial in new)
    assert late.result().view.trial.state == "completed"
    assert "outside [1.25, 1.5]" in str(refused.exception())
    assert warm.do(manage.change("s", changes, None, Key("s", "edit", "edit"))).view == edit.result().view
    assert [event.kind for event in read.list_events(warm, "s", 0, 100).items].count("edited") == 1
    assert list(examine(database)) == []


def half_done(draft: Draft, _: Points) -> Outcome[StudySummary]:
    """A request that is refused after it has changed the draft."""
    draft.record("paused", {})
    draft.record("failed", {"attempt": 1, "reason": "half done"}, 2)
    lifecycle.update_state(draft)
    raise TrialNotFound("s", 99)


def test_refused_request_does_not_affect_others_in_its_group(warm: Service, database: Database) -> None:
    with counted_commits(database) as commits:
        before, refused, late, after = together(
            warm, observing(2.0), observing(3.0, 99), Request("s", StudySummary, half_done), observing(0.5, 2)
        )
    assert len(commits) == 1
    assert isinstance(refused.exception(), TrialNotFound)
    assert isinstance(late.exception(), TrialNotFound)
    assert [view.observation.seq for view in views([before, after])] == [2, 3]
    assert values(warm) == [1.0, 2.0, 0.5]
    assert {event.kind for event in read.list_events(warm, "s", 0, 100).items} == {"created", "suggested", "observed"}
    assert list(examine(database)) == []


def end_connection(draft: Draft, _: Points) -> Outcome[StudySummary]:
    """Make PostgreSQL close the connection of the draft."""
    draft.connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
    raise AssertionError


@pytest.mark.parametrize("migrated_url", ["postgresql"], indirect=True)
def test_lost_connection_during_a_read_fails_the_whole_group(
    warm: Service, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    group = together(warm, observing(2.0), Request("s", StudySummary, end_connection), observing(0.5, 2))
    assert [type(future.exception()) for future in group] == [DatabaseUnavailable] * 3
    assert caplog.records == []
    assert values(warm) == [1.0]
    assert views(together(warm, observing(0.5, 2)))[0].observation.seq == 2
    assert list(examine(database)) == []


@pytest.mark.parametrize("value", [2.0, 3.0])
def test_key_used_twice_in_a_group_has_one_effect(warm: Service, value: float) -> None:
    """A second use is refused while the first is in progress. Then the same request gets the stored answer."""
    first = warm.submit(observing(2.0, key="k"))
    with pytest.raises(RequestInProgress):
        warm.submit(observing(value, key="k"))
    warm.scheduler.work_until(first.done)
    assert values(warm) == [1.0, 2.0]
    if value == 2.0:
        again = warm.do(observing(value, key="k"))
        assert (again.replayed, again.view) == (True, first.result().view)
    else:
        with pytest.raises(IdempotencyKeyReused):
            warm.do(observing(value, key="k"))
    assert values(warm) == [1.0, 2.0]


@pytest.mark.parametrize("where", ["here", "on another server"])
def test_stored_key_is_answered_while_the_others_continue(
    warm: Service, database: Database, clock: ManualClock, where: str
) -> None:
    server = warm if where == "here" else Service(database, clock=clock)
    stored = server.do(observing(2.0, key="k")).view
    with counted_commits(database) as commits:
        before, known, between, after = together(
            warm, observing(3.0, key="a"), observing(2.0, key="k"), observing(4.0, key="c"), observing(0.5, 2, key="b")
        )
    assert len(commits) == 1
    assert (known.result().replayed, known.result().view) == (True, stored)
    assert [future.result().replayed for future in (before, between, after)] == [False] * 3
    assert values(warm) == [1.0, 2.0, 3.0, 4.0, 0.5]
    assert list(examine(database)) == []


def test_stored_key_with_another_request_is_refused_alone(warm: Service, database: Database) -> None:
    warm.do(observing(2.0, key="k"))
    before, refused, after = together(warm, observing(3.0), observing(4.0, key="k"), observing(0.5, 2))
    assert isinstance(refused.exception(), IdempotencyKeyReused)
    assert [view.observation.seq for view in views([before, after])] == [3, 4]
    assert values(warm) == [1.0, 2.0, 3.0, 0.5]
    assert list(examine(database)) == []


@pytest.mark.parametrize("fingerprint", ["ask", "another request"])
def test_repeated_key_on_a_complete_study_returns_the_stored_answer(
    running: Service, clock: ManualClock, fingerprint: str
) -> None:
    """The request issues no trial, so it has no answer to store, but it logs an expired lease and the end of
    the study.
    """
    manage.create(running, definition(max_attempts=1, budget=1))
    first = running.do(suggesting(key="k"))
    clock.advance(61)
    again = running.submit(suggestion.suggest("s", Ask(), Key("s", "k", fingerprint)))
    running.scheduler.work_until(again.done)
    if fingerprint == "ask":
        assert (again.result().replayed, again.result().json) == (True, first.json)
    else:
        assert isinstance(again.exception(), IdempotencyKeyReused)
    assert suggest(running, "s", Ask()).view.study.state == "complete"
    assert list(examine(running.database)) == []


def test_group_overtaken_by_another_server_is_retried_completely(
    warm: Service, database: Database, clock: ManualClock
) -> None:
    """Based on the new state: numbers continue, and requests that have become impossible are refused."""
    other = Service(database, clock=clock)
    waiting = [warm.submit(observing(value, key=f"k-{value}")) for value in (2.0, 3.0)]
    waiting += [warm.submit(suggesting(key="ask")), warm.submit(observing(0.5, 2, key="late"))]
    observe(other, "s", Value(7.0, 2))
    suggest(other, "s", Ask())
    with counted_commits(database) as commits:
        warm.scheduler.work_until(lambda: all(future.done() for future in waiting))
    assert len(commits) == 2, "the results, and the suggestion, for which the model must process them"
    assert [view.observation.seq for view in views(waiting[:2])] == [3, 4]
    assert [trial.number for trial in waiting[2].result().view.trials] == [4]
    assert type(waiting[3].exception()).__name__ == "ResultConflict"
    assert values(warm) == [1.0, 7.0, 2.0, 3.0]
    log = read.list_events(warm, "s", 0, 100).items
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert list(examine(database)) == []


def test_requests_beyond_the_limit_are_refused_with_retry(warm: Service) -> None:
    waiting = [warm.submit(observing(float(value))) for value in range(MAX_QUEUED)]
    with pytest.raises(Busy):
        warm.submit(observing(0.0, key="k"))
    warm.scheduler.work_until(lambda: all(future.done() for future in waiting))
    warm.do(observing(0.0, key="k"))
    assert get(warm, "s").counts.observations == MAX_QUEUED + 2


def test_answer_is_consistent_although_another_server_writes(
    warm: Service, database: Database, clock: ManualClock
) -> None:
    """The server reads the study before that write, and the observation after it."""
    corrections = iter([9.0])

    def let_other_write(_: Draft) -> None:
        for value in corrections:
            correct(warm, "s", 1, {"value": value})

    told_again = replace(observation.observe("s", Value(1.0, 1)), prepare=let_other_write)
    answer = Service(database, clock=clock).do(told_again).view
    assert answer.observation is not None
    assert answer.study.best is not None
    assert (answer.observation.value, answer.study.best.value) == (9.0, 9.0)


def forbid_writes(connection: Any, *_: object) -> None:
    connection.execute("PRAGMA query_only=ON")


@pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)
def test_read_only_server_answers_with_another_servers_writes(
    warm: Service, database: Database, clock: ManualClock
) -> None:
    """Also if storing the statistics of its model fails."""
    assert get(warm, "s").counts.observations == 1
    time.sleep(STATS_SECONDS)
    observe(Service(database, clock=clock), "s", Value(2.0, 2))
    sa.event.listen(database.engine, "checkout", forbid_writes)
    assert get(warm, "s").counts.observations == 2
    refused = warm.submit(observation.observe("s", Failure(2)))
    warm.scheduler.work_until(refused.done)
    assert isinstance(refused.exception(), TrialFinished)


DYING = """
import os, signal, sys
import sqlalchemy as sa
from adabkb_service.operations.service import Service
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.study.test_group import suggesting, observing

database = Database(sys.argv[1])
running = Service(database, clock=ManualClock())
commit = database.engine.dialect.do_commit

def commit_and_die(connection):
    if sys.argv[2] == "after":
        commit(connection)
    os.kill(os.getpid(), signal.SIGKILL)

database.engine.dialect.do_commit = commit_and_die
requests = [observing(2.0, key="a"), suggesting(key="b"), observing(0.5, 2, key="c")]
futures = [running.submit(request) for request in requests]
running.scheduler.work_until(lambda: all(future.done() for future in futures))
"""


@pytest.mark.long
@pytest.mark.parametrize("when", some(["before", "after"], ["after"]))
def test_unanswered_requests_to_a_killed_server_can_be_repeated(
    warm: Service, migrated_url: str, database: Database, clock: ManualClock, when: str
) -> None:
    """Killed before the commit, it has performed nothing; killed after it, everything. So no request is performed twice
    or in part.
    """
    queue(warm, "s", POINT)  # a waiting trial can be issued in the same group, without the model
    dying = subprocess.run([sys.executable, "-c", DYING, migrated_url, when], env=os.environ, check=False)
    assert dying.returncode == -9
    head = get(Service(database, clock=clock), "s").revision
    repeated = together(
        Service(database, clock=clock), observing(2.0, key="a"), suggesting(key="b"), observing(0.5, 2, key="c")
    )
    told, asked, late = views(repeated)
    assert {future.result().replayed for future in repeated} == {when == "after"}
    assert (told.observation.seq, late.observation.seq) == (2, 3)
    assert [trial.number for trial in asked.trials] == [3]
    assert values(warm) == [1.0, 2.0, 0.5]
    assert (get(Service(database, clock=clock), "s").revision == head) == (when == "after")
    assert list(examine(database)) == []


def test_row_rejected_by_the_database_fails_only_its_request(warm: Service, database: Database) -> None:
    """Immediately, without retries, since no other transaction is involved."""
    observe(warm, "s", Value(13.0, parameters=POINT))
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE UNIQUE INDEX once ON observations (study_id, value)")
    begun: list[sa.Connection] = []
    note = begun.append
    sa.event.listen(database.engine, "begin", note)
    first, refused, last = together(warm, observing(2.0), observing(13.0), observing(3.0))
    sa.event.remove(database.engine, "begin", note)
    assert [each.result().view.study.counts.observations for each in (first, last)] == [3, 4]
    with pytest.raises(sa.exc.IntegrityError):
        refused.result()
    assert len(begun) < 20
    assert values(warm) == [1.0, 13.0, 2.0, 3.0]
    assert list(examine(database)) == []


def test_points_of_a_deleted_study_are_not_issued_in_its_successor(running: Service, study: str) -> None:
    """The new study reaches the same position in its log through a result that arrives together with a suggestion."""
    observe(running, study, Value(1.0, parameters=POINT))
    get(running, study)  # waits until its model has prefetched a point
    trash.delete(running, study, purge=True)
    moved = [FloatParameter(name="x", kind="float", low=100.0, high=101.0)]
    manage.create(running, definition(parameters=moved))
    reported = observation.observe("s", Value(1.0, parameters={"x": 100.5}))
    _, suggested = views(together(running, reported, suggesting()))
    assert 100.0 <= suggested.trials[0].parameters["x"] <= 101.0


def test_parked_request_is_performed_after_the_model_could_not_be_asked(
    running: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner tries again soon, not at the deadline of the request."""
    manage.create(running, definition())
    errors, advance = iter([OSError("no memory")]), ModelLink.advance

    def fail_once(*given: Any) -> None:
        for error in errors:
            raise error
        advance(*given)

    monkeypatch.setattr(ModelLink, "advance", fail_once)
    asked = running.submit(suggesting())
    running.scheduler.work_until(asked.done, time.monotonic() + 30 * RETRY_SECONDS)
    assert asked.done()
    assert [trial.origin for trial in asked.result().view.trials] == ["policy"]


def test_owner_counts_its_unfinished_requests(running: Service, study: str) -> None:
    owner = Owner(study, running.dependencies)
    assert (owner.unfinished, owner.is_idle) == (0, True)
    submitted = [owner.submit(observing(value, key=str(value))) for value in (1.0, 2.0)]
    assert (owner.unfinished, owner.is_idle) == (2, False)
    owner.process_queues()
    assert all(each.done() for each in submitted)
    assert owner.unfinished == 0


@pytest.mark.parametrize("gone", ["deleted", "stored by another server"])
def test_owner_becomes_idle_once_its_statistics_are_outdated(
    running: Service, database: Database, clock: ManualClock, gone: str
) -> None:
    """So it can be dropped from the cache."""
    manage.create(running, definition())
    owner, elsewhere = Owner("s", running.dependencies), Service(database, clock=clock)
    pending = owner.submit(observing(1.0))
    owner.process_queues()
    assert pending.done()
    owner.process_queues()  # processes the model's reply
    assert not owner.is_idle
    if gone == "deleted":
        trash.delete(elsewhere, "s", purge=True)
    else:
        observe(elsewhere, "s", Value(2.0, parameters=POINT))
        get(elsewhere, "s")
    time.sleep(STATS_SECONDS)
    for _ in range(3):
        owner.process_queues()
        time.sleep(STATS_SECONDS)
    assert owner.is_idle

"""Invariants for all sequences of calls: each acknowledged result is stored exactly once, trials are numbered without
gaps, a lease has one holder, no budget is exceeded, and a repeated key gets exactly the same answer.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import AdaBKBError, RequestInProgress
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.monitoring.sweep import sweep
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.storage import observations, studies, trials
from adabkb_service.storage.database import Database
from adabkb_service.study import render
from adabkb_service.study.request import Outcome
from adabkb_service.timeouts import Timeouts
from tests.conftest import BACKENDS
from tests.database_pool import DatabasePool
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.study.calls import (
    Action,
    Ask,
    Call,
    Change,
    Correct,
    Fail,
    Release,
    Renew,
    Tell,
    facts_of,
    request_of,
    shown,
)
from tests.integration.study.specification import (
    FAILURE_LIMIT,
    FIRST_BUDGET,
    LEASE_SECONDS,
    MAX_ATTEMPTS,
    Answer,
    Specification,
)

Databases = Callable[[], AbstractContextManager[str]]
"""Yields the URL of a database with the present schema and no rows."""

SERVERS = 2
MOST = 12
"""The largest budget in trials."""
AT_ONCE = Timeouts(suggestion=0.0, follow=0.0, contention=0.05)
"""No request waits for the model, so requests are performed in the order of sending. A server that finds another commit
succeeds at its second attempt."""


@dataclass
class Server:
    """A service with its own connections, and its waiting calls."""

    database: Database
    service: Service
    waiting: list[tuple[Call, Future[Outcome[Any]]]] = field(default_factory=list)


Manner = Literal["plainly", "with a key", "waiting", "waiting, with a key", "to both", "again, as the answer was lost"]
"""How a call is sent. A waiting call is performed together with the server's next one, or lost if the server
crashes."""


@dataclass(frozen=True)
class Delivery:
    """The server, the time and the manner of a call."""

    server: int
    manner: Manner = "plainly"
    after: float = 0.0
    """Seconds after the previous call."""


def wait_for_no_disk(connection: Any, _: object) -> None:
    """Disable waiting for the disk, since a crash of only a process does not lose buffered writes."""
    connection.execute("PRAGMA synchronous=OFF")


def counted(pick: int, count: int) -> int:
    """A number from 1 to a count, or rarely the next one."""
    return 1 + (pick % count if count and pick < MOST else count)


attempts = st.sampled_from([None, None, None, None, 1, 2, 3])
servers = st.integers(0, SERVERS - 1)
seconds = st.sampled_from([0.0, 0.0, 0.0, 1.0, LEASE_SECONDS / 2, LEASE_SECONDS + 1])
deliveries = st.builds(Delivery, servers, st.sampled_from(get_args(Manner)), seconds)
verbs = st.sampled_from(["tell", "tell", "renew", "fail", "release"])
picks = st.integers(0, MOST)
"""Selects a trial, a result or a call, modulo their number."""


def has_results(life: History) -> bool:
    return bool(life.specification.results)


def has_sent_keys(life: History) -> bool:
    return bool(life.sent)


class History(RuleBasedStateMachine):
    """A study whose clients may call any server, each with possibly outdated caches."""

    def __init__(self, databases: Databases) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.specification = Specification()
        self.sent: list[Call] = []
        """Sent calls with keys."""
        self.issued: set[tuple[int, int]] = set()
        """Issued pairs of trial and attempt."""
        self._keys = map("key-{}".format, itertools.count())
        self._values = itertools.count(1)
        self._open = ExitStack()
        self._url = self._open.enter_context(databases())
        self._servers = [self._opened() for _ in range(SERVERS)]

    @initialize(count=st.integers(1, 3))
    def create(self, count: int) -> None:
        """Create a study with some active trials; without them, most calls would be refused."""
        limits = {"budget": FIRST_BUDGET, "max_attempts": MAX_ATTEMPTS, "failure_limit": FAILURE_LIMIT}
        manage.create(self._servers[0].service, definition(lease_seconds=LEASE_SECONDS, **limits))
        self._send(Delivery(0), Ask(count, "a"))

    def teardown(self) -> None:
        for server in self._servers:
            server.database.close()
        self._open.close()

    # Clients

    @rule(how=deliveries, count=st.integers(1, 3), worker=st.sampled_from("ab"))
    def ask(self, how: Delivery, count: int, worker: str) -> None:
        self._send(how, Ask(count, worker))

    @rule(
        how=deliveries, pick=picks, attempt=attempts, verb=st.sampled_from(["tell", "tell", "renew", "fail", "release"])
    )
    def work(self, how: Delivery, pick: int, attempt: int | None, verb: str) -> None:
        """Mostly on an existing trial."""
        trial = counted(pick, len(self.specification.trials))
        made: dict[str, Action] = {
            "tell": Tell(trial, attempt, float(next(self._values))),
            "renew": Renew(trial, attempt),
            "fail": Fail(trial, attempt),
            "release": Release(trial, attempt),
        }
        self._send(how, made[verb])

    @precondition(has_results)
    @rule(how=deliveries, pick=picks, as_corrected=st.booleans())
    def observe_again(self, how: Delivery, pick: int, as_corrected: bool) -> None:
        """Repeat a result without a key, or with another one."""
        known = self.specification.results[1 + pick % len(self.specification.results)]
        value = known["value" if as_corrected else "told"]
        self._send(how, Tell(known["trial"], known["attempt"], value))

    @precondition(has_results)
    @rule(how=deliveries, pick=picks, excluded=st.sampled_from([None, True, False]))
    def correct(self, how: Delivery, pick: int, excluded: bool | None) -> None:
        seq = counted(pick, len(self.specification.results))
        change = ("value", float(next(self._values))) if excluded is None else ("excluded", excluded)
        self._send(how, Correct(seq, change))

    @rule(
        how=deliveries,
        change=st.sampled_from([("state", "paused"), ("state", "running"), ("state", "running"), ("budget", MOST)])
        | st.tuples(st.just("budget"), st.integers(4, MOST)),
    )
    def change(self, how: Delivery, change: tuple[str, Any]) -> None:
        self._send(how, Change(change))

    @precondition(has_sent_keys)
    @rule(server=servers, pick=picks, action=st.sampled_from([None, None, Ask(1, "a"), Ask(2, "b")]))
    def send_key_again(self, server: int, pick: int, action: Ask | None) -> None:
        """Repeat a key with the same call, as a client without an answer does, or with another call."""
        before = self.sent[-1 - pick % len(self.sent)]
        self._submit(server, before if action is None else Call(action, before.key))
        self._serve(server)

    # Servers

    @rule(server=servers)
    def sweep(self, server: int) -> None:
        self._serve(server)
        sweep(self._servers[server].service)
        self.specification.sweep(self.clock.now)

    @rule(server=servers)
    def crash(self, server: int) -> None:
        """The new process has only the data in the database, and no waiting calls."""
        self._servers[server].database.close()
        self._servers[server] = self._opened()

    # Invariants

    @invariant()
    def rows_are_those_of_the_specification(self) -> None:
        """Check numbers without gaps, each result once with its value, and the holders of leases."""
        with self._servers[0].database.reading() as connection:
            rows = trials.page(connection, "s", state=None, after=0, limit=100)
            results = observations.page(connection, "s", 0, 100)
            definition = definition_of(studies.get(connection, "s").definition)
        expected = self.specification
        assert [shown(render.trial(row, definition)) for row in rows] == [
            *map(expected.shown, range(1, len(expected.trials) + 1))
        ]
        reported = [
            {"trial": row.trial, "attempt": row.attempt, "value": row.value, "excluded": row.excluded}
            for row in results
        ]
        assert [row.seq for row in results] == list(expected.results)
        assert reported == [
            {name: value for name, value in result.items() if name != "told"} for result in expected.results.values()
        ]

    @invariant()
    def rows_are_the_replay_of_the_log(self) -> None:
        assert list(examine(self._servers[0].database, "s")) == []

    def _opened(self) -> Server:
        database = Database(self._url)
        if database.is_sqlite:
            sa.event.listen(database.engine, "connect", wait_for_no_disk)
        return Server(database, Service(database, clock=self.clock, timeouts=AT_ONCE))

    def _send(self, how: Delivery, action: Action) -> None:
        call = Call(action, None if how.manner in ("plainly", "waiting") else next(self._keys))
        if call.key is not None:
            self.sent.append(call)
        self.clock.advance(how.after)
        self._submit(how.server, call)
        other = (how.server + 1) % SERVERS
        match how.manner:
            case "plainly" | "with a key":
                self._serve(how.server)
            case "to both":
                self._submit(other, call)
                self._serve(other)
                self._serve(how.server)
            case "again, as the answer was lost":
                self._serve(how.server)
                self.crash(how.server)
                self._submit(other, call)
                self._serve(other)

    def _submit(self, server: int, call: Call) -> None:
        """Add a waiting call to a server. If the last waiting call there is a suggestion with a key, first perform the
        waiting calls: see ``_adopt_expirations``."""
        there = self._servers[server]
        if there.waiting and isinstance(there.waiting[-1][0].action, Ask) and there.waiting[-1][0].key is not None:
            self._serve(server)
        request = request_of(call)
        if call.key is not None and call.key in {other.key for other, _ in there.waiting}:
            with pytest.raises(RequestInProgress):
                there.service.submit(request)
        else:
            there.waiting.append((call, there.service.submit(request)))

    def _serve(self, server: int) -> None:
        """Perform all waiting calls of a server, and compare each outcome with the specification."""
        there = self._servers[server]
        performed, there.waiting = there.waiting, []
        there.service.scheduler.work_until(lambda: all(future.done() for _, future in performed))
        for call, future in performed:
            self._compare(call, future)

    def _compare(self, call: Call, future: Future[Outcome[Any]]) -> None:
        expected = self.specification.perform(call, self.clock.now)
        error = future.exception()
        if isinstance(expected, type) or error is not None:
            if not isinstance(error, AdaBKBError | None):
                raise error
            assert (call, type(error)) == (call, expected), error
            return
        outcome = future.result()
        if isinstance(expected, Answer):
            assert (outcome.replayed, outcome.json) == (True, expected.json), call
            if isinstance(call.action, Ask):
                self._adopt_expirations()
            return
        assert (call, outcome.replayed, facts_of(call, outcome.view)) == (call, False, expected)
        if isinstance(call.action, Ask):
            self._hold(outcome.view.trials)
            if not outcome.view.trials:
                return
        self.specification.keep(call, outcome.json)

    def _adopt_expirations(self) -> None:
        """Expire leases if the server did. It may or may not do so before it answers a suggestion from a stored
        answer."""
        with self._servers[0].database.reading() as connection:
            rows = trials.page(connection, "s", state=None, after=0, limit=100)
        if any(row.state != self.specification.trials[row.number]["state"] for row in rows):
            self.specification.sweep(self.clock.now)

    def _hold(self, trials: list[Trial]) -> None:
        """Check that no attempt is issued twice, and that no new trial exceeds the budget."""
        for trial in trials:
            assert (trial.number, trial.attempt) not in self.issued
            assert trial.attempt > 1 or trial.number <= self.specification.budget
            self.issued.add((trial.number, trial.attempt))


@pytest.fixture
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Databases:
    """Databases of the kind in the parameter."""
    if request.param == "postgresql":
        pool: DatabasePool = request.getfixturevalue("database_pool")
        return pool.borrowed
    template: Path = request.getfixturevalue("sqlite_template")

    @contextmanager
    def copied() -> Iterator[str]:
        shutil.copy(template, tmp_path / "life.db")
        yield f"sqlite:///{tmp_path}/life.db"
        for leftover in tmp_path.glob("life.db*"):
            leftover.unlink()

    return copied


def run_histories(databases: Databases, examples: int, steps: int) -> None:
    """Check a number of histories with a number of steps."""

    class HistoryThere(History):
        def __init__(self) -> None:
            super().__init__(databases)

    chosen = settings(max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(HistoryThere, settings=chosen)


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_random_histories_match_the_specification(databases: Databases) -> None:
    run_histories(databases, examples=8, steps=40)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("databases", BACKENDS, indirect=True)
def test_thousands_of_random_histories_match_the_specification(databases: Databases) -> None:
    run_histories(databases, examples=1000, steps=60)

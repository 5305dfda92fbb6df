"""The number of SQL statements and commits of a pair of suggest and observe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from adabkb_service.inference.inprocess import InProcess
from adabkb_service.inference.store import SAVE_EVENTS
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from adabkb_service.study.request import Key
from adabkb_service.timeouts import UNLIMITED_SECONDS
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, observe, suggest

PAIRS = 40
MAX_STATEMENTS = 9
"""The maximum per pair in the server: two transactions, each of which writes the study, a trial, its events and the
key. The second one also writes the result."""
MAX_MODEL_STATEMENTS = 5
"""The maximum in the model's process each time it stores the model."""
FREE = ("BEGIN", "COMMIT", "ROLLBACK", "SET")


@dataclass
class Traffic:
    """The statements and commits of a database."""

    statements: list[str] = field(default_factory=list)
    commits: int = 0


@contextmanager
def watched(database: Database) -> Iterator[Traffic]:
    traffic = Traffic()

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if not statement.upper().startswith(FREE):
            traffic.statements.append(statement)

    def count(_: Any) -> None:
        traffic.commits += 1

    sa.event.listen(database.engine, "before_cursor_execute", note)
    sa.event.listen(database.engine, "commit", count)
    yield traffic
    sa.event.remove(database.engine, "before_cursor_execute", note)
    sa.event.remove(database.engine, "commit", count)


def pair(running: Service, number: int) -> None:
    trial = suggest(running, "s", Ask(), Key("s", f"ask-{number}", "f")).view.trials[0]
    assert trial.origin == "policy"
    observe(running, "s", Value(float(number % 7), trial.number), Key("s", f"tell-{number}", "f"))


def test_statements_and_commits_of_a_pair_are_bounded(migrated_url: str, clock: ManualClock) -> None:
    """On a cached study with the profile ``auto``; the models have separate connections, as in production."""
    database, models = Database(migrated_url), Database(migrated_url)
    running = Service(database, clock=clock, inference=InProcess(models, idle_seconds=UNLIMITED_SECONDS))
    create(running, definition(algorithm={"profile": "auto"}))
    for number in range(3):
        pair(running, number)
    with watched(database) as traffic, watched(models) as storing:
        for number in range(3, 3 + PAIRS):
            pair(running, number)
    assert traffic.commits == 2 * PAIRS
    assert len(traffic.statements) <= MAX_STATEMENTS * PAIRS, traffic.statements[-12:]
    times_stored = 1 + 2 * PAIRS // SAVE_EVENTS
    assert len(storing.statements) <= MAX_MODEL_STATEMENTS * times_stored, storing.statements
    database.close()
    models.close()

"""References: no rows without their study, and none left of a deleted study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention
from adabkb_service.storage import (
    events,
    files,
    grants,
    idempotency,
    model,
    observations,
    reports,
    retention_cutoffs,
    studies,
    trials,
    webhooks,
)
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from tests.integration.storage.rows import NOW, event, file, key, observation, report, study, trial, webhook
from tests.integration.storage.writes import delete_study

BELOW: dict[str, Callable[[sa.Connection, str], Any]] = {
    "trials": lambda connection, name: trials.add(connection, [trial(1, name)]),
    "observations": lambda connection, name: observations.add(connection, [observation(1, study_id=name)]),
    "reports": lambda connection, name: reports.add(connection, [report(1, 1, name)]),
    "events": lambda connection, name: events.add(connection, [event(1, name)]),
    "cells": lambda connection, name: model.write_cells(connection, name, {"0": "leaf"}),
    "dictionary": lambda connection, name: model.write_dictionary(connection, name, added=[1], removed=[]),
    "idempotency_keys": lambda connection, name: idempotency.add(connection, [key("k", name)]),
    "files": lambda connection, name: files.add(connection, file(1, name), b"content"),
    "webhooks": lambda connection, name: webhooks.add(connection, webhook("0123456789ab", name)),
    "grants": lambda connection, name: grants.replace(connection, name, {"ann": "own"}),
}
"""Table -> function that writes a row of a study."""


def fill(connection: sa.Connection, name: str) -> None:
    """Write a row in every table, and an observation of a trial."""
    for write in BELOW.values():
        write(connection, name)
    observations.add(connection, [observation(2, study_id=name, trial=1)])


def rows(connection: sa.Connection) -> dict[str, int]:
    """Table -> number of rows."""
    counts = {table.name: sa.select(sa.func.count()).select_from(table) for table in metadata.sorted_tables}
    return {name: connection.execute(count).scalar_one() for name, count in counts.items()}


def test_all_tables_are_covered() -> None:
    others = {"containers", "studies", "retention_cutoffs", "tokens", "people", "trash", "parts", "audit", "servers"}
    assert others.union(BELOW) == set(metadata.tables)


def test_rows_of_a_nonexistent_study_are_rejected(database: Database) -> None:
    for write in BELOW.values():
        with pytest.raises(Contention), database.writing() as connection:
            write(connection, "nobody")


def test_observation_of_a_nonexistent_trial_is_rejected(database: Database) -> None:
    with pytest.raises(Contention), database.writing() as connection:
        observations.add(connection, [observation(1, trial=7)])


def test_observation_of_another_studys_trial_is_rejected(database: Database) -> None:
    with database.writing() as connection:
        studies.create(connection, study("t"))
        trials.add(connection, [trial(7, "t")])
    with pytest.raises(Contention), database.writing() as connection:
        observations.add(connection, [observation(1, trial=7)])


def test_trial_with_results_cannot_be_deleted(database: Database) -> None:
    with database.writing() as connection:
        trials.add(connection, [trial(1)])
        observations.add(connection, [observation(1, trial=1)])
    with pytest.raises(Contention), database.writing() as connection:
        connection.execute(sa.delete(metadata.tables["trials"]))


def test_deleting_a_study_deletes_all_its_rows(connection: sa.Connection) -> None:
    fill(connection, "s")
    delete_study(connection, "s")
    assert rows(connection) == dict.fromkeys(metadata.tables, 0)


def test_deleting_a_study_leaves_the_others_unchanged(connection: sa.Connection) -> None:
    fill(connection, "s")
    before = rows(connection)
    for name in ("s.b", "S", "t"):
        studies.create(connection, study(name))
        fill(connection, name)
        delete_study(connection, name)
    assert studies.ids(connection) == ["s"]
    assert rows(connection) == before


def test_deleting_studies_keeps_the_cutoffs(connection: sa.Connection) -> None:
    """They belong to the keys of all studies."""
    retention_cutoffs.move(connection, "idempotency keys", NOW, NOW)
    delete_study(connection, "s")
    assert retention_cutoffs.find(connection, "idempotency keys") == NOW


def test_deleting_a_study_deletes_the_key_of_its_creation(connection: sa.Connection) -> None:
    """Although that key is not in the scope of a study."""
    idempotency.add(connection, [key("k", scope="")])
    delete_study(connection, "s")
    assert idempotency.find(connection, "", "k") is None


def test_deleting_a_missing_row_changes_nothing(connection: sa.Connection) -> None:
    fill(connection, "s")
    before = rows(connection)
    delete_study(connection, "nobody")
    assert rows(connection) == before


def test_id_can_be_reused_after_its_study_is_deleted(connection: sa.Connection) -> None:
    fill(connection, "s")
    delete_study(connection, "s")
    studies.create(connection, study("s", seed=7))
    fill(connection, "s")
    assert studies.get(connection, "s").seed == 7

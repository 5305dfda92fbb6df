"""The doctor finds no problem in a valid database, and reports every kind of damage."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.errors import StudyNotFound
from adabkb_service.operations.data.doctor import examine, examine_study
from adabkb_service.operations.service import Service
from adabkb_service.storage import studies
from adabkb_service.storage.rows import EventOf, KeyRow, ObservationRow, StudyRow, TrialRow
from adabkb_service.storage.tables import metadata
from tests.integration.operations.busy import busy_study
from tests.integration.operations.conftest import ManualClock
from tests.integration.operations.verbs import store
from tests.samples import some

DAMAGE = {
    "UPDATE trials SET state = 'failed' WHERE number = 1": "trial 1 has the state 'failed', but 'completed' in the log",
    "UPDATE trials SET attempt = 2 WHERE number = 1": "trial 1 has the attempt 2, but 1 in the log",
    "UPDATE trials SET leased_until = NULL WHERE state = 'active'": "is active without a lease",
    "UPDATE trials SET attributes = '{}' WHERE number = 1": "trial 1 has the attributes {}, but {'plate': 'é'",
    "DELETE FROM observations WHERE seq = 3": "observation 3 is in the log, but has no row",
    "UPDATE observations SET value = 9 WHERE seq = 1": "observation 1 has the value 9.0, but 3.0 in the log",
    "UPDATE observations SET excluded = false WHERE seq = 7": "has the excluded False, but True in the log",
    "DELETE FROM events WHERE seq = 5": "event 6 follows event 4",
    "UPDATE events SET trial = 1 WHERE kind = 'suggested' AND trial = 3": "adds trial 1 to a study with 2 trials",
    "UPDATE studies SET completed = 2": "the study's completed is 2, but should be 8",
    "UPDATE studies SET study_seq = study_seq - 1": "the study's study_seq is",
    "UPDATE studies SET budget = '3'": "the study's budget is 3, but should be 30",
    "UPDATE studies SET failures = 1": "the study's failures is 1, but should be 0",
    "UPDATE studies SET state = 'complete'": "the study's state is complete, but should be running",
    "UPDATE studies SET model_seq = 9999": "the model is at event 9999, beyond the log's end",
    "UPDATE cells SET status = 'leaf' WHERE key = '0'": "has no expanded parent",
    "DELETE FROM cells WHERE key = '0'": "the first cell is not the root",
    "INSERT INTO dictionary (study_id, ordinal) VALUES ('s', 777)": "the dictionary contains point 777",
}


@pytest.mark.parametrize("profile", some(["auto", "paper"], ["auto"]))
def test_busy_study_has_no_problems(running: Service, clock: ManualClock, profile: str) -> None:
    busy_study(running, clock, algorithm={"profile": profile})
    assert list(examine(running.database)) == []
    assert list(examine(running.database, "s")) == []


def test_every_kind_of_damage_is_reported(running: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    store(running, "s")
    for statement, sentence in DAMAGE.items():
        with running.database.reading() as connection:  # so that each change is rolled back
            connection.execute(sa.text(statement))
            found = list(examine_study(connection, studies.get(connection, "s")))
        assert any(sentence in finding.what for finding in found), (statement, found)


def test_missing_study_raises_not_found(running: Service) -> None:
    with pytest.raises(StudyNotFound):
        list(examine(running.database, "nowhere"))


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("studies", StudyRow),
        ("trials", TrialRow),
        ("observations", ObservationRow),
        ("events", EventOf),
        ("idempotency_keys", KeyRow),
    ],
)
def test_row_fields_have_the_order_of_the_columns(table: str, row: Any) -> None:
    assert [field.name for field in fields(row)] == [column.name for column in metadata.tables[table].columns]

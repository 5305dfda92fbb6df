"""Check that a study's log contains its complete state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import ManualClock
from tests.integration.operations.verbs import Ask, suggest
from tests.integration.study.stored_types import faults, faults_of_columns


def assert_log_is_complete(
    database: Database, clock: ManualClock, running: Service, context: Mapping[str, Any] | None = None
) -> None:
    """Check that doctor and replay find no problem in the study "s", that its events and its row have the fields of
    their types, and that its next suggestion is the same after export, deletion and import.
    """
    with database.reading() as connection:
        assert faults(events.page(connection, "s", 0)) == []
        assert faults_of_columns(studies.get(connection, "s")) == []
    assert list(examine(database)) == []
    replayed = replay(running, "s")
    assert (replayed.diverged, replayed.changed) == ([], False)
    lines = list(json_lines(running, "s"))
    before = suggest(running, "s", Ask(context=context)).view.trials[0].parameters
    delete(running, "s")
    import_study(database, lines)
    after = suggest(Service(database, clock=clock), "s", Ask(context=context)).view.trials[0]
    assert (after.origin, after.parameters) == ("policy", before)

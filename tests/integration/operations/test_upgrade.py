"""Databases of earlier versions: their studies continue after the migration, even if the engine's rules differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from adabkb_service.engine.auto.state.checkpoint import REVISION
from adabkb_service.errors import Invalid, SchemaMismatch
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.model import predict
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration, studies, tables
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import ENGINE_REVISION
from tests.integration.operations.verbs import Ask, Value, get, observe, suggest
from tests.integration.storage.keep import KEPT, revision_of, unpacked
from tests.integration.storage.newer import newer_version
from tests.samples import some


@pytest.fixture(params=KEPT, ids=revision_of)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database of an earlier version."""
    with closing(Database(f"sqlite:///{unpacked(request.param, tmp_path)}")) as opened:
        yield opened


def of_another_engine(database: Database) -> None:
    """Change the study to the previous engine revision, which had other rules and other learned values."""
    with database.writing() as connection:
        checkpoint = connection.execute(sa.select(tables.studies.c.checkpoint)).scalar_one()
        del checkpoint["turns"]
        values = {"engine_revision": REVISION - 1, "checkpoint": {**checkpoint, "revision": REVISION - 1}}
        connection.execute(sa.update(tables.studies).values(values))


@pytest.mark.parametrize("is_of_another_engine", some([False, True], [False]))
def test_study_of_an_older_version_continues(kept: Database, tmp_path: Path, *, is_of_another_engine: bool) -> None:
    """After the migration, its model can be read, and it accepts results until its budget is used up. It is not
    replayed if its suggestions followed other rules.
    """
    if is_of_another_engine:
        of_another_engine(kept)
    with newer_version(tmp_path):
        with pytest.raises(SchemaMismatch, match="adabkb data migrate"):
            migration.prepare(kept)
        migration.upgrade(kept)
        running = Service(kept)
        assert list(examine(kept)) == []
        with kept.reading() as connection:
            (study,) = studies.ids(connection)
        as_it_was = list(json_lines(running, study))
        if is_of_another_engine:
            with pytest.raises(Invalid, match=f"by revision {REVISION - 1} of the engine, but this version has "):
                replay(running, study)
        with closing(Database(f"sqlite:///{tmp_path}/elsewhere.db")) as elsewhere:
            migration.upgrade(elsewhere)
            assert import_study(elsewhere, as_it_was).id == study
        model = predict.model(running, study)
        assert (model.status, model.observations > 5) == ("ok", True)
        while trials := suggest(running, study, Ask()).view.trials:
            observe(running, study, Value(float(trials[0].number), trials[0].number))
        assert get(running, study).reason == "budget"
        assert list(examine(kept)) == []


def test_new_studies_have_the_revision_of_the_engine() -> None:
    """The storage and the engine do not import each other, so each has the number."""
    assert ENGINE_REVISION == REVISION

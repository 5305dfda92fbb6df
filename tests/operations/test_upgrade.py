"""Databases of older versions: every schema that ever landed is kept as a file, and its studies go on."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pydantic import ValidationError

from adabkb_service.contract.stored import definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.auto.checkpoint import REVISION
from adabkb_service.errors import Invalid
from adabkb_service.operations import predict
from adabkb_service.operations.doctor import examine
from adabkb_service.operations.export import json_lines
from adabkb_service.operations.importing import import_study
from adabkb_service.operations.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import ENGINE_REVISION
from tests.operations.verbs import Ask, Value, get, observe, suggest

KEPT = sorted((Path(__file__).parents[1] / "storage" / "kept").glob("*.db.gz"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_a_study_of_an_older_version_goes_on(kept: Path, tmp_path: Path) -> None:
    """Upgraded, it tells its model, and takes results until its budget is spent; it is not replayed, since other rules
    made its suggestions."""
    path = tmp_path / "study.db"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    opened = Database(f"sqlite:///{path}")
    migration.upgrade(opened)
    running = Service(opened)
    assert list(examine(opened)) == []
    with opened.reading() as connection:
        (study,) = studies.ids(connection)
    as_it_was = list(json_lines(running, study))
    with pytest.raises(Invalid, match=f"by revision [1-8] of the engine, and this version has {ENGINE_REVISION}"):
        replay(running, study)
    assert list(examine(opened)) == []
    elsewhere = Database(f"sqlite:///{tmp_path}/elsewhere.db")
    migration.upgrade(elsewhere)
    assert import_study(elsewhere, as_it_was).id == study
    elsewhere.close()
    assert predict.model(running, study).observations > 5
    while trials := suggest(running, study, Ask()).view.trials:
        observe(running, study, Value(float(trials[0].number), trials[0].number))
    assert get(running, study).reason == "budget"
    assert list(examine(opened)) == []
    opened.close()


def test_new_studies_have_the_revision_of_the_engine() -> None:
    """The database and the engine know nothing of each other's code, so each has the number."""
    assert ENGINE_REVISION == REVISION


def test_a_stored_study_of_more_integers_than_are_allowed_by_now_can_be_read() -> None:
    seeds = {"name": "seed", "kind": "int", "low": 0, "high": 2**53 - 1}
    stored = {"direction": "minimize", "parameters": [seeds]}
    with pytest.raises(ValidationError, match="step must be at least 16"):
        StudyDefinition.model_validate(stored)
    assert definition_of(stored).space().axes[0].count == 2**53

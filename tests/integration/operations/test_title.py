"""The title and the description of a study."""

from __future__ import annotations

import pytest

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import StudyExists
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.reports.report_in_markdown import markdown
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create, get
from adabkb_service.operations.studies.template import template
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock
from tests.integration.operations.verbs import change

TITLE, DESCRIPTION = "Suzuki coupling of amide 3", "Boronic ester, 0.2 mmol.\nYield by HPLC."


def definition(**changes: object) -> StudyDefinition:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    return StudyDefinition.model_validate({"id": "s", "direction": "maximize", "parameters": parameters, **changes})


def test_title_and_description_are_stored_changed_and_removed(
    database: Database, clock: ManualClock, running: Service
) -> None:
    """They are in the log, so they survive an export and an import."""
    made = create(running, definition(title=f" {TITLE} ", description=DESCRIPTION)).view
    assert (made.title, made.description) == (TITLE, DESCRIPTION)
    change(running, "s", {"title": "Another"})
    study = running.do(get("s")).view
    assert (study.title, study.description) == ("Another", DESCRIPTION)
    assert_log_is_complete(database, clock, running)
    imported = running.do(get("s")).view
    assert (imported.title, imported.description) == ("Another", DESCRIPTION)
    change(running, "s", {"title": None, "description": None})
    study = running.do(get("s")).view
    assert (study.title, study.description) == (None, None)


def test_definition_without_a_title_opens_a_study_that_has_one(running: Service) -> None:
    create(running, definition(title=TITLE))
    assert not create(running, definition()).created
    with pytest.raises(StudyExists, match=f"title is '{TITLE}', not 'Other'"):
        create(running, definition(title="Other"))


def test_studies_are_found_by_title_and_description(running: Service) -> None:
    create(running, definition(title=TITLE, description=DESCRIPTION))
    create(running, definition(id="other"))
    page = Overview(running)
    for text in ("suzuki", "amide 3", "HPLC", "boronic"):
        assert [line.study.id for line in page.studies(text, None, 0, 10).lines] == ["s"], text


def test_template_has_the_description_but_not_the_title(running: Service) -> None:
    """A title names one study, as an id does."""
    create(running, definition(title=TITLE, description=DESCRIPTION))
    found = running.do(template("s")).view.definition
    assert "title" not in found
    assert found["description"] == DESCRIPTION


def test_report_begins_with_title_and_description(running: Service) -> None:
    create(running, definition(title=TITLE, description=DESCRIPTION))
    lines = "".join(markdown(running, "s", with_audit=False)).splitlines()
    assert lines[0] == f"# Report of {TITLE}"
    assert "Boronic ester, 0.2 mmol." in lines
    assert "* ID: s" in lines

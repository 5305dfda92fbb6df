"""The tags of studies."""

from __future__ import annotations

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create, page

TAGS: dict[str, dict[str, str]] = {
    "plain": {"team": "vision", "year": "2026"},
    "case": {"team": "Vision"},
    "name": {'x"team': "vision", "steam": "vision"},
    "text": {"note": '"team": "vision"'},
    "other": {"year": "2026", "team": 'é%_"\\'},
}


def found(service: Service, *tags: tuple[str, str]) -> set[str]:
    return {study.id for study in page(service, None, 10, tags=tags).items}


def test_studies_are_found_by_their_tags(running: Service) -> None:
    """A tag is found as a whole, in upper and lower case as it is."""
    for name, tags in TAGS.items():
        parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
        made = {"id": name, "direction": "minimize", "parameters": parameters, "tags": tags}
        create(running, StudyDefinition.model_validate(made))
    assert found(running) == TAGS.keys()
    assert found(running, ("team", "vision")) == {"plain"}
    assert found(running, ("year", "2026")) == {"plain", "other"}
    for name, tags in TAGS.items():
        assert found(running, *tags.items()) == {name}
    assert found(running, ("team", "vision"), ("year", "2025")) == set()

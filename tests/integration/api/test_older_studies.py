"""Studies whose stored definition the rules for new studies would refuse can be read, and changed elsewhere."""

from __future__ import annotations

from contextlib import closing

import httpx
import sqlalchemy as sa

from adabkb_service.contract.parameters import MAX_TAGS
from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import studies
from tests.integration.api.conftest import pointers

BOUNDS = {"unit": "%", "low": 0, "high": 100}


def test_a_quantity_that_a_study_does_not_measure_may_stay(api: httpx.Client, study: str, migrated_url: str) -> None:
    api.patch(study, json={"quantities": {"value": BOUNDS}}).raise_for_status()
    log = api.get(f"{study}/export").text
    api.delete(study).raise_for_status()
    assert '{"value": {"unit"' in log
    with closing(Database(migrated_url)) as database:
        import_study(database, log.replace('{"value": {"unit"', '{"purity": {"unit"').splitlines())
    found = api.get(study).json()["quantities"]
    assert set(found) == {"purity"}
    for change in (
        {"title": "t"},
        {"quantities": {**found, "value": BOUNDS}},
        {"noise_std": 0.5},
        {"parameters": [{"name": "x", "kind": "float", "low": -10, "high": 10}]},
    ):
        answer = api.patch(study, json=change)
        assert answer.status_code == 200, answer.text
    assert pointers(api.patch(study, json={"quantities": {**found, "weight": {"unit": "g"}}})) == ["/quantities"]


def test_the_description_of_a_change_says_what_null_means(api: httpx.Client) -> None:
    fields = api.get("/openapi.json").json()["components"]["schemas"]["PatchStudyBody"]["properties"]
    assert fields["noise_std"]["description"].endswith("; null: learned from the results")


def test_a_study_beyond_the_limits_of_requests_can_be_read_and_continued(
    api: httpx.Client, study: str, migrated_url: str
) -> None:
    """An older version may have had other limits."""
    api.patch(study, json={"tags": {"tag": "v"}}).raise_for_status()
    api.post(f"{study}/suggest").raise_for_status()
    log = api.get(f"{study}/export").text
    api.delete(study).raise_for_status()
    tags = {f"tag{number}": "v" * 5000 for number in range(MAX_TAGS + 1)}
    with closing(Database(migrated_url)) as database:
        import_study(database, log.splitlines())
        with database.writing() as connection:  # before the server reads it
            definition = connection.execute(sa.select(studies.c.definition)).scalar_one()
            quantities = {"value": {**BOUNDS, "label": "l" * 5000}}
            changed = {"title": "t" * 300, "tags": tags, "lease_seconds": 1e9}
            connection.execute(
                sa.update(studies).values(definition={**definition, "quantities": quantities}, **changed)
            )
    found = api.get(study)
    assert found.status_code == 200, found.text
    assert (len(found.json()["title"]), found.json()["tags"]) == (300, tags)
    assert found.json()["quantities"] == {"value": {**BOUNDS, "label": "l" * 5000}}
    assert [each["id"] for each in api.get("/v1/studies").json()["items"]] == ["s"]
    assert api.patch(study, json={"description": "d"}).status_code == 200
    assert api.post(f"{study}/observe", json={"trial": 1, "value": 1}).status_code == 200

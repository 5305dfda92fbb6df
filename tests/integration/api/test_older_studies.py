"""Studies whose stored definition the rules for new studies would refuse can be read, and changed elsewhere."""

from __future__ import annotations

from contextlib import closing

import httpx

from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage.database import Database
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

"""Deleting and restoring a large study does not block other studies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import FrameType
from typing import Any

import httpx
import sqlalchemy as sa

from adabkb_service.api.trash import restore_study
from adabkb_service.inference.restore import restore as restore_model
from adabkb_service.operations.data import export, import_checks, trash
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import parts
from tests.calls import Gate, Seen, watching
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS, wait_for


def check_other_studies(api: httpx.Client) -> None:
    trial = api.post("/v1/studies/other/suggest").json()["trials"][0]["number"]
    assert api.post("/v1/studies/other/observe", json={"trial": trial, "value": 1.0}).status_code == 200


def test_other_studies_continue_while_one_is_deleted_and_restored(migrated_url: str) -> None:
    exporting, checking = Gate(), Gate()
    gates: dict[Callable[..., Any], Gate] = {export.write_json: exporting, import_checks.check_model: checking}
    with watching(gates), server_on(migrated_url) as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        delete_and_restore(api, exporting, checking)


def delete_and_restore(api: httpx.Client, exporting: Gate, checking: Gate) -> None:
    study = "/v1/studies/s"
    assert api.post("/v1/studies", json={**DEFINITION, "id": "other"}).status_code == 201
    assert api.post(f"{study}/observe", json={"parameters": {"x": 0, "n": 1}, "value": 2.0}).status_code == 200
    before = api.get(study).json()
    for gate, request in (
        (exporting, lambda: api.delete(study)),
        (checking, lambda: api.post(f"{study}/restore")),
    ):
        with ThreadPoolExecutor(1) as elsewhere:
            answer = elsewhere.submit(request)
            assert gate.begun.wait(TIMEOUT_SECONDS)
            check_other_studies(api)
            response = api.post(f"{study}/observe", json={"parameters": {"x": 0, "n": 1}, "value": 3.0})
            assert response.status_code == (503 if gate is exporting else 404)
            gate.may_continue.set()
            assert answer.result().status_code == (204 if gate is exporting else 200)
    assert api.get(study).json() == before


def test_study_whose_content_in_the_trash_is_damaged_stays_there(other_sqlite: str) -> None:
    with server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        assert api.delete("/v1/studies/s").status_code == 204
        with closing(Database(other_sqlite)) as database, database.writing() as connection:
            connection.execute(parts.update().values(content=sa.func.substr(parts.c.content, 1, 100)))
        refused = api.post("/v1/studies/s/restore")
        assert (refused.status_code, "backup" in refused.json()["detail"]) == (422, True), refused.text
        assert len(api.get("/v1/trash").json()["items"]) == 1


def test_studies_are_restored_one_at_a_time_and_without_their_models(other_sqlite: str) -> None:
    """Each restore needs memory for its whole log. Restoring a model would block the other threads of the server."""
    checking, requests, restores, models = Gate(), set[FrameType](), set[FrameType](), set[str]()
    watched: dict[Callable[..., Any], Seen] = {
        import_checks.check_model: checking,
        restore_study: lambda frame, _: requests.add(frame),
        trash.restore: lambda frame, _: restores.add(frame),
        restore_model: lambda *_: models.add(threading.current_thread().name),
    }
    with watching(watched), server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        for name in "ab":
            assert api.post("/v1/studies", json={**DEFINITION, "id": name}).status_code == 201
            trial = api.post(f"/v1/studies/{name}/suggest").json()["trials"][0]["number"]
            assert api.post(f"/v1/studies/{name}/observe", json={"trial": trial, "value": 1.0}).status_code == 200
            assert api.delete(f"/v1/studies/{name}").status_code == 204
        models.clear()
        with ThreadPoolExecutor(2) as elsewhere:
            first = elsewhere.submit(api.post, "/v1/studies/a/restore")
            assert checking.begun.wait(TIMEOUT_SECONDS)
            second = elsewhere.submit(api.post, "/v1/studies/b/restore")
            wait_for(lambda: len(requests) == 2)
            assert len(api.get("/v1/trash").json()["items"]) == 2  # in a thread that would come after a second restore
            assert len(restores) == 1
            checking.may_continue.set()
            assert [first.result().status_code, second.result().status_code] == [200, 200]
        assert "AnyIO worker thread" not in models

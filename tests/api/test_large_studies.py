"""What takes as long as a study is large holds up no other study: deleting it, and bringing it back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from adabkb_service.operations import doctor, export
from tests.api.conftest import DEFINITION
from tests.waiting import PATIENCE


class Gate:
    """Something that takes as long as the test says."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()
        self._work = work

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.begun.set()
        assert self.goes_on.wait(PATIENCE)
        return self._work(*given, **named)


def other_studies_go_on(api: httpx.Client) -> None:
    trial = api.post("/v1/studies/other/suggest").json()["trials"][0]["number"]
    assert api.post("/v1/studies/other/observe", json={"trial": trial, "value": 1.0}).status_code == 200


def test_other_studies_go_on_while_one_is_deleted_and_restored(
    api: httpx.Client, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.post("/v1/studies", json={**DEFINITION, "id": "other"}).status_code == 201
    assert api.post(f"{study}/observe", json={"parameters": {"x": 0, "n": 1}, "value": 2.0}).status_code == 200
    before = api.get(study).json()
    for owner, name, request in (
        (export, "write_json", lambda: api.delete(study)),
        (doctor, "examine_study", lambda: api.post(f"{study}/restore")),
    ):
        gate = Gate(getattr(owner, name))
        with ThreadPoolExecutor(1) as elsewhere, monkeypatch.context() as slowed:
            slowed.setattr(owner, name, gate)
            answer = elsewhere.submit(request)
            assert gate.begun.wait(PATIENCE)
            other_studies_go_on(api)
            told = api.post(f"{study}/observe", json={"parameters": {"x": 0, "n": 1}, "value": 3.0})
            assert told.status_code == (503 if owner is export else 404)
            gate.goes_on.set()
            assert answer.result().status_code == (204 if owner is export else 200)
    assert api.get(study).json() == before

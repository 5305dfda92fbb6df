"""An import takes no altered file that a request could not have made: what it takes can be read everywhere."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from adabkb_service.errors import AdaBKBError, Invalid
from adabkb_service.operations.importing import import_study
from adabkb_service.storage.database import Database
from tests.api.conftest import DEFINITION
from tests.servers import server_on

VALUES: list[Any] = [None, "x", True]
LEFT_OUT = ("created", "paused")
"""Kinds of events whose payload is a definition, or nothing."""
READS = ["", "/trials", "/trials/1", "/trials/2", "/trials/1/why", "/observations", "/events", "/export", "/cells"]
PAGES = ["/studies/s", "/studies/s/trials", "/studies/s/trials/1", "/studies/s/trials/2", "/studies/s/history.json"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a study with what a study may have."""
    url = f"sqlite:///{tmp_path_factory.mktemp('exported')}/adabkb.db"
    with server_on(url) as address, httpx.Client(base_url=address, timeout=60) as client:
        client.post("/v1/studies", json=DEFINITION, headers={"Idempotency-Key": "k"})
        client.post("/v1/studies/s/suggest", json={"fixed": {"n": 3}, "worker": "w"}, headers={"Idempotency-Key": "l"})
        client.post("/v1/studies/s/observe", json={"trial": 1, "value": 1.0, "attributes": {"a": "b"}})
        client.post("/v1/studies/s/observe", json={"parameters": {"x": 1.0, "n": 2}, "value": 2.0})
        client.post("/v1/studies/s/suggest", json={})
        client.post("/v1/studies/s/trials/2/reports", json={"items": [{"step": 1, "value": 3.0}]})
        client.post("/v1/studies/s/trials/2/fail", json={"reason": "broken"})
        client.patch("/v1/studies/s/observations/1", json={"value": 1.5, "reason": "typo"})
        client.patch("/v1/studies/s", json={"state": "paused", "tags": {"a": "b"}})
        assert client.get("/v1/studies/s/recommendation").status_code == 200
        return client.get("/v1/studies/s/export").text.splitlines()


def altered(value: Any, put: Any) -> Iterator[Any]:
    """The value, each time with something in it replaced."""
    if isinstance(value, dict):
        for name, item in value.items():
            if item != put or type(item) is not type(put):
                yield {**value, name: put}
            yield from ({**value, name: changed} for changed in altered(item, put))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in altered(item, put))


def test_what_an_import_takes_can_be_read_everywhere(
    exported: list[str], tmp_path: Path, sqlite_template: Path
) -> None:
    """Lines of the log and of the model, with any value replaced."""
    file = tmp_path / "adabkb.db"
    file.write_bytes(sqlite_template.read_bytes())
    url, outcomes = f"sqlite:///{file}", Counter[str]()
    headers = {"Accept": "text/html, application/json", "Connection": "close"}
    with (
        closing(Database(url)) as database,
        server_on(url) as address,
        httpx.Client(base_url=address, timeout=60, headers=headers) as client,
    ):
        for number, line in enumerate(exported):
            fields = json.loads(line)
            if fields["type"] not in ("event", "cell", "dictionary") or fields.get("kind") in LEFT_OUT:
                continue
            for changed in (each for put in VALUES for each in altered(fields, put)):
                lines = [*exported[:number], json.dumps(changed), *exported[number + 1 :]]
                told = refusal(database, lines)
                outcomes["taken" if told is None else "refused"] += 1
                if told is None:
                    paths = [*(f"/v1/studies/s{path}" for path in READS), *PAGES]
                    answers = {path: client.get(path).status_code for path in paths}
                    assert max(answers.values()) < 500, (changed, answers)
                    assert client.delete("/v1/studies/s?purge=true").status_code == 204
                else:
                    assert "pydantic" not in told
    assert outcomes["taken"] > 0
    assert outcomes["refused"] > outcomes["taken"]


def refusal(database: Database, lines: list[str]) -> str | None:
    """What an import says of a file that it refuses; None if it takes the file."""
    try:
        import_study(database, lines)
    except AdaBKBError as error:
        return f"{error.detail} {error.errors}"
    return None


def test_the_creation_of_a_study_is_of_no_trial(exported: list[str], tmp_path: Path) -> None:
    lines = [line.replace('"kind": "created", "trial": null', '"kind": "created", "trial": 1') for line in exported]
    assert lines != exported
    with closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database:
        assert "trial must be null" in (refusal(database, lines) or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [(r'"a\u0000b"', "U+0000"), (r'"\ud800"', "valid Unicode"), ('"w", "worker": "v"', "twice"), ("1e999", "finite")],
)
def test_what_no_request_could_hold_is_no_line(exported: list[str], tmp_path: Path, text: str, words: str) -> None:
    lines = [line.replace('"worker": "w"', f'"worker": {text}') for line in exported]
    assert lines != exported
    with (
        closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database,
        pytest.raises(Invalid, match=re.escape(words)),
    ):
        import_study(database, lines)

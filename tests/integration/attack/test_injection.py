"""Strings with a meaning in SQL, HTML, logs, terminals or spreadsheets are treated as plain text everywhere."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import sqlalchemy as sa

from adabkb_client import Client
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from adabkb_service.telemetry.logs import JsonLines, TextLines
from tests.servers import serving

TEXTS = [
    "'; DROP TABLE studies; --",
    "' OR '1'='1",
    '"; DELETE FROM events; --',
    "%' AND 1=0 UNION SELECT digest FROM tokens --",
    "\\'; SELECT pg_sleep(60); --",
    "$$; COPY studies TO '/tmp/x'; $$",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% for x in y %}",
    "${jndi:ldap://localhost/a}",
    "%s%n%(asctime)s{0.__class__}",
    "=1+cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "'=1+1",
    "\t=1+1",
    "line\r\nSet-Cookie: a=b\r\n\r\n<html>",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe",
    "../../../../etc/passwd",
    "$(touch /tmp/owned)`id`",
    "a" * 200,
]
BROWSER = {"Accept": "text/html"}
READABLE = [text for text in TEXTS if text.isprintable()]
"""Those that a definition may have (``tests/integration/api/test_readable.py``)."""
NAMES = [text[:200] for text in READABLE]


@pytest.fixture(scope="module")
def attacked(module_migrated_url: str) -> Iterator[tuple[httpx.Client, str]]:
    """A server with a study that has such a string in every string field."""
    app = create_app(Settings(database=module_migrated_url, model_processes=0))
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client, module_migrated_url


def test_texts_are_stored_shown_and_exported_unchanged(attacked: tuple[httpx.Client, str], tmp_path: Path) -> None:
    client, url = attacked
    name = TEXTS[0]
    definition: dict[str, Any] = {
        "id": "s",
        "direction": "minimize",
        "parameters": [
            {"name": name, "kind": "categorical", "choices": READABLE},
            *({"name": each, "kind": "bool"} for each in NAMES[1:]),
        ],
        "tags": {f"tag{i}": text for i, text in enumerate(READABLE)},
    }
    made = client.post("/v1/studies", json=definition)
    assert made.status_code == 201, made.text
    assert made.json()["tags"] == definition["tags"]
    choices = [text if text in READABLE else READABLE[0] for text in TEXTS]
    for text, choice in zip(TEXTS, choices, strict=True):
        point = {name: choice, **dict.fromkeys(NAMES[1:], True)}
        queued = client.post("/v1/studies/s/trials", json={"parameters": point})
        assert queued.status_code == 201, queued.text
        (trial,) = client.post("/v1/studies/s/suggest", json={"worker": choice[:200]}).json()["trials"]
        assert (trial["parameters"], trial["worker"]) == (point, choice[:200])
        noted = client.patch(f"/v1/studies/s/trials/{trial['number']}", json={"attributes": {"note": text}})
        assert noted.status_code == 200
        found = client.get("/v1/studies/s/trials", params={"attribute": f"note:{text}"}).json()["items"]
        assert [each["number"] for each in found] == [trial["number"]]
        result = {"trial": trial["number"], "value": 1.0}
        client.post("/v1/studies/s/observe", json=result, headers={"Idempotency-Key": f"k{trial['number']}"})
        failed = client.post("/v1/studies/s/trials", json={"parameters": point}).json()["number"]
        client.post("/v1/studies/s/suggest")
        client.post("/v1/studies/s/observe", json={"trial": failed, "state": "failed", "reason": text})
        client.patch("/v1/studies/s", json={"state": "running"})
        assert client.get(f"/v1/studies/s/trials/{failed}").json()["reason"] == text
        answer = client.get(f"/v1/studies/{quote(text, safe='')}")
        assert (answer.status_code, "set-cookie" in answer.headers) == (404, False)
    tables(url)
    for path in ("/", "/studies/s", "/studies/s/results", "/studies/s/trials/1", "/new"):
        page = client.get(path, headers=BROWSER).text
        assert not [text for text in TEXTS if "<" in text and text in page], path
    read = csv.DictReader(io.StringIO(client.get("/v1/studies/s/export", params={"format": "csv"}).text, newline=""))
    cells = [row[f"parameters.{name}"] for row in read]
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r"]
    file = tmp_path / "results.csv"
    file.write_text(client.get("/v1/studies/s/export", params={"format": "csv"}).text, newline="")
    with Client(str(client.base_url)) as ours:
        copy = {**definition, "id": "copy"}
        client.post("/v1/studies", json=copy)
        report = ours.study("copy").import_results(str(file))
        assert report.stored == 2 * len(TEXTS), report  # a result and a failure with each
        assert [each.parameters[name] for each in ours.study("copy").observations()] == choices
        assert [trial.reason for trial in ours.study("copy").trials(state="failed")] == TEXTS


def tables(url: str) -> None:
    """Check that all tables exist, and that no statement came from a string."""
    database = Database(url)
    with database.reading() as connection:
        assert set(sa.inspect(connection).get_table_names()) >= set(metadata.tables)
        assert connection.execute(sa.text("SELECT COUNT(*) FROM studies")).scalar_one() == 1
    database.close()


def test_log_entry_is_one_line_for_any_request(
    attacked: tuple[httpx.Client, str], caplog: pytest.LogCaptureFixture
) -> None:
    client, _ = attacked
    with caplog.at_level(logging.INFO, logger="adabkb.access"):
        for text in TEXTS:
            client.get(f"/v1/studies/{quote(text, safe='')}")
            if text.isascii() and text.isprintable():
                client.get("/healthz", headers={"X-Request-ID": text, "User-Agent": text})
    records = [record for record in caplog.records if record.name == "adabkb.access"]
    assert len(records) > len(TEXTS)
    for line in (form.format(record) for record in records for form in (TextLines(), JsonLines())):
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line

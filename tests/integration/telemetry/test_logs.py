"""Log lines contain their time and request, and no tokens."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import pytest

from adabkb_service.access.secrets import mint
from adabkb_service.storage.database import Database
from adabkb_service.telemetry.logs import FACTS, JsonLines, TextLines
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on


@pytest.fixture(params=[JsonLines, TextLines])
def logged(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """Return the output of both loggers of the server, including requests."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    loggers = [logging.getLogger("adabkb.access"), logging.getLogger("adabkb_service")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    yield stream
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    """The facts of each line, in either format."""
    lines = stream.getvalue().splitlines()
    if lines[0].startswith("{"):
        return [json.loads(line) for line in lines]
    return [_parsed(line) for line in lines if not line.startswith("    ")]


def _parsed(line: str) -> dict[str, Any]:
    time, level, logger, rest = line.split(" ", 3)
    facts: dict[str, Any] = dict(re.findall(r"(\w+)=(\S+)", rest))
    if "trial" in facts:
        facts["trial"] = int(facts["trial"]) if facts["trial"].isdigit() else list(map(int, facts["trial"].split(",")))
    return {
        "time": time,
        "level": level,
        "logger": logger.rstrip(":"),
        "message": rest.split(" request_id=")[0],
        **facts,
    }


def test_request_log_lines_have_all_fields(other_sqlite: str, logged: io.StringIO) -> None:
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as client:
        client.post("/v1/studies", json=DEFINITION)
        body = {"name": "ann", "user": "ann", "scopes": ["admin"]}
        token = client.post("/v1/tokens", json=body).json()["token"]
        client.headers.update({"Authorization": f"Bearer {token}"})
        client.post("/v1/studies/s/suggest", json={"count": 2}, headers={"X-Request-ID": "one"})
        client.post("/v1/studies/s/observe", json={"trial": 2, "value": 1.0}, headers={"X-Request-ID": "two"})
        client.post("/v1/studies/s/observe", json={"trial": 9, "value": 1.0}, headers={"X-Request-ID": "three"})
        client.get(f"/v1/studies/s/trials/1?token={token}", headers={"X-Request-ID": "four"})
    by_id = {line["request_id"]: line for line in read(logged)}
    for request_id, trial, status in (("one", [1, 2], 200), ("two", 2, 200), ("three", 9, 404), ("four", 1, 422)):
        line = by_id[request_id]
        assert (line["user"], line["address"], line["study"], line["trial"]) == ("ann", "127.0.0.1", "s", trial)
        assert line["logger"] == "adabkb.access"
        assert f"{status} in " in line["message"]
        assert datetime.fromisoformat(line["time"]).tzinfo is not None
    assert token.rpartition("_")[2] not in logged.getvalue()


def test_error_on_another_thread_logs_its_request(other_sqlite: str, logged: io.StringIO) -> None:
    """The study's definition in the database is damaged."""
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as client:
        client.post("/v1/studies", json=DEFINITION)
        database = Database(other_sqlite)
        with database.writing() as connection:
            connection.exec_driver_sql("UPDATE studies SET definition = '{}'")
        database.close()
        assert client.post("/v1/studies/s/suggest", headers={"X-Request-ID": "bad"}).status_code == 500
    lines = [line for line in read(logged) if line["level"] == "ERROR"]
    assert [(line["request_id"], line["study"]) for line in lines] == [("bad", "s")]
    assert "ValidationError" in logged.getvalue()


@pytest.mark.parametrize("form", [JsonLines(), TextLines()])
def test_logged_text_cannot_forge_lines_or_reveal_secrets(form: logging.Formatter) -> None:
    token = mint().token
    before = FACTS.set({"user": f"x\r\n2026-01-01 INFO forged {token}"})
    try:
        record = logging.LogRecord("x", logging.INFO, "", 0, "%s\x1b[2J\u2028%s", (token, "a\nb"), None)
        line = form.format(record)
    finally:
        FACTS.reset(before)
    assert not re.search(r"[\x00-\x1f\u2028]", line)
    assert token.rpartition("_")[2] not in line
    assert token.rpartition("_")[0] in line, "the id stays, to find and revoke the token"

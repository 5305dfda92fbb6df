"""PostgreSQL on a full disk: writes that need new space are refused, while updates in free space of tables succeed."""

from __future__ import annotations

import asyncio
import logging

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.api import refusal_log
from adabkb_service.api.refusal_log import RefusalLog
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on, serving

FILL = """
CREATE FUNCTION refuse() RETURNS {kind} LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$"""


def fill(connection: sa.Connection) -> None:
    """Let PostgreSQL answer as on a full disk to new events and new tables."""
    connection.exec_driver_sql(FILL.format(kind="trigger"))
    connection.exec_driver_sql("CREATE TRIGGER refuse BEFORE INSERT ON events EXECUTE FUNCTION refuse()")
    connection.exec_driver_sql(FILL.format(kind="event_trigger").replace("refuse()", "refuse_tables()"))
    tables = "WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS')"
    connection.exec_driver_sql(
        f"CREATE EVENT TRIGGER refuse ON ddl_command_start {tables} EXECUTE FUNCTION refuse_tables()"
    )


def free(connection: sa.Connection) -> None:
    """Undo ``fill``."""
    connection.exec_driver_sql("DROP TRIGGER refuse ON events")
    connection.exec_driver_sql("DROP EVENT TRIGGER refuse")


def test_full_disk_is_reported_and_logged_until_there_is_space(
    other_postgresql: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Even if another write has succeeded since."""
    url = sa.make_url(other_postgresql).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with server_on(other_postgresql) as address, httpx.Client(base_url=address, timeout=60) as api:
        assert api.post("/v1/studies", json=DEFINITION).status_code == 201
        assert api.get("/readyz").status_code == 200
        with engine.connect() as connection:
            fill(connection)
        caplog.clear()
        for number in range(5):
            refused = api.post("/v1/studies/s/suggest", headers={"X-Request-ID": f"r{number}"})
            assert (refused.status_code, refused.json()["retryable"]) == (503, True)
        assert api.post("/v1/tokens", json={"name": "ann", "user": "ann", "scopes": ["read"]}).status_code == 201
        for _ in range(3):
            unready = api.get("/readyz")
            assert [fault["pointer"] for fault in unready.json()["errors"]] == ["/database"], unready.text
            assert "No space left" in unready.json()["detail"]
        with engine.connect() as connection:
            free(connection)
        assert api.get("/readyz").status_code == 200
        with engine.connect() as connection:
            assert not sa.inspect(connection).has_table("adabkb_space")
    engine.dispose()
    lines = [each for each in caplog.records if each.name == refusal_log.__name__]
    assert {each.levelno for each in lines} == {logging.WARNING}
    first, rest = (each.getMessage() for each in lines)
    assert first.startswith("POST /v1/studies/s/suggest was refused with a 503")
    assert "No space left on device" in first
    assert "4 more requests were refused with a 503 (4 x POST /v1/studies/s/suggest; id of the last: r4)" in rest
    assert "No space left on device" in rest


async def refuse_many(log: RefusalLog) -> None:
    for number in range(30):
        log.refused(f"GET /{number % 7}", f"r{number}", "no disk")
    while log.is_counting:
        await asyncio.sleep(0.01)
    log.refused("GET /last", "last", "no disk")


def test_an_outage_has_one_line_per_interval(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(refuse_many(RefusalLog(seconds_between=0.02)))
    assert [each.getMessage() for each in caplog.records] == [
        "GET /0 was refused with a 503: no disk",
        "29 more requests were refused with a 503 (5 x GET /1, 4 x GET /2, 4 x GET /3, 4 x GET /4, 4 x GET /5 and 2 "
        "other paths; id of the last: r29): no disk",
        "GET /last was refused with a 503: no disk",
    ]


def test_full_folder_for_temporary_files_is_named(other_sqlite: str) -> None:
    """Whatever a request keeps there, such as an export."""

    def write() -> None:
        with open("/dev/full", "wb") as file:
            file.write(b"text")

    app = create_app(Settings(database=other_sqlite, model_processes=0))
    app.add_api_route("/v1/export", write)
    with serving(app) as address:
        answer = httpx.get(f"{address}/v1/export")
    assert answer.status_code == 503
    assert "has no space left for temporary files (No space left on device)" in answer.json()["detail"]

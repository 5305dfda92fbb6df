"""What commands say if they cannot use PostgreSQL: the cause, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import httpx
import sqlalchemy as sa

from tests.integration.api.conftest import DEFINITION
from tests.integration.api.test_full_disk import fill, free
from tests.integration.cli.shell import adabkb
from tests.servers import server_on


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")


def test_missing_privilege_is_reported_with_the_role(other_postgresql: str, postgresql_server: sa.Engine) -> None:
    """For example, after a restore by another role, or in a schema in which the role may not create tables."""
    as_guest = sa.make_url(other_postgresql).set(username="guest").render_as_string(hide_password=False)
    with postgresql_server.connect() as admin:
        admin.exec_driver_sql("CREATE ROLE guest LOGIN")
        try:
            said = adabkb("data", "doctor", "--database", as_guest, code=1)
        finally:
            admin.exec_driver_sql("DROP ROLE guest")
    assert "permission denied for table alembic_version" in said
    assert "let guest own the database and its tables" in said


def test_missing_database_is_reported_with_the_command_that_creates_it(other_postgresql: str) -> None:
    missing = sa.make_url(other_postgresql).set(database="nope").render_as_string(hide_password=False)
    said = adabkb("data", "doctor", "--database", missing, code=1)
    assert 'database "nope" does not exist' in said
    assert "create it with createdb" in said


def test_full_disk_of_postgresql_fails_an_import_which_leaves_nothing(
    other_postgresql: str, other_sqlite: str, tmp_path: Path
) -> None:
    file, engine = tmp_path / "s.jsonl", engine_of(other_postgresql)
    with server_on(other_sqlite) as address, httpx.Client(base_url=address) as api:
        api.post("/v1/studies", json=DEFINITION)
        file.write_text(api.get("/v1/studies/s/export").text)
    command = ("data", "import", str(file), "--database", other_postgresql)
    with engine.connect() as connection:
        fill(connection)
        try:
            said = adabkb(*command, code=1)
        finally:
            free(connection)
        left = [connection.scalar(sa.text(f"SELECT count(*) FROM {table}")) for table in ("studies", "containers")]
    engine.dispose()
    assert "No space left on device" in said
    assert "free some space on its disk" in said
    assert left == [0, 0]
    assert "Study s is running" in adabkb(*command)

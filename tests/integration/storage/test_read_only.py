"""A database that is read-only for a while, as after a disk error or while PostgreSQL is a standby."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Unavailable
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.processes import without_privileges

IN_A_FOLDER = "import sys; from tests.integration.storage.test_read_only import *; check_folder(Path(sys.argv[1]))"


def check_recovery(url: str, allow_writes: Callable[[bool], None]) -> None:
    """Check that the database can be written again after it was read-only: connections that were opened in between
    stay read-only, so they must not be kept."""
    database = Database(url)
    migration.prepare(database)
    with database.reading():  # keeps the existing connection, which can write
        allow_writes(False)
        migration.require(database)
        with pytest.raises(Unavailable, match=r"read-?only"):
            migration.check_writing(database)
        assert "only" in (database.last_error or "")
        allow_writes(True)
        migration.check_writing(database)
    assert database.last_error is None
    database.close()


def check_folder(folder: Path) -> None:
    """Check a SQLite file whose permissions change."""
    check_recovery(f"sqlite:///{folder}/adabkb.db", lambda may: set_writable(folder, may))


def set_writable(folder: Path, writable: bool) -> None:
    """Allow or forbid writing and creating files."""
    for file in folder.iterdir():
        file.chmod(0o644 if writable else 0o444)
    folder.chmod(0o755 if writable else 0o555)


def test_sqlite_recovers_when_its_file_is_writable_again(tmp_path: Path) -> None:
    subprocess.run([*without_privileges(), sys.executable, "-c", IN_A_FOLDER, str(tmp_path)], check=True)


def test_postgresql_recovers_when_it_accepts_writes_again(other_postgresql: str, postgresql_server: sa.Engine) -> None:
    name = sa.make_url(other_postgresql).database

    def allow_writes(may: bool) -> None:
        with postgresql_server.connect() as admin:
            change = "RESET default_transaction_read_only" if may else "SET default_transaction_read_only = true"
            admin.exec_driver_sql(f"ALTER DATABASE {name} {change}")

    try:
        check_recovery(other_postgresql, allow_writes)
    finally:
        allow_writes(True)


def test_role_without_temporary_tables_checks_writing_too(other_postgresql: str, postgresql_server: sa.Engine) -> None:
    """As a role that owns no database, on one whose owner revoked the right from everybody."""
    url = sa.make_url(other_postgresql)
    inside = sa.create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with inside.connect() as connection, postgresql_server.connect() as admin:
        admin.exec_driver_sql(f"REVOKE TEMPORARY ON DATABASE {url.database} FROM PUBLIC")
        admin.exec_driver_sql("CREATE ROLE limited LOGIN")
        try:
            connection.exec_driver_sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO limited")
            database = Database(url.set(username="limited").render_as_string(hide_password=False))
            migration.check_writing(database)
            database.close()
        finally:
            connection.exec_driver_sql("DROP OWNED BY limited")
            admin.exec_driver_sql("DROP ROLE limited")
            admin.exec_driver_sql(f"GRANT TEMPORARY ON DATABASE {url.database} TO PUBLIC")
    inside.dispose()

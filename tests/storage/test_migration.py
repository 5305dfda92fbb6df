"""One tree of migrations, both databases, any number of servers starting at once."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from adabkb_service.errors import Contention, SchemaMismatch
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, horizons, migration, studies, trash
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from adabkb_service.study.logged import replayed
from tests.operations.busy import busy_study
from tests.operations.conftest import ManualClock
from tests.storage.rows import NOW


def revision_of(kept: Path) -> str:
    return kept.name.removesuffix(".db.gz")


KEPT = sorted((Path(__file__).parent / "kept").glob("*.db.gz"), key=revision_of)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Without any table."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def migrated(migrated_url: str) -> Iterator[Database]:
    opened = Database(migrated_url)
    yield opened
    opened.close()


def reflected(connection: sa.Connection) -> dict[str, object]:
    """The schema as the database itself describes it; columns by name, since one that returns comes last."""
    inspector = sa.inspect(connection)
    return {
        table: (
            sorted(({**column, "type": str(column["type"])} for column in inspector.get_columns(table)), key=_name),
            inspector.get_pk_constraint(table),
            sorted(inspector.get_foreign_keys(table), key=str),
            sorted(inspector.get_indexes(table), key=str),
            sorted(inspector.get_unique_constraints(table), key=str),
        )
        for table in sorted(inspector.get_table_names())
        if table != "alembic_version"
    }


def _name(column: dict[str, Any]) -> str:
    return str(column["name"])


def go_to(database: Database, revision: str) -> None:
    """Bring a database to the schema of some version, upwards or downwards."""
    config, script = migration.config(), ScriptDirectory.from_config(migration.config())
    with database.migrating() as connection:
        config.attributes["connection"] = connection
        past = {each.revision for each in script.iterate_revisions(migration.current(connection), "base")}
        (command.downgrade if revision in {*past, "base"} else command.upgrade)(config, revision)


def content(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Table -> its rows in order of their keys, whatever its schema."""
    found = sa.MetaData()
    with database.reading() as connection:
        found.reflect(connection)
        return {
            table.name: [
                dict(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in found.sorted_tables
            if table.name != "alembic_version"
        }


def put(database: Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write rows into a database that has the same schema as where they are from."""
    found = sa.MetaData()
    with database.writing() as connection:
        found.reflect(connection)
        for name, some in rows.items():
            for row in some:
                connection.execute(sa.insert(found.tables[name]), _as_stored(row))


def _as_stored(row: dict[str, Any]) -> dict[str, Any]:
    """The times of SQLite know no zone, and a JSON column that is left out is null for SQL."""
    return {
        name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
        for name, value in row.items()
        if value is not None
    }


def kept_rows(kept: Path, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What a kept database has, and its study a second time under another id, without what is below it."""
    path = folder / "kept.db"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    opened = Database(f"sqlite:///{path}")
    rows = content(opened)
    opened.close()
    (study,) = rows["studies"]
    without_results = {"progress": None} if "progress" in study else {}  # which a downgrade counts anew
    rows["studies"].append({**study, **without_results, "id": "twin"})
    if "containers" in rows:
        rows["containers"].append({"id": "twin"})
    return rows


def test_a_migrated_database_is_the_one_the_tables_describe(migrated: Database) -> None:
    with migrated.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_fresh_schema_and_a_migrated_one_are_the_same(migrated: Database) -> None:
    with migrated.writing() as connection:
        found = reflected(connection)
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert reflected(connection) == found


def test_downgrading_leaves_nothing_behind(migrated: Database) -> None:
    go_to(migrated, "base")
    engine = sa.create_engine(migrated.url)  # a ``Database`` refuses a SQLite file without our tables
    with engine.connect() as connection:
        assert reflected(connection) == {}
    engine.dispose()


@pytest.fixture(params=KEPT, ids=revision_of)
def kept(request: pytest.FixtureRequest) -> Path:
    """A database of each schema that ever landed."""
    path: Path = request.param
    return path


def test_the_code_needs_the_last_version_and_every_version_has_its_kept_database() -> None:
    script = ScriptDirectory.from_config(migration.config())
    assert script.get_current_head() == migration.HEAD
    assert [revision_of(path) for path in KEPT] == sorted(each.revision for each in script.walk_revisions())


def test_a_database_is_upgraded_and_downgraded_again(database: Database, kept: Path, tmp_path: Path) -> None:
    """What an upgraded study is, and that the downgraded one is as it was; in one, as the way there takes longest."""
    revision = revision_of(kept)
    go_to(database, revision)
    put(database, kept_rows(kept, tmp_path))
    before, schema = content(database), described(database)
    migration.upgrade(database)
    assert_rules_an_identity_and_the_checkpoint_apart(database, before["studies"], revision)
    assert_as_far_as_the_log_says(database)
    go_to(database, revision)
    assert described(database) == schema
    after = content(database)
    if revision == "0001":  # whose figures did not say yet that nothing was learned
        assert [row["model"].pop("learned") for row in after["studies"]] == [None, None]
    assert after == before


def assert_rules_an_identity_and_the_checkpoint_apart(
    database: Database, before: list[dict[str, Any]], revision: str
) -> None:
    """What an upgraded study has, whatever it had before."""
    with database.reading() as connection:
        upgraded = [studies.get(connection, old["id"]) for old in before]
        assert horizons.find(connection, "idempotency keys") is None
    for old, new in zip(before, upgraded, strict=True):
        figures = dict(old["model"])
        checkpoint = old["checkpoint"] if "checkpoint" in old else figures.pop("learned", None)
        assert (new.model, new.checkpoint) == (figures, checkpoint)
        assert new.engine_revision == old.get("engine_revision", 1)
        assert new.version == old.get("version", 0)
        assert len(new.incarnation) == 32
    if "incarnation" not in before[0]:
        assert len({new.incarnation for new in upgraded}) == len(upgraded)
    if revision == "0002":
        assert all(new.checkpoint for new in upgraded), "else this test would say nothing"


def assert_as_far_as_the_log_says(database: Database) -> None:
    """An upgraded study has gone as long without a better result as its events say."""
    with database.reading() as connection:
        (name,) = set(studies.ids(connection)) - {"twin"}
        study, log = studies.get(connection, name), events.page(connection, name, 0)
    told = replayed(name, log).study
    assert told.best is not None, "else this test would say nothing"
    assert study.results_since_best == told.results_since_best


def test_a_study_without_a_model_has_none_after_an_upgrade_and_a_downgrade(database: Database, tmp_path: Path) -> None:
    """Nothing has happened to it yet."""
    rows = kept_rows(next(path for path in KEPT if path.name.startswith("0002")), tmp_path)
    (study, _) = rows["studies"]
    go_to(database, "0002")
    put(database, {"studies": [{**study, "model": None}]})
    migration.upgrade(database)
    with database.reading() as connection:
        upgraded = studies.get(connection, "s")
    assert (upgraded.model, upgraded.checkpoint) == (None, None)
    go_to(database, "0002")
    assert [row["model"] for row in content(database)["studies"]] == [None]


def test_what_is_in_the_trash_stays_whole_in_an_upgrade_and_a_downgrade(database: Database) -> None:
    """Its content is one value up to schema 0012.1, and in parts from 0013 on."""
    contents = {"a": b"", "b": b"short", "c": bytes(range(256)) * 1000}
    go_to(database, "0012.1")
    row = {"owner": "ann", "rights": {"ann": "own"}, "results": 3, "deleted_by": "ann", "deleted_at": NOW}
    put(database, {"trash": [{**row, "study_id": name, "content": content} for name, content in contents.items()]})
    before = content(database)
    migration.upgrade(database)
    with database.reading() as connection:
        rows = trash.page(connection, 0, 10)
        found = {each.study_id: b"".join(trash.content(connection, each.container)) for each in rows}
    assert found == contents
    assert {each.study_id: each.bytes for each in rows} == {name: len(content) for name, content in contents.items()}
    go_to(database, "0012.1")
    assert content(database) == before


def test_a_downgrade_leaves_nothing_of_a_study_that_is_being_removed(with_children: Database) -> None:
    """Schema 0012.1 has no place for rows without a study."""
    with with_children.writing() as connection:
        (name,) = studies.ids(connection)
        studies.remove(connection, name, "w", NOW)
    go_to(with_children, "0012.1")
    assert not any(content(with_children).values())


def described(database: Database) -> dict[str, object]:
    """As ``reflected``."""
    with database.reading() as connection:
        return reflected(connection)


def test_servers_that_start_at_once_migrate_once(database_url: str) -> None:
    def start(_: int) -> None:
        database = Database(database_url)
        migration.prepare(database)
        database.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    database = Database(database_url)
    with database.reading() as connection:
        assert migration.standing(connection) == "current"
    database.close()


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("UPDATE alembic_version SET version_num = 'from_the_future'", "newer adabkb-service"),
        ("DELETE FROM alembic_version", "adabkb migrate"),
    ],
)
def test_a_database_of_another_version_is_refused_with_the_remedy(
    migrated: Database, statement: str, remedy: str
) -> None:
    migration.prepare(migrated)
    with migrated.writing() as connection:
        connection.exec_driver_sql(statement)
    with pytest.raises(SchemaMismatch, match=remedy):
        migration.prepare(migrated)


REBUILDS_STUDIES = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9999", "{head}"


def upgrade():
    with op.batch_alter_table("studies") as table:
        table.alter_column("tags", existing_type=sa.JSON(), nullable=True)
    {more}
"""


@pytest.fixture
def with_children(migrated: Database) -> Database:
    """With a study that has trials, results, reports, events, cells and a dictionary."""
    clock = ManualClock()
    busy_study(Service(migrated, clock=clock), clock)
    return migrated


def migrate_further(database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """To a schema after the present one, as a later version would."""
    scripts = Path(ScriptDirectory.from_config(migration.config()).dir)
    shutil.copytree(scripts, folder / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    program = REBUILDS_STUDIES.format(head=migration.HEAD, more=more)
    (folder / "migrations/versions/9999_rebuild.py").write_text(program)
    config = Config()
    config.set_main_option("script_location", str(folder / "migrations"))
    monkeypatch.setattr(migration, "config", lambda: config)
    migration.upgrade(database)


def test_a_migration_that_alters_studies_keeps_the_rows_below_them(
    with_children: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(with_children)
    assert all(before[table] for table in ("trials", "observations", "events", "cells", "dictionary"))
    migrate_further(with_children, tmp_path, monkeypatch)
    assert content(with_children) == before
    with with_children.reading() as connection:
        columns = {column["name"]: column for column in sa.inspect(connection).get_columns("studies")}
    assert columns["tags"]["nullable"]
    with with_children.writing() as connection:  # references are enforced again
        connection.exec_driver_sql("DELETE FROM studies")
        connection.exec_driver_sql("DELETE FROM containers")
    assert not any(content(with_children)[table] for table in ("trials", "observations", "events", "cells"))


def test_a_migration_that_breaks_a_reference_changes_nothing(
    with_children: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, schema = content(with_children), described(with_children)
    with pytest.raises((SchemaMismatch, Contention)):
        migrate_further(with_children, tmp_path, monkeypatch, "op.execute(\"UPDATE trials SET study_id = 'none'\")")
    assert (content(with_children), described(with_children)) == (before, schema)

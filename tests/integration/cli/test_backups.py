"""Backups, restores, and copies from SQLite to PostgreSQL and back."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner, Result

from adabkb_service.cli.main import app
from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage import grants
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import metadata
from tests.integration.api.conftest import DEFINITION
from tests.integration.storage.keep import KEPT, unpacked
from tests.integration.storage.newer import newer_version
from tests.samples import some
from tests.servers import ADABKB, server_on
from tests.waiting import TIMEOUT_SECONDS


def adabkb(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def filled(other_sqlite: str) -> str:
    """A database with a study that has six results and an active trial."""
    with server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        api.post("/v1/studies", json=DEFINITION)
        for _ in range(6):
            trial = api.post("/v1/studies/s/suggest").json()["trials"][0]
            api.post("/v1/studies/s/observe", json={"trial": trial["number"], "value": trial["parameters"]["x"] ** 2})
        api.post("/v1/studies/s/suggest", json={"worker": "w"})
    return other_sqlite


def rows(url: str) -> dict[str, list[sa.Row[tuple[object, ...]]]]:
    database = Database(url)
    with database.reading() as connection:
        tables = metadata.sorted_tables
        found = {
            table.name: list(connection.execute(sa.select(table).order_by(*table.primary_key))) for table in tables
        }
    database.close()
    return found


def next_point(url: str) -> object:
    with server_on(url) as address, httpx.Client(base_url=address, timeout=60) as api:
        api.post("/v1/studies/s/observe", json={"trial": 7, "value": 0.1})
        return api.post("/v1/studies/s/suggest").json()["trials"][0]["parameters"]


def test_a_copy_to_postgresql_and_back_is_the_same_database_and_replays_the_same(
    filled: str, empty_postgresql: str, tmp_path: Path
) -> None:
    back = f"sqlite:///{tmp_path}/back.db"
    for source, target in ((filled, empty_postgresql), (empty_postgresql, back)):
        copied = adabkb("data", "copy", source, target)
        assert (copied.exit_code, "1 study with" in copied.output) == (0, True), copied.output
        assert rows(target) == rows(source)
        replayed = adabkb("data", "replay", "s", "--database", target)
        assert (replayed.exit_code, "are bit-identical" in replayed.output) == (0, True), replayed.output
        assert adabkb("data", "doctor", "--database", target).exit_code == 0
    assert next_point(empty_postgresql) == next_point(back) == next_point(filled)


@pytest.fixture
def empty_postgresql(postgresql_server: sa.Engine) -> Iterator[str]:
    from tests.database_pool import address, created, drop

    name = created(postgresql_server)
    yield address(postgresql_server, name)
    drop(postgresql_server, name)


def test_a_copy_goes_into_an_empty_database_only_and_from_one_that_there_is(filled: str, tmp_path: Path) -> None:
    before = rows(filled)
    assert "is not empty: it has rows in studies" in adabkb("data", "copy", filled, filled).output
    absent = adabkb("data", "copy", f"sqlite:///{tmp_path}/absent.db", f"sqlite:///{tmp_path}/target.db")
    assert (absent.exit_code, "there is no database" in absent.output) == (1, True)
    assert rows(filled) == before


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_an_older_database_is_backed_up_as_it_is_so_that_one_can_go_back(tmp_path: Path) -> None:
    """The newer version asks for a backup before a migration, and the older version must be able to restore it."""
    path, saved = unpacked(KEPT[-1], tmp_path), tmp_path / "saved.db"
    as_it_was, url = dump(path), f"sqlite:///{path}"
    path.chmod(0o644)
    with newer_version(tmp_path):
        refused = adabkb("data", "doctor", "--database", url)
        assert (refused.exit_code, "Back the database up" in refused.output) == (1, True)
        done = adabkb("data", "backup", saved, "--database", url)
        assert (done.exit_code, "with its schema as it is" in done.output) == (0, True), done.output
        assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("saved.db*")} == {0o600}
        assert adabkb("data", "migrate", "--database", url).exit_code == 0
        assert adabkb("data", "doctor", "--database", url).exit_code == 0
    assert dump(path) != as_it_was
    assert dump(saved) == as_it_was
    assert "newer" in adabkb("data", "doctor", "--database", url).output
    back = f"sqlite:///{tmp_path}/back.db"
    assert adabkb("data", "restore", saved, "--database", back).exit_code == 0
    assert rows(back) == rows(f"sqlite:///{saved}")


@pytest.mark.long
def test_an_older_postgresql_is_not_backed_up_but_by_its_own_version(empty_postgresql: str, tmp_path: Path) -> None:
    assert adabkb("data", "migrate", "--database", empty_postgresql).exit_code == 0
    with newer_version(tmp_path):
        refused = adabkb("data", "backup", tmp_path / "saved.db", "--database", empty_postgresql)
    assert (refused.exit_code, "pg_dump" in refused.output) == (1, True)
    assert not list(tmp_path.glob("saved.db*"))


@pytest.mark.long
def test_a_folder_keeps_the_newest_backups_and_all_that_is_not_one(filled: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "adabkb-notes.db").touch()
    for _ in range(4):
        done = adabkb("data", "backup", folder, "--keep", "2", "--database", filled)
        assert done.exit_code == 0, done.output
        newest = Path(done.output.split(" holds ")[0])
    kept = sorted(path for path in folder.glob("*.db") if path.name != "adabkb-notes.db")
    assert (len(kept), kept[-1]) == (2, newest)
    assert sorted(folder.glob("*.sha256")) == [path.with_name(f"{path.name}.sha256") for path in kept]
    assert (folder / "adabkb-notes.db").exists()
    target = f"sqlite:///{tmp_path}/restored.db"
    assert adabkb("data", "restore", newest, "--database", target).exit_code == 0
    assert rows(target) == rows(filled)
    for command in (("nowhere", "--keep", "2"), ("nowhere/backup.db",)):
        missing = adabkb("data", "backup", tmp_path / command[0], *command[1:], "--database", filled)
        assert (missing.exit_code, f"mkdir -p {tmp_path}/nowhere" in missing.output) == (1, True)


@pytest.mark.parametrize(
    "name",
    some(["lab%20A.db", "what?.db", "ann%40lab.org/lab#1.db", "the café.db"], ["what?.db", "ann%40lab.org/lab#1.db"]),
)
def test_the_name_of_a_backup_is_a_file_not_a_url(filled: str, tmp_path: Path, name: str) -> None:
    """In a URL, ``%20`` would be a space, and ``?`` the end of the name."""
    saved, target = tmp_path / name, f"sqlite:///{tmp_path}/target.db"
    saved.parent.mkdir(exist_ok=True)
    there = {file for file in tmp_path.rglob("*") if file.is_file()}
    done = adabkb("data", "backup", saved, "--database", filled)
    assert (done.exit_code, "1 study with" in done.output) == (0, True), done.output
    new = {file for file in tmp_path.rglob("*") if file.is_file()} - there
    assert new == {saved, saved.with_name(f"{saved.name}.sha256")}
    restored = adabkb("data", "restore", saved, "--database", target)
    assert restored.exit_code == 0, restored.output
    assert rows(target) == rows(filled)


def test_an_import_names_a_full_folder_for_temporary_files(filled: str, tmp_path: Path) -> None:
    """The file itself can be read. The limit on the size of files stands in for a full disk."""
    file, size = tmp_path / "s.jsonl", 2**23
    cell = json.dumps({"type": "cell", "key": "0" * 1000, "status": "leaf"})
    file.write_text("\n".join([json.dumps({"type": "study", "format": 1}), *[cell] * (2 * size // len(cell))]))
    done = subprocess.run(
        [*ADABKB, "data", "import", str(file), "--database", filled],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    said = " ".join(done.stderr.split())
    assert (done.returncode, "folder for temporary files" in said, "set TMPDIR" in said) == (1, True, True), said
    assert "cannot read" not in said
    assert {each.name for each in tmp_path.iterdir() if each.name.startswith("adabkb-")} == set()


def test_an_import_names_the_encoding_of_a_file_and_passes_other_errors_on(filled: str, tmp_path: Path) -> None:
    """Only what is wrong in the file counts as an error in the file."""
    file, target = tmp_path / "s.jsonl", f"sqlite:///{tmp_path}/target.db"
    with server_on(filled) as address:
        exported = httpx.get(f"{address}/v1/studies/s/export").text
    file.write_bytes(exported.replace('"s"', '"s\u00e9"').encode("latin-1"))
    refused = adabkb("data", "import", file, "--database", target)
    said = " ".join(refused.output.split())
    assert (refused.exit_code, "cannot read" in said, "codec can't decode byte" in said) == (1, True, True), said

    def fail(*_: object) -> None:
        raise KeyError("a fault of the code")

    with closing(Database(target)) as database, pytest.raises(KeyError, match="a fault of the code"):
        import_study(database, exported.splitlines(), fail)


def test_a_study_from_a_backup_has_no_owner_and_the_import_says_so(filled: str, tmp_path: Path) -> None:
    """Without tokens, everybody sees it, and nothing is said."""
    file = tmp_path / "s.jsonl"
    with server_on(filled) as address:
        file.write_text(httpx.get(f"{address}/v1/studies/s/export").text)
    for name, command in (("open", "adabkb access give s USER"), ("empty", "")):
        target = f"sqlite:///{tmp_path}/{name}.db"
        if command:
            assert adabkb("data", "migrate", "--database", target).exit_code == 0
            assert adabkb("token", "create", "ann", "--database", target).exit_code == 0
        done = adabkb("data", "import", file, "--database", target)
        assert done.exit_code == 0
        assert ("no owner" in done.output, command in done.output) == (bool(command), True)


def test_an_import_may_give_the_study_to_a_user(filled: str, tmp_path: Path) -> None:
    """An unknown user is refused before anything is stored."""
    file, target = tmp_path / "s.jsonl", f"sqlite:///{tmp_path}/given.db"
    with server_on(filled) as address:
        file.write_text(httpx.get(f"{address}/v1/studies/s/export").text)
    assert adabkb("token", "create", "ann", "--database", target).exit_code == 0
    refused = adabkb("data", "import", file, "--owner", "anne", "--database", target)
    assert (refused.exit_code, "'anne', who has no token" in " ".join(refused.output.split())) == (1, True)
    done = adabkb("data", "import", file, "--owner", "ann", "--database", target)
    assert (done.exit_code, "It belongs to ann." in done.output) == (0, True)
    with closing(Database(target)) as database, database.reading() as connection:
        assert grants.of_study(connection, "s") == {"ann": "own"}
    assert "study given: s, to ann" in adabkb("data", "audit", "--database", target).output


def test_a_restore_says_that_revoked_tokens_are_valid_again(tmp_path: Path) -> None:
    """Without tokens, it says nothing of them."""
    source, target, empty = (f"sqlite:///{tmp_path}/{name}.db" for name in ("source", "target", "empty"))
    saved, without = tmp_path / "saved.db", tmp_path / "without.db"
    assert adabkb("data", "migrate", "--database", source).exit_code == 0
    assert adabkb("data", "backup", without, "--database", source).exit_code == 0
    made = json.loads(adabkb("token", "create", "ann", "--json", "--database", source).output)
    assert adabkb("data", "backup", saved, "--database", source).exit_code == 0
    assert adabkb("token", "revoke", made["id"], "--database", source).exit_code == 0
    said = " ".join(adabkb("data", "restore", saved, "--database", target).output.split())
    assert "those revoked since are valid again" in said
    assert "adabkb token revoke ID" in said
    (token,) = json.loads(adabkb("token", "list", "--json", "--database", target).output)
    assert token["revoked_at"] is None
    assert f"token revoked: {made['id']}" in adabkb("data", "audit", "--database", source).output
    assert "revoke" not in adabkb("data", "restore", without, "--database", empty).output


def test_an_incomplete_backup_is_refused_with_the_cause(filled: str, tmp_path: Path) -> None:
    """Damage is found with the checksum file and without it, and nothing is written."""
    saved, target = tmp_path / "saved.db", tmp_path / "target.db"
    assert adabkb("data", "backup", saved, "--database", filled).exit_code == 0
    whole, sealed = saved.read_bytes(), tmp_path / "saved.db.sha256"
    text = whole.rindex(b'"s"')
    page = len(whole) // 4096 // 2 * 4096
    faults = {
        "is truncated: it has": [whole[:-4096], whole[:50]],
        "is not a SQLite file": [b"", b"-- a dump of PostgreSQL\n" * 9],
        "does not have the checksum in saved.db.sha256": [whole[:text] + b'"t"' + whole[text + 3 :]],
        "is damaged (": [whole[:page] + bytes(4096) + whole[page + 4096 :]],
    }
    for cause, contents in faults.items():
        for content in contents:
            saved.write_bytes(content)
            if cause.startswith("is damaged"):
                sealed.unlink()
            refused = adabkb("data", "restore", saved, "--database", f"sqlite:///{target}")
            said = " ".join(refused.output.split())
            assert (refused.exit_code, cause in said) == (1, True), said
            assert "PostgreSQL" not in said
            assert not target.exists()
    saved.write_bytes(whole)
    done = adabkb("data", "restore", saved, "--database", f"sqlite:///{target}")
    said = " ".join(done.output.split())
    assert (done.exit_code, "warning: there is no saved.db.sha256, so only the structure" in said) == (0, True), said
    assert rows(f"sqlite:///{target}") == rows(filled)


@pytest.mark.long
def test_a_restore_says_what_keeps_a_database_without_studies_from_being_empty(filled: str, tmp_path: Path) -> None:
    saved, target = tmp_path / "saved.db", f"sqlite:///{tmp_path}/tokens.db"
    assert adabkb("data", "backup", saved, "--database", filled).exit_code == 0
    assert adabkb("token", "create", "ann", "--database", target).exit_code == 0
    before = dump(tmp_path / "tokens.db")
    refused = adabkb("data", "restore", saved, "--database", target)
    assert refused.exit_code == 1
    assert "is not empty: it has rows in tokens (1), audit (1)" in " ".join(refused.output.split())
    assert "Give a database that is empty" in " ".join(refused.output.split())
    assert dump(tmp_path / "tokens.db") == before

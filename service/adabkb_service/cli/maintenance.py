"""Commands that work on the database directly, whether or not servers run on it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from sqlalchemy import Connection

from adabkb_service.cli.database import DatabaseUrl, opened, reported, settings
from adabkb_service.cli.identifiers import STUDY
from adabkb_service.cli.output import AsJson, counted, fail, show
from adabkb_service.cli.tokens import administrator
from adabkb_service.errors import ProviderUnavailable
from adabkb_service.identity.config import ProviderConfig
from adabkb_service.identity.provider import Provider
from adabkb_service.operations.access import audit, sharing
from adabkb_service.operations.data.doctor import Finding, examine, measure
from adabkb_service.operations.data.importing import import_study, nothing
from adabkb_service.storage import backups, copying, grants, migration, tokens
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study.clock import utc_now

Export = Annotated[
    Path, typer.Argument(help="file written by adabkb study export; - for stdin", allow_dash=True, show_default=False)
]

REVOKED_SINCE = (
    "Tokens, links, sessions and shares are as of the backup: those revoked since are valid again. Before you start "
    "a server, revoke them again: adabkb token list, adabkb token revoke ID, adabkb session end USER. If you have the "
    "old database, adabkb data audit --database OLD lists what was revoked."
)
"""What a restored database with tokens needs."""


def migrate(database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Bring a database to this version's schema. Back it up first."""
    with opened(settings(database=database).database) as old:
        migration.upgrade(old)
    head = migration.HEAD
    show({"schema": head}, f"The schema is at {head}.", as_json=as_json)


def doctor(
    study: Annotated[str | None, typer.Argument(help="only this study", show_default=False), STUDY] = None,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check that the rows of a database agree with its logs.

    If the settings name an identity provider, the command checks its metadata, too. The exit code is 1 if there are
    problems.
    """
    chosen = settings(database=database)
    with opened(chosen.database, existing=True) as found:
        migration.require(found)
        findings = list(examine(found, study))
        extent = measure(found, study)
        if study is None and (config := chosen.provider) is not None:
            findings += _login(config)
    events = counted(extent.events, "event", "events")
    checked = _extent(extent.studies, extent.events) if study is None else f"study {study} with {events}"
    scope = f"Checked {checked} in {found.url.render_as_string()}."
    lines = [f"{finding.study or finding.subject}: {finding.what} ({finding.remedy})" for finding in findings]
    text = "\n".join([scope, *(lines or ["No problems found."])])
    show([asdict(finding) for finding in findings], text, as_json=as_json)
    if findings:
        raise typer.Exit(1)


def _login(config: ProviderConfig) -> list[Finding]:
    """Return the problems that prevent people from logging in."""
    try:
        asyncio.run(Provider(config).discover())
    except ProviderUnavailable as error:
        return [Finding(None, str(error), "until this is solved, only tokens work", "login")]
    return []


def _extent(studies: int, events: int) -> str:
    return f"{counted(studies, 'study', 'studies')} with {counted(events, 'event', 'events')}"


def backup(
    file: Annotated[
        Path,
        typer.Argument(
            help="file to create, or a folder in which to create a file named after the time", show_default=False
        ),
    ],
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="number of backups to keep in a folder; older ones are deleted", show_default=False),
    ] = None,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Copy a whole database into a SQLite file.

    The copy is consistent, and servers may keep running. Its checksum is written to FILE.sha256;
    adabkb data restore verifies it.
    """
    new = _new_backup(file, keep)
    part = new.with_name(f"{new.name}.part")
    part.unlink(missing_ok=True)
    with opened(settings(database=database).database, existing=True) as source:
        saved = _saved(source, part)
    with reported():
        backups.check(part)
    part.replace(new)
    backups.seal(new)
    if keep is not None:
        _rotate(file, keep)
    if saved.rows is None:
        what = f"the database with its schema as it is ({saved.schema}); this version's is {migration.HEAD}"
    else:
        what = _extent(saved.rows["studies"], saved.rows["events"])
        if saved.schema is not None:
            _warn_of_additions(saved.schema, f"{new}; to copy that data, too, use pg_dump")
    show(saved.rows or {"schema": saved.schema}, f"{new} holds {what}.", as_json=as_json)


def _new_backup(file: Path, keep: int | None) -> Path:
    """Return the file to create: ``file`` itself or, if it is a folder, a new file in it. End the command if the file
    exists already, or its folder does not."""
    if file.is_dir():
        return file / f"adabkb-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.db"
    if file.exists():
        fail(f"{file} exists already; give the name of a new file, or a folder")
    if keep is not None:
        fail(f"there is no folder {file}, which --keep needs; create it: mkdir -p {file}")
    if not file.parent.is_dir():
        fail(f"there is no folder {file.parent}; create it: mkdir -p {file.parent}")
    return file


class _Saved(NamedTuple):
    """The content of a new backup."""

    schema: str | None
    """The database's schema, if it is not this version's."""
    rows: dict[str, int] | None
    """The number of rows by table; None for a file with another schema, which was duplicated as it is."""


def _saved(source: Database, file: Path) -> _Saved:
    """Copy a database into a new SQLite file. End the command if its schema is older, and it is not SQLite."""
    with source.reading() as connection:
        status = migration.schema_status(connection)
        schema = migration.current(connection) if status in ("older", "extended") else None
    if status == "older" and not source.is_sqlite:
        fail(
            f"the database's schema ({schema}) is not this version's ({migration.HEAD}); back it up with "
            "pg_dump, or with the version of adabkb-service that made it"
        )
    backups.create(file)
    if schema is not None and source.is_sqlite:
        copying.duplicate(source, file)
        return _Saved(schema, None)
    with opened(file) as target:
        migration.require(source)
        migration.upgrade(target)
        return _Saved(schema, copying.copy(source, target))


def _rotate(folder: Path, keep: int) -> None:
    """Delete all but the latest backups in a folder."""
    for old in sorted(folder.glob("adabkb-????????T??????.??????Z.db"))[:-keep]:
        old.unlink()
        backups.checksum_of(old).unlink(missing_ok=True)


def restore(
    file: Annotated[Path, typer.Argument(help="file written by adabkb data backup", show_default=False)],
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Copy a backup into an empty database.

    The database is SQLite or PostgreSQL. A damaged backup is refused. Tokens, links, sessions and shares that were
    revoked since the backup are valid again: revoke them before you start a server.
    """
    if not file.is_file():
        fail(f"there is no file {file}; give one written by adabkb data backup")
    with reported():
        is_sealed = backups.check(file)
    if not is_sealed:
        name = backups.checksum_of(file).name
        text = f"there is no {name}, so only the structure of {file.name} was checked, not all of its data"
        typer.echo(f"warning: {text}", err=True)
    copied = _copied(file, settings(database=database).database, exactly=False)
    text = f"Restored {_extent(copied['studies'], copied['events'])}."
    show(copied, f"{text}\n{REVOKED_SINCE}" if copied.get("tokens") else text, as_json=as_json)


def copy(
    source: Annotated[str, typer.Argument(help="URL of the database to read", show_default=False)],
    target: Annotated[
        str, typer.Argument(help="URL of a database that is empty or does not exist yet", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Copy a whole database into an empty one.

    Each may be SQLite or PostgreSQL, and every study continues where it stopped. First stop the servers of the source:
    results that they store after the copy would be missing.

    adabkb data copy sqlite:///adabkb.db postgresql://adabkb@localhost/adabkb
    """
    copied = _copied(source, target)
    show(copied, f"Copied {_extent(copied['studies'], copied['events'])}.", as_json=as_json)


def _warn_of_additions(schema: str | None, where: str) -> None:
    text = f"a newer version has extended the schema ({schema}); data that only that version stores is not in {where}"
    typer.echo(f"warning: {text}", err=True)


def _copied(source_url: str | Path, target_url: str, *, exactly: bool = True) -> dict[str, int]:
    """Copy a database into an empty one, and return the number of copied rows by table. ``exactly`` is as for
    ``migration.require``."""
    with opened(source_url, existing=True) as source, opened(target_url) as target:
        migration.require(source, exactly=exactly)
        with source.reading() as connection:
            if migration.schema_status(connection) == "extended":
                _warn_of_additions(migration.current(connection), "the restored database")
        if found := copying.row_counts(target):
            fail(
                f"the database {target.url.database} is not empty: it has rows in {_described(found)}; a copy does not "
                "replace them. Give a database that is empty, or does not exist yet"
            )
        migration.upgrade(target)
        return copying.copy(source, target)


def _described(rows: dict[str, int]) -> str:
    """Return the number of rows by kind that users know (studies, tokens, trash, audit) or, without any, by table."""
    known: list[str] = [name for name in ("studies", "tokens", "trash", "audit") if name in rows]
    return ", ".join(f"{name} ({rows[name]})" for name in known or sorted(rows))


def import_(
    file: Export,
    owner: Annotated[
        str | None, typer.Option(metavar="USER", help="the owner of the study (default: none)", show_default=False)
    ] = None,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Import an exported study. It continues where it stopped."""
    with opened(settings(database=database).database) as target:
        migration.prepare(target)
        if owner is not None:
            with target.reading() as connection:
                sharing.check_owner(connection, owner)
        try:
            with closing(_lines(file)) as lines:
                study = import_study(target, lines, partial(_give, owner) if owner else nothing)
        except OSError as error:
            fail(
                f"cannot keep a copy of {file} in the folder for temporary files: {error}; free some space there, or "
                "set TMPDIR to another folder"
            )
        with target.reading() as connection:
            has_users = tokens.any_exist(connection)
    counts = study.counts
    line = f"Study {study.id} is {study.state}, with {counts.trials} trials and {counts.observations} observations."
    if owner is not None:
        line += f"\nIt belongs to {owner}."
    elif has_users:
        line += f"\nIt has no owner, so only administrators see it. To change that: adabkb access give {study.id} USER"
    show(study.model_dump(mode="json"), line, as_json=as_json)


def _lines(file: Path) -> Generator[str]:
    """Yield the lines of a file, or of standard input if it is -. If it cannot be read, end the command."""
    try:
        with sys.stdin if str(file) == "-" else file.open(encoding="utf-8") as lines:
            yield from lines
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read {file}: {error}; give a file written by adabkb study export, or - for standard input")


def _give(owner: str, connection: Connection, study: StudyRow) -> None:
    """Give an imported study to a user, in the transaction of the import."""
    grants.replace(connection, study.id, {owner: "own"})
    audit.note(connection, administrator(), utc_now(), "study given", study.id, owner=owner)

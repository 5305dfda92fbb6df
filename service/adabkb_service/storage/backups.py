"""Backup files: readable only by their owner, with a checksum file to detect damage.

The checksum has the format of ``sha256sum``. It does not detect changes by an attacker who can write both files.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

HEADER = b"SQLite format 3\0"
PAGE_SIZE = slice(16, 18)
PAGE_COUNT = slice(28, 32)
"""Where a file's header holds the size of a page (``PAGE_SIZE``) and the number of pages, in bytes from its start."""
HEADER_BYTES = 100


class Damaged(ValueError):
    """A backup is damaged, or differs from its source."""


def create(file: Path) -> None:
    """Create an empty file that only its owner can read and write.

    Raises:
        OSError: the file exists, or cannot be created.
    """
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def checksum_of(file: Path) -> Path:
    """The path of a backup's checksum file."""
    return file.with_name(f"{file.name}.sha256")


def seal(file: Path) -> None:
    """Write the checksum file of a backup."""
    sealed = checksum_of(file)
    sealed.unlink(missing_ok=True)
    create(sealed)
    sealed.write_text(f"{_digest(file)}  {file.name}\n")


def check(file: Path) -> bool:
    """Check that a SQLite file is intact, and that it matches its checksum file if there is one. Return whether there
    is one; without it, damage inside of values is not detected.

    Raises:
        Damaged: a check failed; the message names the cause and the remedy.
    """
    remedy = "use another backup, or copy it again from its source"
    size = file.stat().st_size
    with file.open("rb") as opened:
        header = opened.read(HEADER_BYTES)
    if not header.startswith(HEADER[: len(header)]) or not header:
        raise Damaged(f"{file} is not a SQLite file; give one that adabkb data backup wrote")
    page = int.from_bytes(header[PAGE_SIZE]) if len(header) == HEADER_BYTES else 0
    expected = (65536 if page == 1 else page) * int.from_bytes(header[PAGE_COUNT])
    if size < max(expected, HEADER_BYTES):
        whole = f" of {expected:,}" if expected else ""
        raise Damaged(f"{file} is truncated: it has {size:,}{whole} bytes; {remedy}")
    sealed = checksum_of(file)
    if sealed.exists() and sealed.read_text().split()[:1] != [_digest(file)]:
        raise Damaged(f"{file} does not have the checksum in {sealed.name}, so it was changed or damaged; {remedy}")
    if damage := _damage(file):
        raise Damaged(f"{file} is damaged ({damage}); {remedy}")
    return sealed.exists()


def _damage(file: Path) -> str:
    """The first error that SQLite finds in the structure of a file; empty if it finds none."""
    # Without immutable, SQLite would create a write-ahead log beside the file, and leave it there.
    is_complete = not file.with_name(f"{file.name}-wal").exists()
    options = "mode=ro&immutable=1" if is_complete else "mode=ro"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?{options}", uri=True)) as connection:
            found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else " ".join(found.split())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

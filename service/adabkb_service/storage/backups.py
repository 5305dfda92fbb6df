"""The file of a backup: only its owner can read it, and a checksum beside it tells whether it is still what it was.

The checksum has the form of ``sha256sum``. It finds damage, not a change by somebody who writes both files.
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
HEADER_BYTES = 100


class Damaged(ValueError):
    """A backup is not what it was when it was made."""


def create(file: Path) -> None:
    """Create an empty file that only its owner can read and write.

    Raises:
        OSError: it exists, or cannot be created.
    """
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def checksum_of(file: Path) -> Path:
    """The file that has the checksum of a backup."""
    return file.with_name(f"{file.name}.sha256")


def seal(file: Path) -> None:
    """Write the checksum of a backup beside it."""
    sealed = checksum_of(file)
    sealed.unlink(missing_ok=True)
    create(sealed)
    sealed.write_text(f"{_digest(file)}  {file.name}\n")


def check(file: Path) -> None:
    """Check that a SQLite file is whole, and that it has its checksum if there is one beside it.

    Raises:
        Damaged: it is not; the message names the cause and the remedy.
    """
    remedy = "give another backup, or copy it again from where it was made"
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
        raise Damaged(f"{file} does not have the checksum in {sealed.name}, so it was changed since; {remedy}")
    if fault := _fault(file):
        raise Damaged(f"{file} is damaged ({fault}); {remedy}")


def _fault(file: Path) -> str:
    """What SQLite finds wrong with the structure of a file; empty if nothing."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else " ".join(found.split())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

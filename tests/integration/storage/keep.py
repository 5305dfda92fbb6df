"""``python -m tests.integration.storage.keep``: store a database with the present schema for tests of later
versions."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from threadpoolctl import threadpool_limits

from adabkb_service.inference.inprocess import InProcess
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.integration.operations.busy import busy_study
from tests.integration.operations.conftest import ManualClock

FOLDER = Path(__file__).parent / "kept"


def revision_of(kept: Path) -> str:
    """The schema of a kept database."""
    return kept.name.removesuffix(".db.gz")


def place_of(revision: str) -> list[int]:
    """The place of a schema in the order of schemas: 0001.10 follows 0001.2, and 0002 both."""
    return [int(part) for part in revision.split(".")]


KEPT = sorted(FOLDER.glob("*.db.gz"), key=lambda kept: place_of(revision_of(kept)))
"""A SQLite database of each released schema and the present one, with the study of ``busy_study``."""


def unpacked(kept: Path, folder: Path) -> Path:
    """Unpack a copy of a kept database."""
    path = folder / f"{revision_of(kept)}.db"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    return path


if __name__ == "__main__":
    # By default, models are stored every 50 events, which this study does not reach.
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path, clock = Path(folder) / "kept.db", ManualClock()
        database = Database(f"sqlite:///{path}")
        migration.upgrade(database)
        busy_study(Service(database, clock=clock, inference=InProcess(database, save_events=15)), clock)
        database.close()
        (FOLDER / f"{migration.HEAD}.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))

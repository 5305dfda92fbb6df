"""``python -m tests.integration.storage.keep``: a database of the present schema, kept for tests of later ones."""

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
KEPT = sorted(FOLDER.glob("*.db.gz"))
"""A SQLite database of each schema that was released, or is to be, with the study of ``busy_study``."""


def revision_of(kept: Path) -> str:
    """The schema of a kept database."""
    return kept.name.removesuffix(".db.gz")


def unpacked(kept: Path, folder: Path) -> Path:
    """A copy of a kept database, to be opened."""
    path = folder / f"{revision_of(kept)}.db"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    return path


if __name__ == "__main__":
    # Models are stored some events behind the log: 50 of them, unless told otherwise, which this study never reaches.
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path, clock = Path(folder) / "kept.db", ManualClock()
        database = Database(f"sqlite:///{path}")
        migration.upgrade(database)
        busy_study(Service(database, clock=clock, inference=InProcess(database, save_events=15)), clock)
        database.close()
        (FOLDER / f"{migration.HEAD}.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))

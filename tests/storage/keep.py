"""``python -m tests.storage.keep``: a database of the present schema, kept for the tests of all later ones."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from threadpoolctl import threadpool_limits

from adabkb_service.operations.service import service
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.operations.busy import busy_study
from tests.operations.conftest import ManualClock

KEPT = Path(__file__).parent / "kept"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path, clock = Path(folder) / "kept.db", ManualClock()
        database = Database(f"sqlite:///{path}")
        migration.upgrade(database)
        busy_study(service(database, clock=clock), clock)
        database.close()
        (KEPT / f"{migration.head()}.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))

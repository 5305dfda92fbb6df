"""``adabkb serve`` that replaces an unresponsive model process after seconds, not minutes."""

from __future__ import annotations

from functools import partial

from adabkb_service import app
from adabkb_service.cli import main
from adabkb_service.inference.pool import WorkerPool

SILENT_SECONDS = 8.0

if __name__ == "__main__":
    vars(app)["WorkerPool"] = partial(WorkerPool, silent_seconds=SILENT_SECONDS)
    main()

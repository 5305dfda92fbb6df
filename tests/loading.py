"""A started server that loads the engine for as long as a test needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import server_process

SLOW_START = """
import pathlib, sys, time
if "multiprocessing.forkserver" in " ".join(sys.orig_argv):
    while not pathlib.Path({may_start!r}).exists():
        time.sleep(0.05)
"""


@contextmanager
def loading_server(database: str, folder: Path, may_start: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a server whose fork server waits for a file, like a slow start. The file is created at the
    end, so that no process waits forever."""
    (folder / "sitecustomize.py").write_text(SLOW_START.format(may_start=str(may_start)))
    monkeypatch.setenv("ADABKB_FOLLOW_SECONDS", "0.25")  # as in production, pages do not wait for the model
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    try:
        with server_process(database, model_processes=1) as server:
            yield server.address
    finally:
        may_start.touch()

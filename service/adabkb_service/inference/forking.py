"""The process that model processes are forked from. It has imported the engine, so a fork is ready in milliseconds.

The server starts it before its own imports. Both take about a second, at the same time.
"""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from typing import Any

PRELOADED = ["adabkb_service.inference.preloaded"]
"""The modules that this process imports."""

# Not fork: it would copy locks that other threads hold. Where there is no fork server, a process starts from nothing,
# in about a second.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PROCESSES: Any = multiprocessing.get_context(_METHOD)
"""The module ``multiprocessing``, with the method by which model processes start."""
PROCESSES.set_forkserver_preload(PRELOADED)


def begin() -> None:
    """Start the process unless it runs. If the system refuses it now, the first model process starts it."""
    if _METHOD == "forkserver":
        from multiprocessing import forkserver  # noqa: PLC0415 (not on Windows)

        with suppress(OSError):
            forkserver.ensure_running()

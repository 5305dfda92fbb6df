"""The fork server of model processes. It has imported the engine, so a fork is ready in milliseconds.

The server starts it before its own imports, so that both import in parallel, for about a second.
"""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from typing import Any

PRELOADED = ["adabkb_service.inference.preloaded"]
"""The modules that the fork server imports."""

# Not fork, which would copy locks held by other threads. Without a fork server, a process starts from scratch in about
# a second.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PROCESSES: Any = multiprocessing.get_context(_METHOD)
"""The ``multiprocessing`` context of model processes."""
PROCESSES.set_forkserver_preload(PRELOADED)


def begin() -> None:
    """Start the fork server unless it runs. If the system refuses, the first model process starts it."""
    if _METHOD == "forkserver":
        from multiprocessing import forkserver  # noqa: PLC0415 (not on Windows)

        with suppress(OSError):
            forkserver.ensure_running()

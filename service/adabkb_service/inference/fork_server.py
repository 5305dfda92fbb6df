"""The fork server of model processes. It imports the engine once, so that each fork is ready within milliseconds.

The HTTP server starts it before its own imports, so that the two processes import at the same time. The imports take
about a second.
"""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from typing import Any

PRELOADED = ["adabkb_service.inference.preloaded"]
"""The modules that the fork server imports."""

# "fork" would copy locks that other threads hold. "spawn" starts a process from scratch, which takes about a second.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PROCESSES: Any = multiprocessing.get_context(_METHOD)
"""The ``multiprocessing`` context of model processes."""
if _METHOD == "forkserver":
    PROCESSES.set_forkserver_preload(PRELOADED)


def begin() -> None:
    """Start the fork server unless it runs. If the operating system refuses, the start of the first model process tries
    again."""
    if _METHOD == "forkserver":
        from multiprocessing import forkserver  # noqa: PLC0415 (not on Windows)

        with suppress(OSError):
            forkserver.ensure_running()

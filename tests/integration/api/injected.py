"""Raise errors at calls of this project's functions, in a server within this process."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import adabkb_service

PACKAGE = str(Path(adabkb_service.__file__).parent)
TRUSTED = (f"{PACKAGE}/study/scheduler.py", f"{PACKAGE}/api/connections.py")
"""The first moves names between queues, and calls nothing that could fail; neither does the release of a lock. The
second is called by the event loop, which closes a connection whose call fails, as attack/test_connections shows."""
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""An error injected into a resumed call would skip its ``except`` and ``finally``, which real errors do not."""
AT_WORK = ("studies", "event loop")
"""Prefixes of the names of the threads that receive, perform and answer requests."""


class InjectedFault:
    """Raises an error at one call in these threads, given by its number since ``arm``."""

    def __init__(self, error: type[Exception]) -> None:
        self.at = 0
        """The number of the call; 0 once the error was raised."""
        self.where = ""
        """Module and function of the call."""
        self.threads: set[str] = set()
        """The names in AT_WORK of the threads in which a call has failed."""
        self._error, self._count = error, 0

    def arm(self, at: int) -> None:
        """Raise the error at the call of this number from now on."""
        self.at, self._count, self.where = at, 0, ""

    def trace(self, frame: FrameType, _: str, __: Any) -> None:
        """As ``threading.settrace`` calls it in each new thread, with each call of a function."""
        code = frame.f_code
        if not self.at or not code.co_filename.startswith(PACKAGE) or code.co_filename in TRUSTED:
            return
        if code.co_flags & RESUMED or code.co_name == "__exit__":
            return
        name = threading.current_thread().name
        if not name.startswith(AT_WORK):
            return
        self._count += 1
        if self._count == self.at:
            self.at, self.where = 0, f"{Path(code.co_filename).stem}.{code.co_name}"
            self.threads |= {work for work in AT_WORK if name.startswith(work)}
            raise self._error("injected")

    def trace_again(self, *_: object) -> None:
        """As ``threading.setprofile`` calls it. A thread whose trace function has raised is no longer traced."""
        if sys.gettrace() is None:
            sys.settrace(self.trace)


@contextmanager
def injecting(error: type[Exception]) -> Iterator[InjectedFault]:
    """Inject errors into threads that start within the block."""
    made, before = InjectedFault(error), (threading.gettrace(), threading.getprofile())
    threading.settrace(made.trace)
    threading.setprofile(made.trace_again)
    try:
        yield made
    finally:
        threading.settrace(before[0])
        threading.setprofile(before[1])

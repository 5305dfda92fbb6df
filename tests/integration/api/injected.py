"""Errors that are raised at a call of a function of ours, in a server within this process."""

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
"""The first moves names between queues, and calls nothing that could fail. Neither does what releases a lock. Calls of
the second are those of the event loop to a connection: it ends one that fails, as attack/test_connections shows."""
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""A call that is resumed and fails so ends without its ``except`` and ``finally``, as nothing real does."""
AT_WORK = ("studies", "event loop")
"""How the names of the threads begin that take, perform and answer requests."""


class Fault:
    """Raises an error at one call of the threads that take, perform and answer requests, by its number since the fault
    was armed."""

    def __init__(self, error: type[Exception]) -> None:
        self.at = 0
        """Of the call; 0 once the error was raised."""
        self.where = ""
        """Module and function of the call."""
        self.threads: set[str] = set()
        """Of AT_WORK, those of whose calls one has failed."""
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
def injecting(error: type[Exception]) -> Iterator[Fault]:
    """A fault, active in threads that start within the block."""
    made, before = Fault(error), (threading.gettrace(), threading.getprofile())
    threading.settrace(made.trace)
    threading.setprofile(made.trace_again)
    try:
        yield made
    finally:
        threading.settrace(before[0])
        threading.setprofile(before[1])

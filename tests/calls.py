"""Observe calls of functions with a Python profiler, without replacing anything."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import unwrap
from types import FrameType
from typing import Any

from tests.waiting import TIMEOUT_SECONDS

Seen = Callable[[FrameType, str], None]
"""Called with the frame of a call, and ``call`` or ``return``. The observed function waits for it. If it raises, so
does the function, and this thread is no longer observed."""


@contextmanager
def watching(functions: Mapping[Callable[..., Any], Seen]) -> Iterator[None]:
    """Observe the calls of some functions within the block, in this thread and in threads started meanwhile."""
    seen = {unwrap(function).__code__: see for function, see in functions.items()}
    before = sys.getprofile()

    def profile(frame: FrameType, event: str, _: object) -> None:
        see = seen.get(frame.f_code)
        if see is not None and event in ("call", "return"):
            see(frame, event)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


class Gate:
    """Blocks an observed function until the test continues it."""

    def __init__(self) -> None:
        self.begun, self.may_continue = threading.Event(), threading.Event()

    def __call__(self, _: FrameType, event: str) -> None:
        if event == "call":
            self.begun.set()
            assert self.may_continue.wait(TIMEOUT_SECONDS)

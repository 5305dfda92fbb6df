"""Calls of functions of ours, seen as a profiler of Python sees them: nothing is replaced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

Seen = Callable[[FrameType, str], None]
"""Given the frame of a call, and ``call`` or ``return``; it may wait, or raise what the function then raises."""


@contextmanager
def watching(function: Callable[..., Any], see: Seen) -> Iterator[None]:
    """See the calls of a function within the block, in this thread and in those that start meanwhile."""
    assert isinstance(function, FunctionType)
    code, before = function.__code__, sys.getprofile()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if frame.f_code is code and event in ("call", "return"):
            see(frame, event)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)

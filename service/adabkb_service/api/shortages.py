"""Errors that say that the machine is short of something, which may be there again soon."""

from __future__ import annotations

import errno

NO_THREAD = "can't start new thread"
"""What Python's ``RuntimeError`` says where the system refuses a thread."""
CODES = {errno.EAGAIN, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ENOSPC}


def missing(error: Exception) -> str | None:
    """What the machine has not got; None if the error is of another kind."""
    if isinstance(error, MemoryError):
        return "no memory left"
    if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
        return "no thread left"
    if isinstance(error, OSError) and error.errno in CODES:
        return f"not enough resources ({error.strerror})"
    return None

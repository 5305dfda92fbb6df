"""The state of a process by its id, and commands without privileges."""

from __future__ import annotations

import os
from pathlib import Path


def without_privileges() -> tuple[str, ...]:
    """The prefix of a command to which file permissions apply even if root runs the tests."""
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


def is_alive(pid: int | str) -> bool:
    """Whether a process is running, not a zombie."""
    return state(pid) not in ("", "Z")


def is_stopped(pid: int | str) -> bool:
    """Whether a process has been stopped by SIGSTOP."""
    return state(pid) == "T"


def state(pid: int | str) -> str:
    """Linux's letter for the state of a process; empty if it does not exist."""
    try:
        stat = Path(f"/proc/{int(pid)}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]

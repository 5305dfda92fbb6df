"""What has become of a process, by its number, and what one may do."""

from __future__ import annotations

import os
from pathlib import Path


def without_privileges() -> tuple[str, ...]:
    """Comes before a command so that permissions of files hold for it, also if root runs the tests."""
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


def is_alive(pid: int | str) -> bool:
    """Whether a process is there, and not merely waits to be buried."""
    return state(pid) not in ("", "Z")


def is_stopped(pid: int | str) -> bool:
    """Whether a process has been stopped by SIGSTOP."""
    return state(pid) == "T"


def state(pid: int | str) -> str:
    """The letter by which Linux tells the state of a process; empty if there is none."""
    try:
        stat = Path(f"/proc/{int(pid)}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]

"""What has become of a process, by its number."""

from __future__ import annotations

from pathlib import Path


def is_alive(pid: int | str) -> bool:
    """Whether a process is there, and not merely waits to be buried."""
    try:
        stat = Path(f"/proc/{int(pid)}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"

"""Calls that the system refuses to a process: forks, pipes, threads, folders and sockets. Linux only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_for

SOURCE = Path(__file__).with_suffix(".c")


class Refusals:
    """What is refused to the processes that ``program`` starts, and to their children.

    Args:
        folder: for what this writes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._library = folder, folder / "refusals.so"
        command = [
            sys.executable,
            "-m",
            "ziglang",
            "cc",
            "-shared",
            "-fPIC",
            "-O1",
            str(SOURCE),
            "-o",
            str(self._library),
        ]
        subprocess.run(command, check=True)

    def program(self, *command: str) -> tuple[str, ...]:
        """A command whose calls can be refused."""
        return ("env", f"LD_PRELOAD={self._library}", f"REFUSALS={self._folder}", *command)

    @contextmanager
    def of(self, call: str, code: int) -> Iterator[None]:
        """Refuse a call, such as ``fork``, with an error, such as ``errno.ENOMEM``, until the end of the block."""
        (self._folder / f"{call}.refused").unlink(missing_ok=True)
        new = self._folder / f"{call}.new"
        new.write_text(str(code))
        new.replace(self._folder / call)
        try:
            yield
        finally:
            self.end(call)

    def end(self, call: str) -> None:
        """Refuse it no more."""
        (self._folder / call).unlink(missing_ok=True)

    def wait_for(self, call: str, times: int = 1) -> None:
        """Until it was refused so often in this block."""
        wait_for(lambda: self.count(call) >= times)

    def count(self, call: str) -> int:
        """How often it was refused in this block, or in the last one."""
        refused = self._folder / f"{call}.refused"
        return refused.stat().st_size if refused.exists() else 0

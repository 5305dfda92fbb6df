"""Make system calls of a process fail: forks, pipes, threads, folders and sockets. Linux only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_for

SOURCE = Path(__file__).with_suffix(".c")


class Refusals:
    """Makes system calls fail in the processes that ``program`` starts, and in their children.

    Args:
        folder: the folder for its files.
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
        """A command whose system calls can fail."""
        return ("env", f"LD_PRELOAD={self._library}", f"REFUSALS={self._folder}", *command)

    @contextmanager
    def of(self, call: str, code: int) -> Iterator[None]:
        """Make a call, such as ``fork``, fail with an error, such as ``errno.ENOMEM``, within the block."""
        (self._folder / f"{call}.refused").unlink(missing_ok=True)
        new = self._folder / f"{call}.new"
        new.write_text(str(code))
        new.replace(self._folder / call)
        try:
            yield
        finally:
            self.end(call)

    def end(self, call: str) -> None:
        """Stop the failures."""
        (self._folder / call).unlink(missing_ok=True)

    def wait_for(self, call: str, times: int = 1) -> None:
        """Wait for this number of failures in the block."""
        wait_for(lambda: self.count(call) >= times)

    def count(self, call: str) -> int:
        """The number of failures in this block or the last one."""
        refused = self._folder / f"{call}.refused"
        return refused.stat().st_size if refused.exists() else 0

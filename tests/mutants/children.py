"""Runs tasks in forked processes, several at a time, each with a time limit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.005
CRASHED, LATE = "crashed", "late"
"""The answers of a process that ended without one, and of one that took too long."""

Work = Callable[[Path], Any]
"""Called with an empty folder; returns a JSON value."""


@dataclass(frozen=True, slots=True)
class _Child:
    number: int
    folder: Path
    until: float
    label: Any


def answers(tasks: Iterator[tuple[Any, float, Work]], at_once: int) -> Iterator[tuple[Any, Any]]:
    """Perform each task in a separate process, and yield its label and its answer, in order of completion.

    Args:
        tasks: label, time limit in seconds, and work of each task.
        at_once: the number of processes.
    """
    running: list[_Child] = []
    try:
        while True:
            while len(running) < at_once and (task := next(tasks, None)) is not None:
                running.append(_started(*task))
            if not running:
                return
            time.sleep(POLL_SECONDS)
            for child in list(running):
                has_ended = os.waitpid(child.number, os.WNOHANG)[0] != 0
                if has_ended or time.monotonic() > child.until:
                    running.remove(child)
                    yield child.label, _answer(child, has_ended=has_ended)
    finally:
        for child in running:
            _answer(child, has_ended=False)


def _started(label: Any, seconds: float, work: Work) -> _Child:
    folder = Path(tempfile.mkdtemp(prefix="adabkb-mutant-"))
    number = os.fork()
    if number:
        with suppress(ProcessLookupError):  # it has ended already
            os.setpgid(number, number)  # here too, since it may be killed before it has done so itself
        return _Child(number, folder, time.monotonic() + seconds, label)
    try:
        os.setpgid(0, 0)
        (folder / "answer").write_text(json.dumps(work(folder)))
    except BaseException:
        (folder / "error").write_text(traceback.format_exc())
    finally:
        os._exit(0)


def _answer(child: _Child, *, has_ended: bool) -> Any:
    """Return the answer of a process, and kill it with all of its children."""
    with suppress(ProcessLookupError):
        os.killpg(child.number, signal.SIGKILL)
    if not has_ended:
        os.waitpid(child.number, 0)
    try:
        return json.loads((child.folder / "answer").read_text())
    except (FileNotFoundError, ValueError):
        return CRASHED if has_ended else LATE
    finally:
        shutil.rmtree(child.folder, ignore_errors=True)

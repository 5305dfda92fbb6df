"""Reads a program's file of intermediate values while the program writes it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adabkb_client import AdaBKBError, LeasedTrial
from adabkb_service.cli import program
from adabkb_service.cli.processes import ProcessGroup

log = logging.getLogger("adabkb.run")

LOOK_EVERY = 0.2
"""Seconds between two reads of the file."""


class ReportReader:
    """Sends reports to the server, and ends the program when its trial is stopped.

    Args:
        trial: the trial that the program evaluates.
        file: the file to which the program appends a line for each report.
        group: the program's processes.
        grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, trial: LeasedTrial, file: Path, group: ProcessGroup, grace: float) -> None:
        self._trial = trial
        self._file = file
        self._group = group
        self._grace = grace
        self._read = 0
        self._over = threading.Event()
        self._is_refused = False
        """Whether the server has refused a report; if so, no more are sent."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Follow the file inside the block, and read the rest of it at the end."""
        thread = threading.Thread(target=self._follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _follow(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            if self._report_new_lines():
                self._end_program()
                return
        self._report_new_lines()

    def _report_new_lines(self) -> bool:
        """Report the new lines of the file, and return whether the trial is stopped."""
        try:
            with self._file.open("rb") as stream:
                stream.seek(self._read)
                new = stream.read()
        except OSError:  # nothing is written yet
            return False
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            if self._is_refused:
                return False
            try:
                found = program.report(line)
                if found is not None and self._trial.report(
                    found.step, found.value, cost=found.cost, parameters=found.parameters
                ):
                    return True
            except (AdaBKBError, ValueError) as error:
                log.warning("trial %d of study %r: %s", self._trial.number, self._trial.trial.study, error)
                self._is_refused = isinstance(error, AdaBKBError)
        return False

    def _end_program(self) -> None:
        """Ask the program to end, and kill it after the grace period."""
        self._group.send(signal.SIGTERM if self._grace else signal.SIGKILL)
        if not self._over.wait(self._grace):
            self._group.send(signal.SIGKILL)

"""``adabkb run`` as a separate process, and the outcomes of the trials of a study."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adabkb_client import Study
from tests.servers import ADABKB
from tests.waiting import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[4]
Create = Callable[..., Study]
Run = Callable[..., str]


@contextmanager
def started(address: str, study: Study, script: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command as a separate process, to which a test can send signals. Kill it at the end."""
    if "--grace" not in options:
        options = ("--grace", str(TIMEOUT_SECONDS), *options)
    command = [*ADABKB, "run", study.id, "--url", address, *options, "--", "sh", "-c", script]
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def states(study: Study) -> list[str]:
    return [trial.state for trial in study.trials()]


def reasons(study: Study) -> list[str | None]:
    return [trial.reason for trial in study.trials()]

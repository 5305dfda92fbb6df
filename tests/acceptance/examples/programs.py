"""Run an example as a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[3]


def start(*arguments: str, stdin: int = subprocess.DEVNULL, **environment: str) -> subprocess.Popen[str]:
    """Start a program of Python with more variables in its environment."""
    return subprocess.Popen(
        [sys.executable, "-u", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(program: subprocess.Popen[str]) -> str:
    """Wait until a program ends, and return what it has printed."""
    with program:
        output, errors = program.communicate(timeout=2 * TIMEOUT_SECONDS)
    assert program.returncode == 0, errors
    return output

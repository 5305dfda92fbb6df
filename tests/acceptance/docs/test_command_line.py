"""docs/command-line.md: its commands run, and their output matches the page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.docs import blocks
from tests.integration.cli.shell import adabkb

PAGE = blocks.DOCS / "command-line.md"
HELP = "$ adabkb --help"
"""The end of the guide, and the beginning of the generated help of all commands."""


def examples() -> Iterator[tuple[str, str]]:
    """Each command of the guide with its output."""
    for block in blocks.blocks(PAGE):
        if block.text.startswith(HELP):
            return
        if block.language == "console":
            yield from blocks.commands(block.text)


def printed(command: str) -> str:
    """Return the output of a command. A shell is started only if it is needed, since that is slow."""
    if command.startswith("adabkb ") and "<<" not in command:
        return adabkb(*shlex.split(command.replace("\\\n", " "))[1:])
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_print_what_the_page_shows(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADABKB_URL", server)
    monkeypatch.setenv("ADABKB_OUTBOX", str(tmp_path / "outbox"))
    shown = list(examples())
    assert len(shown) > 15
    for command, output in shown:
        assert blocks.matches(output, printed(command)), command
    assert len(list((tmp_path / "logs").iterdir())) == 5

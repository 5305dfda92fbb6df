"""docs/command-line.md: its commands run, and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import adabkb

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def examples() -> Iterator[tuple[str, str]]:
    """Each command with what it prints, in which three dots stand for anything."""
    guide = PAGE.read_text().partition("## All commands")[0]
    for block in re.findall(r"```console\n(.*?)```", guide, re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = example.splitlines()
            more = [line[2:] for line in rest if line.startswith("> ")]
            yield "\n".join([first, *more]), "\n".join(line for line in rest if not line.startswith("> "))


def printed(command: str) -> str:
    """What a command prints. A shell is started only where one is needed: that, and the command in it, take long."""
    if command.startswith("adabkb ") and "<<" not in command:
        return adabkb(*shlex.split(command)[1:])
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_print_what_the_page_shows(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADABKB_URL", server)
    monkeypatch.setenv("ADABKB_OUTBOX", str(tmp_path / "outbox"))
    shown = list(examples())
    assert len(shown) > 15
    for command, output in shown:
        pattern = re.escape(output).replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, printed(command).strip(), re.DOTALL), command
    assert len(list((tmp_path / "logs").iterdir())) == 5

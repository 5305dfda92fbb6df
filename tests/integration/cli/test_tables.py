"""Tables: as wide as the terminal; in a file or a pipe, each row has one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import termios

import pytest

from tests.integration.cli.shell import adabkb
from tests.servers import ADABKB

HEADER = ["study", "title", "state"]
ROWS = [["svm", "the yield of the coupling " * 8, "running"], ["[red]b[/red]", "\x1b[31mshort", "paused"]]
PROGRAM = "import json, sys; from adabkb_service.cli.output import table; print(table(*json.loads(sys.argv[1])))"


def on_a_terminal(columns: int, *command: str) -> list[str]:
    """The lines that a command writes to a terminal, without styles."""
    own, terminal = os.openpty()
    try:
        termios.tcsetwinsize(terminal, (24, columns))
        environment = {**os.environ, "TERM": "xterm"}
        environment.pop("COLUMNS", None)
        with subprocess.Popen(command, stdout=terminal, env=environment) as process:
            os.close(terminal)
            written = b""
            while more := _read(own):
                written += more
        assert process.returncode == 0
    finally:
        os.close(own)
    return re.sub(r"\x1b\[[0-9;]*m", "", written.decode()).splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the command has ended
        return b""


def written(columns: int, header: list[str], rows: list[list[str]]) -> list[str]:
    return on_a_terminal(columns, sys.executable, "-c", PROGRAM, json.dumps([header, rows]))


@pytest.mark.parametrize("columns", [40, 80])
def test_a_table_has_the_width_of_the_terminal_and_all_of_its_text(columns: int) -> None:
    lines = written(columns, HEADER, ROWS)
    assert max(map(len, lines)) <= columns
    assert lines[0].split() == HEADER
    assert " ".join(lines).count("coupling") == 8
    assert "[red]b[/red]" in " ".join(lines)


def test_columns_that_would_be_too_narrow_are_not_fitted() -> None:
    header = [f"parameter-{number}" for number in range(20)]
    assert written(80, header, [["0.123456789"] * 20])[0].split() == header


def test_a_table_elsewhere_has_a_line_for_each_row() -> None:
    command = [sys.executable, "-c", PROGRAM, json.dumps([HEADER, ROWS])]
    environment = {**os.environ, "COLUMNS": "40"}
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert ROWS[0][1] in lines[1]


@pytest.mark.long
def test_a_command_prints_such_a_table(address: str) -> None:
    name = "a-study-with-a-name-that-is-longer-than-a-terminal-of-fifty-columns"
    made = ["--direction", "minimize", "--parameter", '{"name": "x", "kind": "float", "low": 0, "high": 1}']
    adabkb("study", "create", "--id", name, *made, "--url", address)
    lines = on_a_terminal(50, *ADABKB, "study", "list", "--url", address)
    assert max(map(len, lines)) <= 50
    assert name in "".join(line.split(" ", 1)[0] for line in lines)

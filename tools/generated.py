"""Files that come from the code. ``make generate`` writes them, and tests compare them with what it would write."""

from __future__ import annotations

import subprocess
import sys
from difflib import unified_diff
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "client" / "adabkb_client"
SHOWN = 30
"""The maximum number of lines of a difference that are shown."""


def write(path: Path, text: str) -> None:
    """Write a file and print its name, if its text differs."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
        print(f"changed: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}", flush=True)


def formatted(code: str) -> str:
    """Return the code of a module of the client as ruff formats it, with sorted imports."""
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *command, "--stdin-filename", str(CLIENT / "_a.py"), "-"]
        code = subprocess.run(ruff, input=code, capture_output=True, text=True, check=True).stdout
    return code


def outdated(kept: str, generated: str) -> str:
    """Return what differs and what to do, for the message of a test; empty if the texts are equal."""
    if kept == generated:
        return ""
    lines = unified_diff(kept.splitlines(), generated.splitlines(), "committed", "generated", n=1, lineterm="")
    return "\n".join(["run make generate, and check what it changes:", *islice(lines, SHOWN)])

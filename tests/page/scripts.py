"""The scripts and the style sheet of the page: their format, what a linter finds, and their types.

``python -m tests.page.scripts`` prints what is wrong; with ``--write`` it formats them first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.packages import NODE, packages

ROOT = Path(__file__).parents[2]
ASSETS = Path("service", "adabkb_service", "page", "assets")
SETTINGS = ("biome.json", "tsconfig.json")


def faults(folder: Path = ROOT) -> str:
    """What the tools complain about in a checkout, or in a copy of its settings and scripts; empty if it is nothing."""
    biome = _run(folder, "@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "--colors=off", "--log-level=error")
    return biome + _run(folder, "typescript/bin/tsc", "--project", str(folder))


def _run(folder: Path, program: str, *arguments: str) -> str:
    command = [str(NODE), str(packages("scripts", ROOT) / program), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        _run(ROOT, "@biomejs/biome/bin/biome", "format", "--write")
    sys.exit(faults() or None)

"""The scripts, the style sheet and the templates of the page: check their format, lint and types.

``python -m tools.page_scripts`` prints the problems; with ``--write`` it formats the files first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.npm import NODE, packages

ROOT = Path(__file__).parents[1]
ASSETS = Path("service", "adabkb_service", "page", "assets")
SETTINGS = ("biome.json", "tsconfig.json", "tools/page_scripts.d.ts")


def faults(folder: Path = ROOT) -> str:
    """Return the problems in a checkout, or in a copy of its settings and scripts."""
    biome = _run(folder, "@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "--colors=off", "--log-level=error")
    return biome + _run(folder, "typescript/bin/tsc", "--project", str(folder)) + "".join(_too_long(folder))


def _too_long(folder: Path) -> Iterator[str]:
    """Return lines that are too long, also of templates. The formatter does not wrap strings and comments."""
    most = json.loads((folder / "biome.json").read_text())["formatter"]["lineWidth"]
    page = folder / ASSETS.parent
    for path in sorted(path for kind in ("js", "css", "html") for path in page.rglob(f"*.{kind}")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if len(line) > most and not path.name.endswith(".min.js"):
                yield f"{path.relative_to(folder)}:{number}: {len(line)} characters; a line has up to {most}\n"


def _run(folder: Path, program: str, *arguments: str) -> str:
    command = [str(NODE), str(packages("scripts", ROOT) / program), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        before = {path: path.read_bytes() for path in (ROOT / ASSETS).iterdir() if path.is_file()}
        _run(ROOT, "@biomejs/biome/bin/biome", "check", "--write", "--linter-enabled=false")
        for path in sorted(path for path, text in before.items() if path.read_bytes() != text):
            print(f"changed: {path.relative_to(ROOT)}")
    sys.exit(faults() or None)

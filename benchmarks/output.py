"""Output of all benchmarks: the origin of the numbers, result files, and tables."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adabkb_service.engine.auto.state.checkpoint import REVISION

RESULTS = Path(__file__).parent / "results"


def provenance(module: str) -> dict[str, Any]:
    """The command, and the versions, the revision of the ``auto`` profile and the properties of the machine that affect
    the numbers."""
    return {
        "command": " ".join(["python -m", module, *sys.argv[1:]]),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "scipy")}},
        "revision": REVISION,
        "machine": {"architecture": platform.machine(), "cores": os.cpu_count(), "blas_threads": 1},
    }


def takes_no_options(module: str, about: str | None) -> None:
    """Refuse arguments of the command line, and explain the command on ``--help``."""
    argparse.ArgumentParser(
        prog=f"python -m {module}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a result file; creates its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with aligned columns: the first one to the left, the others to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))))

"""The runs of a benchmark in its file, where each is kept as soon as it is done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.output import provenance
from benchmarks.pool import rewriting

Key = tuple[str, str, int]
"""What was solved, the method, the seed."""


def load(path: Path, solved: str) -> dict[Key, dict[str, Any]]:
    """The runs of a file, of which the field ``solved`` says what was solved; none if there is no file."""
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    return {(run[solved], run["method"], run["seed"]): run for run in runs}


def keep(
    path: Path, solved: str, key: Key, run: Mapping[str, Any], module: str, packages: Mapping[str, Iterable[str]]
) -> None:
    """Add a run to a file.

    Args:
        path: of the file.
        solved: as in ``load``.
        key: of the run.
        run: what it has found.
        module: that is run to repeat it.
        packages: by method, those whose versions matter.
    """
    with rewriting(path) as partial:
        runs = load(path, solved)
        runs[key] = {**dict(zip((solved, "method", "seed"), key, strict=True)), **run}
        needed = {package for _, method, _ in runs for package in packages.get(method, ())}
        head = {**provenance(module), "packages": {each: version(each) for each in sorted(needed)}}
        lines = ",\n".join(f"  {json.dumps(each, separators=(',', ':'))}" for _, each in sorted(runs.items()))
        partial.write_text(f'{{\n "provenance": {json.dumps(head)},\n "runs": [\n{lines}\n ]\n}}\n')

"""Outcomes of runs in a file, one per line, so that a stopped benchmark resumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adabkb_service.engine.auto.state.checkpoint import REVISION

Key = tuple[str | float, ...]
"""Identifies a run."""


def path_of(name: str) -> Path:
    """The default file for the runs of a benchmark with this revision of the engine."""
    return Path(f"tmp/{name}-{REVISION}.jsonl")


class Kept:
    """The outcomes, which must be JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._known = {tuple(line["key"]): line["value"] for line in map(json.loads, lines)}

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def __getitem__(self, key: Key) -> Any:
        return self._known[key]

    def values(self) -> Iterator[Any]:
        """All outcomes, in the order in which they were added."""
        yield from self._known.values()

    def add(self, key: Key, value: Any) -> None:
        """Store the outcome of one more run."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "value": value}) + "\n")
        self._known[key] = value

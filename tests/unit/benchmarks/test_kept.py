"""A benchmark that resumes finds its stored outcomes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kept import Kept


def test_outcomes_are_stored_across_restarts(tmp_path: Path) -> None:
    path, keys = tmp_path / "runs" / "kept.jsonl", [("box", 0.001, 3), ("box", 0.001, 4)]
    before = Kept(path)
    assert keys[0] not in before
    for key in keys:
        before.add(key, {"shares": [0.1, key[2]]})
    after = Kept(path)
    assert all(key in after for key in keys)
    assert after[keys[1]] == before[keys[1]] == {"shares": [0.1, 4]}
    assert list(after.values()) == [{"shares": [0.1, 3]}, {"shares": [0.1, 4]}]

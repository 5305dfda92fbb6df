"""Nothing is mocked, as CONTRIBUTING says: no test replaces a function, a constant or an object of this project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
OURS = ("adabkb_", "benchmarks", "examples", "tests", "tools")
ELSEWHERE = "unit"
"""Folder whose tests may change constants (names in capitals) of an algorithm. These have no setting, since all servers
must decide alike."""
ALLOWED = {
    "integration/inference/test_host.py": "the model raises what no input is known to make it raise",
    "integration/operations/test_observe.py": "0.1 s that a result is held back cannot be told from a busy machine",
    "integration/study/test_group.py": "no lack of memory can be caused at one call",
    "integration/storage/newer.py": "a later version of this code, which has one migration more, does not exist yet",
    "unit/engine/auto/test_gap.py": "no results are known whose numbers overflow in one posterior alone",
}
"""The only other files that may replace something, with the reason."""
REPLACING = re.compile(r"\b(?:(?:set|del)(?:attr|item)|patch)\b")
"""The names in all calls that replace something."""


def foreign(tree: ast.Module) -> set[str]:
    """The names that a file imports from other packages."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(alias.asname or alias.name, node.module or "") for alias in node.names]
        else:
            continue
        found |= {name for name, origin in names if not origin.startswith(OURS)}
    return found


def replaced(source: str, *, constants: bool = True) -> Iterator[int]:
    """The lines of a file that replace something of this project, optionally without those that replace constants."""
    if not REPLACING.search(source):  # parsing all files takes seconds
        return
    tree = ast.parse(source)
    known = foreign(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not _replaces(node.func):
            continue
        target = node.args[0]
        while isinstance(target, ast.Attribute):
            target = target.value
        if isinstance(target, ast.Constant):
            is_foreign = not str(target.value).startswith(OURS)
        else:
            is_foreign = isinstance(target, ast.Name) and target.id in known
        if not is_foreign and (constants or not _is_of_constant(node)):
            yield node.lineno


def _is_of_constant(call: ast.Call) -> bool:
    name = call.args[1] if len(call.args) > 1 else None
    return isinstance(name, ast.Constant) and str(name.value).isupper()


def _replaces(function: ast.expr) -> bool:
    """Whether a call is ``monkeypatch.setattr``, ``patch.object``, ``patch`` or similar."""
    if isinstance(function, ast.Attribute):
        is_patch = function.attr == "patch" and ast.unparse(function.value).endswith("mock")
        of_patch = function.attr in ("object", "dict", "multiple") and ast.unparse(function.value).endswith("patch")
        return is_patch or of_patch or function.attr in ("setattr", "delattr", "setitem", "delitem")
    return isinstance(function, ast.Name) and function.id in ("setattr", "patch")


def test_no_test_replaces_project_code() -> None:
    found = {
        str(file.relative_to(TESTS)): lines
        for file in sorted(TESTS.rglob("*.py"))
        if (lines := list(replaced(file.read_text(), constants=file.relative_to(TESTS).parts[0] != ELSEWHERE)))
    }
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert set(found) == set(ALLOWED), "each exception is still needed"


def test_replacements_are_found_in_any_form() -> None:
    source = """
import sys
from unittest import mock
from unittest.mock import patch
from adabkb_service.inference import pool
import adabkb_client.course as course

def test(monkeypatch, service):
    monkeypatch.setattr(pool, "LIMIT", 1)
    monkeypatch.setattr("adabkb_client.course.monotonic", 1)
    monkeypatch.setattr(course.Course, "take", None)
    monkeypatch.setitem(pool.TABLE, "a", None)
    monkeypatch.setattr(service.inference, "post", None)
    with patch.object(pool, "LIMIT", 1), mock.patch("adabkb_service.app.sweep"):
        setattr(pool, "LIMIT", 2)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with patch.dict(sys.modules, {}):
        pass
"""
    assert sorted(replaced(source)) == [9, 10, 11, 12, 13, 14, 14, 15]
    assert sorted(replaced(source, constants=False)) == [10, 11, 12, 13, 14]

"""The parts of ``python -m tests.mutants``, and its committed results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.mutants import children
from tests.mutants.exchange import exchange, functions_of
from tests.mutants.mutations import mutants, sample
from tests.mutants.report import OUT, REASONS, report
from tests.mutants.targets import GROUPS, PACKAGE
from tests.processes import is_alive

SOURCE = '''
LIMIT = 3

def f(x: "int", y=1, *names):
    """What it does, 7."""
    assert x > 0
    if names and not x < 2:
        logger.info("at %s", 5)
        raise ValueError("none", x - 1)
    x.y = f"{x + 1}"
    for each in names:
        continue
    return g(x,
             "name", "some words") if x else None
'''


def test_each_change_is_of_one_place_and_keeps_the_lines() -> None:
    """Constants of the module, defaults, annotations, assertions, prose and log messages are not changed."""
    found = mutants(SOURCE)
    assert [(each.line, f"{each.was} -> {each.now}") for each in found] == [
        (7, "names and (not x < 2) -> names or not x < 2"),
        (7, "not x < 2 -> x < 2"),
        (7, "x < 2 -> x <= 2"),
        (7, "2 -> 3"),
        (9, "raise ValueError('none', x - 1) -> pass"),
        (9, "x - 1 -> x + 1"),
        (9, "1 -> 2"),
        (10, "x.y = f'{x + 1}' -> pass"),
        (12, "continue -> break"),
        (13, "return g(x, 'name', 'some words') if x else None -> return None"),
        (14, "x -> not x"),
        (14, "'name' -> 'name_'"),
    ]
    lines = SOURCE.splitlines()
    for each in found:
        now = each.source.splitlines()
        compile(each.source, "f.py", "exec")
        changed = [number for number, pair in enumerate(zip(lines, now, strict=True), 1) if pair[0] != pair[1]]
        assert each.line <= changed[0] <= changed[-1] <= each.end


def test_equal_changes_of_a_function_are_told_apart() -> None:
    names = [each.name for each in mutants("def f(x):\n    return x[0] + x[0]\n\ndef g(x):\n    x[0]()\n")]
    assert names == [
        "f: return x[0] + x[0] -> return None",
        "f: x[0] + x[0] -> x[0] - x[0]",
        "f: 0 -> 1",
        "f: 0 -> 1 (2)",
        "g: x[0]() -> pass",
        "g: 0 -> 1",
    ]


def test_a_larger_sample_includes_a_smaller_one() -> None:
    found = mutants(SOURCE)
    samples = [{each.name for each in sample(found, most)} for most in range(len(found) + 2)]
    assert [len(each) for each in samples] == [*range(len(found) + 1), len(found)]
    assert all(small <= large for small, large in pairwise(samples))


MODULE = """
from functools import cache, cached_property

class C:
    @property
    def a(self): return 1
    @staticmethod
    def b(): return 1
    @cached_property
    def c(self): return 1

@cache
def cached(): return 1

def closure(start):
    def inner(): return start + 1
    return inner

kept = closure(0)
"""


def test_functions_get_their_new_code_wherever_they_are_kept(tmp_path: Path) -> None:
    path, scope = str(tmp_path / "m.py"), dict[str, Any]()
    exec(compile(MODULE, path, "exec"), scope)
    exchange(functions_of({path}), path, MODULE.replace("return 1", "return 5").replace("start + 1", "start + 5"))
    c = scope["C"]()
    assert [c.a, c.b(), c.c, scope["cached"](), scope["kept"](), scope["closure"](1)()] == [5] * 5 + [6]


def test_a_task_ends_with_all_that_it_started(tmp_path: Path) -> None:
    """Whether it answers, is killed, or takes too long."""

    def leave(folder: Path) -> int:
        (folder / "x").write_text("x")
        started = subprocess.Popen(["sleep", "600"])
        (tmp_path / "number").write_text(str(started.pid))
        return 7

    tasks = [
        ("answers", 60.0, leave),
        ("ends", 60.0, lambda _: os._exit(1)),
        ("waits", 0.2, lambda _: time.sleep(600)),
        ("fails", 60.0, lambda _: 1 / 0),
    ]
    found = dict(children.answers(iter(tasks), 2))
    assert found == {"answers": 7, "ends": children.CRASHED, "waits": children.LATE, "fails": children.CRASHED}
    assert not is_alive(int((tmp_path / "number").read_text()))


def test_modules_without_new_outcomes_keep_their_results(tmp_path: Path) -> None:
    """And are marked."""
    before, reasons = json.loads(OUT.read_text()), json.loads(REASONS.read_text())
    out, known = (Path(shutil.copy(path, tmp_path)) for path in (OUT, REASONS))
    report(tmp_path / "empty", out, known)
    after = json.loads(out.read_text())
    assert after["survivors"] == before["survivors"]
    assert json.loads(known.read_text()) == reasons
    for name, group in before["groups"].items():
        modules = {module: {**figures, "earlier": True} for module, figures in group["modules"].items()}
        assert after["groups"][name] == {**group, "modules": modules}


def test_the_results_are_of_all_modules_and_each_survivor_has_a_reason() -> None:
    """The command itself checks that enough of them are killed."""
    found = json.loads(OUT.read_text())
    for name, group in GROUPS.items():
        changed = {path.relative_to(PACKAGE).as_posix() for path in group.modules if mutants(path.read_text())}
        assert set(found["groups"][name]["modules"]) == changed
    assert [each for each in found["survivors"] if not each["reason"]] == []

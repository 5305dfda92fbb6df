"""A plugin of pytest that runs tests against mutants instead of running them once.

Pytest collects the tests, which imports all code. For each mutant the process forks; the child replaces the code of the
changed function, and runs the tests that execute a changed line until one fails. Coverage in forked processes
determines these tests. Results are stored in a folder, so that a later run continues.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutants import children
from tests.mutants.exchange import Functions, exchange, functions_of
from tests.mutants.mutations import Mutant, mutants, sample
from tests.mutants.targets import PACKAGE, ROOT

MAX_SECONDS = 600.0
"""Time limit in seconds for the tests of one file without a mutant."""
QUICK = 0.02
"""Tests that take less than this many seconds count as equally quick."""
BASE_SECONDS, SLOWER = 330.0, 10.0
"""Time limit for the tests of a mutant: these seconds, plus this multiple of their time without it. Hanging tests fail
earlier; the limit allows for a busy machine."""
PROCESSOR, MORE = 20, 3
"""Limit on their processor seconds, in the same form, against infinite loops."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test that passes without mutants."""

    item: pytest.Item
    seconds: float
    lines: dict[str, frozenset[int]]
    """The lines that it executes of each module."""


@dataclass
class Kept:
    """The stored results for the mutants of a module."""

    path: Path
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the name of the mutant. ``killed``: the failing test, or why the tests did not end. ``survived``: the passing
    tests, as file and digest."""

    def write(self) -> None:
        """Replace the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.outcomes, indent=1, sort_keys=True))
        new.replace(self.path)


def digest(*paths: Path) -> str:
    """Digest of the content of files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def kept(folder: Path, module: Path) -> Kept:
    """The stored results for a module in a folder, if the module is unchanged."""
    name = module.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
    path = folder / f"{name}-{digest(module)}.json"
    return Kept(path, json.loads(path.read_text()) if path.exists() else {})


class Runner:
    """The plugin.

    Args:
        modules: the modules to change.
        folder: the folder for results.
        most: the maximum number of mutants per module.
        at_once: the number of processes.
        budget: seconds of tests per mutant in this run. The next run continues with further tests.
    """

    def __init__(self, modules: tuple[Path, ...], folder: Path, most: int, at_once: int, budget: float) -> None:
        self._modules = {str(module): module for module in modules}
        self._folder = folder
        self._most = most
        self._at_once = at_once
        self._budget = budget
        self._long: set[str] = set()
        self._failed = False
        self._functions: Functions = {}
        self._kills: Counter[tuple[Path, str]] = Counter()
        """The number of mutants of a module that each test has killed in this run."""
        self._digests: dict[Path, str] = {}

    def pytest_sessionstart(self) -> None:
        """Make Hypothesis stop at the first failing example."""
        from hypothesis import Phase, settings  # pytest must import it first

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(), phases=phases, report_multiple_bugs=False)
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Record the long tests, before tests/conftest.py marks half of the tests with two kinds of database."""
        self._long = {item.nodeid for item in items if item.get_closest_marker("long")}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record that a test has failed."""
        self._failed = self._failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Replaces running all tests once. Tests with PostgreSQL are skipped, since forked processes that end at any
        time would break its connections."""
        warm, items = session.items[0], [item for item in session.items[1:] if self._is_suitable(item)]
        warm.ihook.pytest_runtest_protocol(item=warm, nextitem=items[0])
        assert not self._failed
        self._functions = functions_of(self._modules)
        tests = self._covered(session, items, warm)
        self._try(session, tests, warm)
        return True

    def _is_suitable(self, item: pytest.Item) -> bool:
        fixtures = getattr(item, "fixturenames", ())
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        is_postgresql = "postgresql" in parameters.values() or ("postgresql_server" in fixtures and not parameters)
        return item.nodeid not in self._long and not is_postgresql and "other_postgresql" not in fixtures

    def _covered(self, session: pytest.Session, items: list[pytest.Item], warm: pytest.Item) -> list[Test]:
        """The tests that pass, with the lines that they execute."""
        sources = digest(*sorted(PACKAGE.rglob("*.py")))
        by_file: dict[Path, list[pytest.Item]] = defaultdict(list)
        for item in items:
            by_file[item.path].append(item)
        found: dict[Path, dict[str, Any]] = {}
        for path in by_file:
            known = self._coverage_of(path, sources)
            if known.exists():
                found[path] = json.loads(known.read_text())
        new = [(path, ours) for path, ours in by_file.items() if path not in found]
        tasks = ((path, MAX_SECONDS, partial(self._executed, session, ours, warm)) for path, ours in new)
        for path, answer in children.answers(tasks, self._at_once):
            if not isinstance(answer, dict):
                print(f"{path.relative_to(ROOT)}: {answer}", flush=True)
                continue
            found[path] = answer
            known = self._coverage_of(path, sources)
            known.parent.mkdir(parents=True, exist_ok=True)
            known.write_text(json.dumps(answer))
            print(f"{path.relative_to(ROOT)}: {sum(each['seconds'] for each in answer.values()):.1f} s", flush=True)
        tests = []
        for item in items:
            its = found.get(item.path, {}).get(item.nodeid)
            if its is not None and its["lines"] is not None:
                lines = {str(PACKAGE / name): frozenset(numbers) for name, numbers in its["lines"].items()}
                tests.append(Test(item, its["seconds"], lines))
            else:
                print(f"{item.nodeid}: fails without a mutant", flush=True)
        return tests

    def _coverage_of(self, path: Path, sources: str) -> Path:
        name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        return self._folder / "coverage" / sources / f"{name}-{digest(path)}.json"

    def _executed(
        self, session: pytest.Session, items: list[pytest.Item], warm: pytest.Item, folder: Path
    ) -> dict[str, Any]:
        """Test -> its duration in seconds, and the lines of each module that it executes; no lines if it fails."""
        self._enter(session, folder)
        watched = [str(PACKAGE / name / "**") for name in ("study", "access", "engine/auto")]
        measured = coverage.Coverage(data_file=None, include=watched, config_file=False, check_preimported=False)
        measured.set_option("run:disable_warnings", ["no-data-collected"])
        measured.start()
        found: dict[str, Any] = {}
        for item, following in zip(items, [*items[1:], warm], strict=True):
            self._failed, began = False, time.perf_counter()
            measured.switch_context(item.nodeid)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            found[item.nodeid] = {"seconds": time.perf_counter() - began, "lines": None if self._failed else {}}
        measured.stop()
        data = measured.get_data()
        for file in data.measured_files():
            name = Path(file).relative_to(PACKAGE).as_posix()
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    if context in found and found[context]["lines"] is not None:
                        found[context]["lines"].setdefault(name, []).append(line)
        return found

    def _enter(self, session: pytest.Session, folder: Path) -> None:
        """Prepare a child: discard its files and its output."""
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        # Pytest has no public way to change it, and children must not share temporary folders.
        session.config._tmp_path_factory._basetemp = folder / "pytest"  # type: ignore[attr-defined]
        (folder / "pytest").mkdir()

    def _try(self, session: pytest.Session, tests: list[Test], warm: pytest.Item) -> None:
        """Run the tests against the mutants of all modules in parallel, so that a hanging one does not block others."""
        for (known, mutant, chosen), answer in children.answers(self._tasks(session, tests, warm), self._at_once):
            if answer == children.LATE:  # the machine may be too busy; the next run tries again
                continue
            if answer == "inapplicable":
                known.outcomes[mutant.name] = {"inapplicable": True}
            elif answer is None:
                before = known.outcomes.get(mutant.name, {}).get("survived", [])
                known.outcomes[mutant.name] = {"survived": sorted({*before, *(self._named(test) for test in chosen)})}
            else:
                known.outcomes[mutant.name] = {"killed": answer}
                self._kills[known.path, answer] += 1
            known.write()

    def _tasks(
        self, session: pytest.Session, tests: list[Test], warm: pytest.Item
    ) -> Iterator[tuple[tuple[Kept, Mutant, list[Test]], float, children.Work]]:
        for file, module in self._modules.items():
            known, possible = kept(self._folder, module), mutants(module.read_text())
            print(f"{module.relative_to(PACKAGE)}: {len(possible)} mutants", flush=True)
            for mutant in sample(possible, self._most):
                chosen = self._chosen(mutant, file, tests, known)
                if chosen is not None:
                    usual = sum(test.seconds for test in chosen)
                    items, processor = [test.item for test in chosen], PROCESSOR + int(MORE * usual)
                    killer = partial(self._killer, session, file, mutant, items, warm, processor)
                    yield (known, mutant, chosen), BASE_SECONDS + SLOWER * usual, killer

    def _chosen(self, mutant: Mutant, file: str, tests: list[Test], known: Kept) -> list[Test] | None:
        """The tests to run against a mutant, the most promising ones first; None if it needs none."""
        outcome = known.outcomes.get(mutant.name, {})
        if "killed" in outcome or "inapplicable" in outcome:
            return None
        lines, tried = frozenset(range(mutant.line, mutant.end + 1)), set(outcome.get("survived", ()))
        covering = [test for test in tests if not lines.isdisjoint(test.lines.get(file, ()))]
        new = [test for test in covering if self._named(test) not in tried]
        if "survived" in outcome and not new:
            return None
        new.sort(key=lambda test: test.seconds)
        earlier, weights = Counter[Path](), {}  # quick tests first, but not many of one file in a row
        for test in new:
            earlier[test.item.path] += 1
            weights[test.item.nodeid] = earlier[test.item.path] * max(test.seconds, QUICK)
        new.sort(key=lambda test: (-self._kills[known.path, test.item.nodeid], weights[test.item.nodeid]))
        spent, chosen = 0.0, []
        for test in new:
            if spent > self._budget:
                break
            spent += test.seconds
            chosen.append(test)
        return chosen

    def _named(self, test: Test) -> str:
        path = test.item.path
        if path not in self._digests:
            self._digests[path] = digest(path)
        return f"{test.item.nodeid} {self._digests[path]}"

    def _killer(
        self,
        session: pytest.Session,
        file: str,
        mutant: Mutant,
        items: list[pytest.Item],
        warm: pytest.Item,
        processor: int,
        folder: Path,
    ) -> str | None:
        """The first test that fails with a mutant."""
        self._enter(session, folder)
        resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
        try:
            exchange(self._functions, file, mutant.source)
        except ValueError:
            return "inapplicable"
        for item, following in zip(items, [*items[1:], warm], strict=False):  # there may be none
            self._failed = False
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return item.nodeid
        return None

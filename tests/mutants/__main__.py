"""Change the code, one place at a time, and see whether a test fails: ``python -m tests.mutants``.

It takes hours, and continues where an earlier run stopped, from ``tmp/mutants``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pytest

from tests.mutants import targets
from tests.mutants.report import report
from tests.mutants.runner import Runner

FOLDER = targets.ROOT / "tmp" / "mutants"
OPTIONS = ["-q", "-s", "-m", "long or not long", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]


def main() -> int:
    """Run, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("only", nargs="*", help="groups, or modules such as study/batch.py; all by default")
    parser.add_argument("--most", type=int, default=40, help="mutants of each module")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--budget", type=float, default=25.0, help="seconds of tests per mutant in this run")
    parser.add_argument("--tests", nargs="*", help="files or folders of tests; those of the group by default")
    parser.add_argument("--report-only", action="store_true", help="try no mutants, but write the results file anew")
    options = parser.parse_args()
    for name, group in () if options.report_only else targets.GROUPS.items():
        modules = tuple(
            module
            for module in group.modules
            if not options.only or name in options.only or str(module.relative_to(targets.PACKAGE)) in options.only
        )
        if modules:
            plugin = Runner(modules, FOLDER, options.most, options.at_once, options.budget)
            warm = str(Path(__file__).with_name("warm.py"))
            code = pytest.main([*OPTIONS, warm, *(options.tests or group.tests)], plugins=[plugin])
            if code:
                return int(code)
    return 0 if report(FOLDER) else 1


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tools.client_breaks``, so that no change of the client breaks programs silently."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import client_breaks

OLDER = [
    ("__init__.py", '    "AdaBKBError",', '    "AdaBKBError",\n    "Oracle",'),
    ("__init__.py", "__all__ = [", "class Oracle:\n    pass\n\n\n__all__ = ["),
    ("_study_methods.py", "    def pause(", "    def halt(self) -> None:\n        pass\n\n    def pause("),
    ("_study_methods.py", "def unshare(self, ", "def unshare(self, whom, "),
    ("_records.py", "    completed: int\n", ""),
    ("_http/transport.py", "class Exchange", "class Internal:\n    pass\n\n\nclass Exchange"),
]
"""What an older client has and lacks: a name, a method and a parameter more, a field less in what a call returns, and a
class more that is not exported."""


@pytest.mark.long
def test_what_programs_would_miss_is_found_and_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / client_breaks.PACKAGE
    shutil.copytree(client_breaks.HERE / client_breaks.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text, older in OLDER:
        assert text in (package / file).read_text()
        (package / file).write_text((package / file).read_text().replace(text, older, 1))
    command = [sys.executable, "-m", "tools.client_breaks", str(tmp_path)]
    done = subprocess.run(command, cwd=client_breaks.HERE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "DefinedByRun.halt: Public object was removed",
        "Oracle: Public object was removed",
        "Study.halt: Public object was removed",
        "Study.unshare(user): Positional parameter was moved",
        "Study.unshare(whom): Parameter was removed",
    ]

"""The checks of scripts, style sheet and templates find faults. ``make lint`` runs them on the page itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.page_scripts import ASSETS, ROOT, SETTINGS, faults

FAULTS = [
    ("one.js", "export const one  = 1;\n", "format"),
    ("two.js", f"// {'long ' * 30}\n", "characters"),
    ("page.css", "p { margin: 0 }\n", "format"),
    ("four.js", "const unused = 1;\n", "noUnusedVariables"),
    ("five.js", 'export const size = document.getElementById("study").value;\n', "TS2339"),
    ("six.js", 'export const said = document.getElementById("study").textContent;\n', "TS2531"),
    ("seven.js", "export const same = (one) => one;\n", "TS7006"),
    ("eight.js", 'import { figure } from "./words.js";\nexport const three = figure(1, 2, 3);\n', "TS2554"),
    ("nine.js", "export const other = echart;\n", "TS2552"),
    ("ten.js", "try {\n  close();\n} catch (error) {\n  alert(error.message);\n}\n", "TS18046"),
    ("eleven.html", f"<p>{'long ' * 30}</p>\n", "characters"),
]
"""A file, its content, and the name of its error."""


@pytest.mark.long
def test_each_fault_is_found_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in SETTINGS:
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / ASSETS.parent, tmp_path / ASSETS.parent)
    for name, content, _ in FAULTS:
        (tmp_path / ASSETS / name).write_text(content, "utf-8")
    lines = faults(tmp_path).splitlines()
    for name, _, fault in FAULTS:
        assert any(name in line and fault in line for line in lines), (name, fault)
    known = {name for name, _, _ in FAULTS}
    of_other_files = [line for line in lines if ASSETS.as_posix() in line and not any(name in line for name in known)]
    assert not of_other_files

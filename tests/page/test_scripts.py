"""The scripts and the style sheet of the page: they are formatted, linted and of the right types."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.page.scripts import ASSETS, ROOT, SETTINGS, faults


def test_the_scripts_are_without_faults() -> None:
    assert faults() == ""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the settings and the scripts."""
    folder = tmp_path_factory.mktemp("scripts")
    for name in SETTINGS:
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / ASSETS.parent, folder / ASSETS.parent)
    return folder


@pytest.mark.parametrize(
    ("name", "fault", "told"),
    [
        ("words.js", "export const one  = 1;\n", "format"),
        ("words.js", f"// {'long ' * 30}\n", "characters"),
        ("page.css", "p { margin: 0 }\n", "format"),
        ("words.js", "const unused = 1;\n", "noUnusedVariables"),
        ("words.js", 'export const size = document.getElementById("study").value;\n', "TS2339"),
        ("words.js", 'export const said = document.getElementById("study").textContent;\n', "TS2531"),
        ("words.js", "export const same = (one) => one;\n", "TS7006"),
        ("words.js", "export const three = figure(1, 2, 3);\n", "TS2554"),
        ("words.js", "export const other = echart;\n", "TS2552"),
    ],
)
def test_a_fault_is_found(checkout: Path, name: str, fault: str, told: str) -> None:
    file = checkout / ASSETS / name
    before = file.read_text("utf-8")
    try:
        file.write_text(before + fault, "utf-8")
        assert told in faults(checkout)
    finally:
        file.write_text(before, "utf-8")

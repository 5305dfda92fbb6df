"""Scripts for other tools, before and after the change to a study: few lines differ, and both run."""

from __future__ import annotations

import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import pytest

from adabkb_client import Client
from tests.acceptance.examples.programs import finish, start

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "coming_from"
PAGES = {
    "ax": "coming-from/ax.md",
    "optuna": "coming-from/optuna.md",
    "ray": "coming-from/ray-tune.md",
    "sklearn": "integrations.md",
    "wandb": "coming-from/wandb.md",
}
MAX_LINES = 5
STUDIES = {"ax": ("from-ax", 8), "optuna": ("from-optuna", 10), "ray": ("from-tune", 2), "wandb": ("from-wandb", 4)}
"""Tool -> the study of the script, and the number of results that it stores."""


def changes(tool: str) -> list[str]:
    """The lines that differ, with - and +, without the docstring of the file and empty ones."""
    before, after = (
        (FOLDER / f"{tool}_{which}.py").read_text().split("\n", 1)[1].splitlines() for which in ("before", "after")
    )
    lines = list(unified_diff(before, after, n=0, lineterm=""))[2:]
    return [line for line in lines if line[0] in "-+" and len(line) > 1]


@pytest.mark.parametrize("tool", PAGES)
def test_at_most_five_lines_change_and_the_page_shows_them(tool: str) -> None:
    found = changes(tool)
    assert 0 < max(sum(line[0] == sign for line in found) for sign in "-+") <= MAX_LINES
    shown = "```diff\n" + "\n".join(found) + "\n```"
    assert shown in (ROOT / "docs" / PAGES[tool]).read_text(), shown


@pytest.mark.parametrize(
    "tool", ["ax", "optuna", *(pytest.param(tool, marks=pytest.mark.long) for tool in ("ray", "wandb"))]
)
def test_changed_script_completes_its_study(tool: str, server: str, tmp_path: Path) -> None:
    environment: dict[str, str] = {
        "ADABKB_URL": server,
        "ADABKB_OUTBOX": str(tmp_path),
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(tmp_path),
    }
    finish(start(f"examples/coming_from/{tool}_after.py", **environment))  # type: ignore[arg-type]  # of the environment
    name, results = STUDIES[tool]
    with Client(server, outbox=False) as client:
        assert client.study(name).info().counts.completed == results


@pytest.mark.parametrize("script", ["sklearn_after", "optuna_before", "ray_before", "sklearn_before"])
@pytest.mark.long
def test_original_script_runs_with_its_tool(script: str, tmp_path: Path) -> None:
    """Except for Ax, which is not installed for the tests, and W&B, whose sweeps need its service."""
    subprocess.run([sys.executable, str(FOLDER / f"{script}.py")], cwd=tmp_path, check=True, capture_output=True)

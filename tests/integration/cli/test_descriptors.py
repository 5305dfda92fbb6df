"""Choices and their descriptors from a table, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.shell import adabkb

TABLE = "solvent,polarity\nwater,10.2\nhexane,0.1\n"
SOLVENT = {"name": "solvent", "kind": "categorical"}


@pytest.fixture(autouse=True)
def _address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)


def definition(tmp_path: Path, study: str) -> str:
    path = tmp_path / "definition.json"
    body = {"id": study, "direction": "maximize", "budget": 9, "parameters": [SOLVENT, {"name": "b", "kind": "bool"}]}
    path.write_text(json.dumps(body))
    return str(path)


def test_a_table_gives_a_parameter_its_choices_and_descriptors(tmp_path: Path) -> None:
    """On creation, and in an edit that adds a choice."""
    table, study = tmp_path / "solvents.csv", "described-by-a-table"
    table.write_text(TABLE)
    made = adabkb("study", "create", definition(tmp_path, study), "--descriptors", f"solvent={table}", "--json")
    expected = {**SOLVENT, "choices": ["water", "hexane"], "descriptors": {"polarity": [10.2, 0.1]}}
    assert json.loads(made)["parameters"][0] == expected
    table.write_text(TABLE + "DMF,6.4\n")
    options = ["--parameter", json.dumps(SOLVENT), "--descriptors", f"solvent={table}", "--json"]
    edited = json.loads(adabkb("study", "update", study, *options))["parameters"][0]
    assert (edited["choices"][-1], edited["descriptors"]["polarity"][-1]) == ("DMF", 6.4)


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("solvent", "--descriptors 'solvent' must be NAME=FILE"),
        ("ligand=FILE", "has no categorical parameter 'ligand'"),
        ("b=FILE", "has no categorical parameter 'b'"),
        ("solvent=missing.csv", "cannot read missing.csv"),
        ("solvent=WRONG", "column 'polarity' must be a finite number, not 'high'"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, option: str, problem: str) -> None:
    good, wrong = tmp_path / "good.csv", tmp_path / "wrong.csv"
    good.write_text(TABLE)
    wrong.write_text("solvent,polarity\nwater,high\n")
    option = option.replace("FILE", str(good)).replace("WRONG", str(wrong))
    refused = adabkb("study", "create", definition(tmp_path, "refused"), "--descriptors", option, code=1)
    assert problem in refused

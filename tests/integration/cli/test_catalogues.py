"""Catalogues on the command line: a study from a table, and added and withdrawn rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.shell import adabkb


@pytest.fixture(autouse=True)
def _address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)


def written(tmp_path: Path, name: str, *rows: str) -> str:
    path = tmp_path / name
    path.write_text("\n".join(["molecule,size,charge", *rows]))
    return str(path)


def test_a_study_is_made_of_a_table_and_its_rows_are_changed(tmp_path: Path) -> None:
    definition = tmp_path / "definition.json"
    definition.write_text(json.dumps({"id": "from-a-table", "direction": "maximize"}))
    table = written(tmp_path, "molecules.csv", "a,1,2", "b,2,3", "c,3,1")
    adabkb("study", "create", str(definition), "--catalogue", f"molecule={table}")
    more = written(tmp_path, "more.csv", "d,5,5")
    adabkb("study", "change-catalogue", "from-a-table", "molecule", "--add", more, "--withdraw", "a", "--withdraw", "b")
    shown = json.loads(adabkb("study", "show", "from-a-table", "--json"))["parameters"][0]
    assert (shown["rows"], shown["withdrawn"]) == (4, 2)
    listed = adabkb("study", "rows", "from-a-table").splitlines()
    assert [line.split() for line in listed[-4:]] == [
        ["a", "1", "2", "withdrawn"],
        ["b", "2", "3", "withdrawn"],
        ["c", "3", "1"],
        ["d", "5", "5"],
    ]
    [row] = json.loads(adabkb("study", "rows", "from-a-table", "--containing", "D", "--json"))
    assert row == {"name": "d", "numbers": {"size": 5.0, "charge": 5.0}, "withdrawn": False}
    assert "No row of study from-a-table contains 'x'." in adabkb("study", "rows", "from-a-table", "--containing", "x")
    adabkb("study", "change-catalogue", "from-a-table", "molecule", "--restore", "b")
    assert json.loads(adabkb("study", "show", "from-a-table", "--json"))["parameters"][0]["withdrawn"] == 1


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("molecule", "--catalogue 'molecule' must be NAME=FILE"),
        ("molecule=missing.csv", "cannot read missing.csv"),
        ("b=table", "has a parameter 'b' that is not a catalogue"),
        ("molecule=wrong", "line 2, column 'size' must be a finite number"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, option: str, words: str) -> None:
    definition = tmp_path / "definition.json"
    definition.write_text(json.dumps({"direction": "maximize", "parameters": [{"name": "b", "kind": "bool"}]}))
    option = option.replace("=table", f"={written(tmp_path, 'a.csv', 'a,1,2')}")
    option = option.replace("=wrong", f"={written(tmp_path, 'b.csv', 'a,big,2', 'b,1,2')}")
    assert words in adabkb("study", "create", str(definition), "--catalogue", option, code=1)


def test_a_change_of_nothing_is_refused() -> None:
    assert "there is nothing to change" in adabkb("study", "change-catalogue", "s", "molecule", code=1)

"""``adabkb result import``: the client's import in terms of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from adabkb_client import Categorical, Float, Study
from tests.integration.cli.shell import adabkb


@pytest.fixture(autouse=True)
def _address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", address)


def test_a_file_is_tried_and_imported_once(create: Callable[..., Study], tmp_path: Path) -> None:
    study, file = create(), tmp_path / "a.csv"
    file.write_text("rate,layers,score,sd\n0.5,2,0.75,0.25\n0.5,9,1,\n")
    command = ("result", "import", study.id, str(file), "--column", "lr=rate", "--value", "score", "--std-error", "sd")
    tried = adabkb(*command, "--dry-run", code=1).splitlines()
    assert tried == [
        f"a.csv: 2 rows, 1 would be stored in study '{study.id}'",
        "invalid rows: 1. Correct them, and import again:",
        "  line 3, layers: is 9.0, outside [1, 5]",
        "  line 2: lr=0.5 layers=2: 0.75 ± 0.25",
    ]
    assert study.info().counts.observations == 0
    assert json.loads(adabkb(*command, "--json", code=1))["stored"] == 1
    assert "already stored: 1" in adabkb(*command, code=1)
    file.write_text("lr,layers,value\n0.5,3,1\n")
    assert adabkb("result", "import", study.id, str(file)).startswith("a.csv: 1 row, 1 stored in study")


def test_commas_and_choices_under_other_names_are_read(create: Callable[..., Study], tmp_path: Path) -> None:
    study, file = create(parameters={"x": Float(0, 1), "kernel": Categorical(["rbf", "linear"])}), tmp_path / "a.csv"
    file.write_text("x;kernel;value\n0,5;Gaussian;1,5\n")
    adabkb("result", "import", study.id, str(file), "--decimal", ",", "--map", "kernel.Gaussian=rbf")
    [result] = study.observations()
    assert (dict(result.parameters), result.value) == ({"x": 0.5, "kernel": "rbf"}, 1.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv"], "no column for parameter 'lr'; the columns are rate, layers, score. Name it: --column lr=COLUMN"),
        (["a.csv", "--column", "lr=rate"], "the columns are rate, layers, score. Name it: --value COLUMN"),
        (["a.csv", "--column", "lr=rate", "--value", "score", "--std-error", "se"], "Name it: --std-error COLUMN"),
        (["a.csv", "--column", "lr"], "--column 'lr' names no column; give --column PARAM=COLUMN"),
        (["a.csv", "--map", "layers=2"], "--map 'layers=2' is incomplete; give --map PARAM.CELL=CHOICE"),
        (["nowhere.csv"], "cannot read nowhere.csv: No such file or directory"),
        (["a.txt"], "a.txt cannot be imported; give a file with the ending .csv"),
    ],
)
def test_a_wrong_argument_is_named_with_the_remedy(
    create: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("rate,layers,score\n0.5,2,0.75\n")
    said = adabkb("result", "import", create().id, *arguments, code=1)
    assert message in said
    assert len(said.splitlines()) == 1

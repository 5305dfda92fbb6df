"""Descriptors of choices in the client: as they are declared, and from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabkb_client import Categorical, Client, Float

POLARITY, BOILING = [10.2, 5.2, 0.1], [100.0, 78.0, 69.0]
TABLE = "solvent,polarity,boiling point\nwater,10.2,100\nethanol,5.2,78\nhexane,0.1,69\n"


def described() -> Categorical:
    descriptors: dict[str, Any] = {"polarity": np.array(POLARITY), "boiling point": BOILING}
    return Categorical(["water", "ethanol", "hexane"], descriptors=descriptors)


def test_descriptors_reach_the_server_and_come_back(client: Client) -> None:
    study = client.create_study("solvents", {"solvent": described(), "x": Float(0, 1)}, direction="minimize")
    assert study.info().parameters[0]["descriptors"] == {"polarity": POLARITY, "boiling point": BOILING}
    study.update(parameters={"solvent": Categorical(["water", "DMF"], descriptors={"polarity": [10.2, 6.4]})})
    assert study.info().parameters[0]["descriptors"] == {"polarity": [10.2, 6.4]}
    assert study.suggest().parameters["solvent"] in {"water", "DMF"}


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        "\ufeff" + TABLE.replace(",", ";").replace(".", ","),
        TABLE.replace(",", "\t").replace("\n", "\r\n"),
        TABLE.replace("hexane", '"hexane"') + "\n",
    ],
    ids=["commas", "semicolons and decimal commas", "tabs", "quotation marks and an empty line"],
)
def test_choices_and_descriptors_come_from_a_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "solvents.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert Categorical.from_csv(path, when={"wet": [True]}).to_json() == {
        **described().to_json(),
        "when": {"wet": [True]},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("solvent\nwater\n", "only one column; add a column for each descriptor"),
        (TABLE + "water,1,2\n", "line 5: the choice 'water' occurs twice"),
        (TABLE + "DMF,,153\n", "line 5, column 'polarity' must be a finite number, not ''"),
        (TABLE + "DMF,6.4\n", "line 5, column 'boiling point' must be a finite number, not None"),
        (TABLE + "DMF,inf,153\n", "line 5, column 'polarity' must be a finite number, not 'inf'"),
        (TABLE + ",6.4,153\n", "line 5, column 'solvent' has no choice"),
        (TABLE + "DMF,6.4,153,9\n", "line 5: has 4 cells, but the header has 3"),
        ("solvent,polarity,polarity\nwater,1,2\n", "the header has a column twice"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "solvents.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=problem):
        Categorical.from_csv(path)


@pytest.mark.parametrize(
    ("descriptors", "kind", "problem"),
    [
        ({"polarity": [1.0]}, ValueError, "'polarity' has 1 numbers, but there are 2 choices"),
        ({"polarity": 1.0}, TypeError, "must have a list of numbers"),
        ({"polarity": "12"}, TypeError, "must have a list of numbers"),
        ([1.0, 2.0], TypeError, "must have lists of numbers by name"),
    ],
)
def test_descriptors_that_fit_no_choices_are_refused(descriptors: Any, kind: type[Exception], problem: str) -> None:
    with pytest.raises(kind, match=problem):
        Categorical(["a", "b"], descriptors=descriptors)


def test_numbers_that_are_not_finite_are_refused(client: Client) -> None:
    space = {"solvent": Categorical(["a", "b"], descriptors={"polarity": [1.0, float("nan")]})}
    with pytest.raises(ValueError, match="parameter 'solvent': descriptors must be finite, not nan"):
        client.create_study("s", space, direction="minimize")

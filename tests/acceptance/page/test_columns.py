"""What the scripts of the page take the columns and the cells of a pasted table for."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adabkb_client._importing import rows
from adabkb_service import page
from adabkb_service.operations.data.table import escaped
from tools.npm import NODE

ASSETS = Path(page.__file__).parent / "assets"
STUDY = {
    "parameters": [
        {"name": "temperature", "label": "Bath temperature", "kind": "float", "low": 20, "high": 120},
        {"name": "note", "kind": "categorical", "choices": ["a", "b"]},
    ],
    "quantities": {"value": {"label": "Yield", "unit": "%"}},
}


@pytest.mark.parametrize(
    ("header", "keys"),
    [
        (["Temp", "Ausbeute", "±", "Bemerkungen"], ["parameter:temperature", "value", "std_error", "note"]),
        (["Yield [%]", "Comments", "remark", "who"], ["value", "note", "", ""]),
        (["note", "Note", "status", "reason"], ["parameter:note", "note", "state", "reason"]),
    ],
)
def test_columns_are_recognized_by_their_names(header: list[str], keys: list[str]) -> None:
    found = run(f"columns.guess({json.dumps(header)}, columns.roles({json.dumps(STUDY)}))")
    assert found == keys


def test_cells_of_failed_experiments_are_told_from_those_without_a_result() -> None:
    cells = ["failed", " Fail. ", "fehlgeschlagen", "n.d.", "", "–", "0", "completed"]
    assert run(f"{json.dumps(cells)}.map(columns.isFailure)") == [True] * 3 + [False] * 5
    assert run(f"{json.dumps(cells)}.map(columns.isNothing)") == [False] * 3 + [True] * 3 + [False] * 2


def test_states_mean_the_same_as_in_the_client() -> None:
    failed, completed = list(rows.FAILED), list(rows.COMPLETED)
    assert run(f"{json.dumps(failed + completed)}.map(columns.isFailure)") == [True] * len(failed) + [False] * len(
        completed
    )
    assert run(f"{json.dumps(failed + completed)}.map(columns.isCompleted)") == [False] * len(failed) + [True] * len(
        completed
    )


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["987.5", "1,234.5", "1,234"], [987.5, 1234.5, 1234]),  # English
        (["987,5", "1.234,5", "1.234"], [987.5, 1234.5, 1234]),  # German
        (["1,234", "1,234,567"], [1234, 1234567]),
        (["1,234", "0,5"], [1.234, 0.5]),
        (["82,4 %", "1,234 %"], [82.4, 1.234]),
        (["−1,234", "0.5"], [-1234, 0.5]),
        (["1.234", "2.345"], [1.234, 2.345]),  # nothing reveals another sign
        (["1,234", "2,345"], [None, None]),
        (["1.5", "1,5", "1,234"], [1.5, 1.5, None]),  # the cells contradict each other
        (["12", "1 234"], [12, 1234]),
    ],
)
def test_any_cell_decides_what_a_comma_means_in_its_column(cells: list[str], numbers: list[float | None]) -> None:
    read = """(cells) => cells.map((cell) => {
        try { return columns.number(cell, "%", columns.decimalSign(cells)); } catch { return null; }
    })"""
    assert run(f"({read})({json.dumps(cells)})") == numbers


@pytest.mark.parametrize(
    ("cell", "unit", "number"),
    [
        ("82 %", "%", 82),
        ("82 %", "% ee", 82),
        ("82 % ee", "% ee", 82),
        ("82 %", None, None),  # the results may be fractions
        ("5 %", "g", None),
        ("5 g", "g", 5),
        ("0.81", "1", 0.81),  # a unit that is a digit
        ("21", "1", 21),
        ("21 1", "1", 21),
    ],
)
def test_only_the_unit_of_the_column_may_follow_a_number(cell: str, unit: str | None, number: float | None) -> None:
    read = "(cell, unit) => { try { return columns.number(cell, unit, '.'); } catch { return null; } }"
    assert run(f"({read})({json.dumps(cell)}, {json.dumps(unit)})") == number


def test_only_columns_of_numbers_decide_what_a_comma_means() -> None:
    """Choices, names of rows and fixed values may be texts such as 1,4-dioxane."""
    study = {
        "parameters": [
            {"name": "solvent", "kind": "categorical", "choices": ["1,4-dioxane", "2.2-DMP"]},
            {"name": "ligand", "kind": "catalogue", "rows": 2},
            {"name": "base", "kind": "fixed", "value": "1,8-DBU"},
            {"name": "grade", "kind": "ordinal", "values": ["1,5 fine", "2,5 coarse"]},
            {"name": "size", "kind": "ordinal", "values": [0.5, 1.234, 2]},
            {"name": "dose", "kind": "float", "low": 0, "high": 9000},
        ]
    }
    header = ["solvent", "ligand", "base", "grade", "size", "dose", "value"]
    rows = [
        ["1,4-dioxane", "1,3-diene", "1,8-DBU", "1,5 fine", "1.234", "2.345", "0.5"],
        ["1,4-dioxane", "1,3-diene", "1,8-DBU", "1,5 fine", "2", "1,234", "0.25"],
    ]
    read = """(study, header, rows) => {
        const known = columns.roles(study);
        const roles = columns.guess(header, known).map((key) => known.find((role) => role.key === key));
        const signs = columns.decimalSigns(rows.map((cells) => ({ cells })), roles);
        return rows.map((cells) => cells.map((cell, i) => roles[i].read(cell, signs[i])));
    }"""
    arguments = ", ".join(map(json.dumps, (study, header, rows)))
    assert run(f"({read})({arguments})") == [[*rows[0][:4], 1.234, 2.345, 0.5], [*rows[1][:4], 2, 1234, 0.25]]
    commas = [[cell.replace(".", ",") for cell in rows[0]], [*rows[1][:5], "1,234", "0,25"]]
    assert run(f"({read})({', '.join(map(json.dumps, (study, header, commas)))})") == [
        [*rows[0][:4], 1.234, 2.345, 0.5],
        [*rows[1][:4], 2, 1.234, 0.25],
    ]


def test_both_numbers_of_a_cell_decide() -> None:
    assert run(f"columns.decimalSign({json.dumps(['1,234 ± 0,5'])})") == ","
    assert run(f"columns.decimalSign({json.dumps(['A-1', ''])}) ?? null") is None


@pytest.mark.parametrize("note", ["=1+1", "'-x", "@x", "\tindented", "\rreturned", "'quoted"])
def test_cells_that_an_export_escapes_are_read_as_they_were(note: str) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([["note"], [escaped(note)]])
    (row,) = run(f"columns.read({json.dumps(file.getvalue())}).rows", "table")
    assert row["cells"] == [note]


def run(expression: str, script: str = "columns") -> Any:
    """The value of an expression of a script, which is named ``columns`` in it."""
    program = f"""
    const columns = await import({json.dumps((ASSETS / f"{script}.js").as_uri())});
    console.log(JSON.stringify({expression}));
    """
    command = [str(NODE), "--input-type=module", "-e", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return json.loads(done.stdout)

"""Excel files: openpyxl and the page read exactly what a study exports."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import datetime
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook

from adabkb_service.errors import Invalid
from adabkb_service.operations.data import sheet
from adabkb_service.operations.data.export import csv_rows, excel
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.words import wording
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Ask, Failure, Value, correct, observe, suggest

PARAMETERS: list[dict[str, Any]] = [
    {"name": "temperature", "kind": "float", "low": 0, "high": 200, "unit": "°C", "label": "Bath"},
    {"name": "solvent", "kind": "categorical", "choices": ["=1+1", "+DMF", "water", "Bath [°C]", None, [1, "a"]]},
    {"name": "is_dry", "kind": "bool", "label": "same"},
    {"name": "same", "kind": "int", "low": 0, "high": 9},
]
YIELD = {"label": "Yield", "unit": "%"}
NUMBERS = [0.1 + 0.2, 1 / 3, 1e-300, 12345678.912345678, 100.0]


def filled(running: Service) -> bytes:
    create(running, definition(parameters=PARAMETERS, quantities={"value": YIELD}))
    for i, number in enumerate(NUMBERS):
        point = {
            "temperature": 20 + number % 100,
            "solvent": PARAMETERS[1]["choices"][i],
            "is_dry": i % 2 == 0,
            "same": i,
        }
        observe(running, "s", Value(number, std_error=number / 7, parameters=point))
    suggest(running, "s", Ask())
    observe(running, "s", Failure(1, reason="=HYPERLINK(\x01)"))
    correct(running, "s", 2, {"excluded": True})
    return b"".join(excel(running, "s"))


def test_sheet_has_every_row_with_names_units_and_exact_numbers(running: Service) -> None:
    book = load_workbook(io.BytesIO(filled(running)))
    header, *rows = book["results"].iter_rows(values_only=True)
    assert header == (
        *("Trial", "State", "Bath [°C]", "solvent", "parameters.is_dry", "parameters.same", "Yield [%]", "± [%]"),
        *("Reason", "Note", "Worker", "Attempt", "Why", "Started (UTC)", "Finished (UTC)", "Duration [s]"),
        *("Result number", "When (UTC)", "Excluded", "Outside the ranges"),
    )
    records = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["State"] for row in records] == ["failed", *["completed"] * 5]
    assert [row["Yield [%]"] for row in records[1:]] == NUMBERS
    assert [row["± [%]"] for row in records[1:]] == [number / 7 for number in NUMBERS]
    assert [row["Excluded"] for row in records[1:]] == ["no", "yes", "no", "no", "no"]
    assert records[1]["solvent"] == "=1+1"
    assert records[3]["solvent"] == "water"
    assert (records[5]["solvent"], records[0]["Reason"]) == ("null", "=HYPERLINK(\ufffd)")
    assert records[0]["Started (UTC)"] == records[1]["When (UTC)"] == datetime(2026, 1, 1)  # noqa: DTZ001
    kinds = {cell.data_type for row in book["results"].iter_rows() for cell in row}
    assert "f" not in kinds, "no cell is a formula"


def test_sheet_has_the_rows_of_the_csv(running: Service) -> None:
    """The same rows in the same order; the CSV in words has the same words, and times to the second."""
    content = filled(running)
    of_sheet = list(csv.reader(io.StringIO(sheet.read(content)), delimiter="\t"))
    of_csv, raw = (list(csv.reader(csv_rows(running, "s", in_words=in_words))) for in_words in (True, False))
    assert of_sheet[0] == of_csv[0] != raw[0]
    for name in ("state", "origin", "excluded", "outside"):
        place = raw[0].index(name)
        of_each = [[(row + [""] * 20)[place] for row in table[1:]] for table in (of_sheet, of_csv)]
        assert of_each[0] == of_each[1]
    place = raw[0].index("origin")
    assert {row[place] for row in of_csv[1:]} <= {*wording.PHASES.values(), wording.OWN_POINT}
    assert {row[place] for row in raw[1:]} == {"policy", ""}
    place = raw[0].index("observed_at")
    assert [table[2][place] for table in (of_csv, raw)] == ["2026-01-01 00:00:00", "2026-01-01T00:00:00Z"]


def test_uploaded_sheet_is_read_unchanged() -> None:
    book = Workbook()
    book.active.append(["x", None, "a\tb", 'say "no"', 0.25, 3, True])
    book.active.append(["", "", None])
    book.active.append(["two\nlines"])
    file = io.BytesIO()
    book.save(file)
    assert sheet.read(file.getvalue()) == 'x\t\t"a\tb"\t"say ""no"""\t0.25\t3\ttrue\n\n"two\nlines"\n'


def unpacking(size: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b" " * size)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a valid .xlsx file"),
        (b"x,value\n1,2\n", "is not a valid .xlsx file"),
        (unpacking(10), "is not a valid .xlsx file"),
        (unpacking(sheet.MAX_BYTES + 1), "at most 67,108,864 are read"),
    ],
    ids=["empty", "csv", "other-zip", "bomb"],
)
def test_invalid_or_too_large_file_is_rejected(content: bytes, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        sheet.read(content)
    assert message in refused.value.errors[0].detail


@pytest.mark.long
def test_sheet_with_too_many_rows_is_rejected() -> None:
    book = Workbook(write_only=True)
    rows = book.create_sheet()
    for i in range(sheet.MAX_ROWS + 2):
        rows.append([i])
    file = io.BytesIO()
    book.save(file)
    with pytest.raises(Invalid) as refused:
        sheet.read(file.getvalue())
    assert "has more than 20,000 rows" in refused.value.errors[0].detail

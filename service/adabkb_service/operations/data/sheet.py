"""Excel files: write the table of a study as a sheet, and read a user's sheet as text.

Numbers are written and read exactly. Excel shows at most 15 digits of a number, but stores all. Times are in UTC, since
cells have no time zone.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import IO, Any

from sqlalchemy import Connection

from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import FieldError, Invalid
from adabkb_service.operations.data import table
from adabkb_service.storage.rows import StudyRow

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_BYTES = 64 * 2**20
"""The maximum unpacked size of a file, in bytes. (A small file may unpack to any size.)"""
MAX_ROWS, MAX_COLUMNS = 20_000, 400
"""The maximum number of rows and columns of a sheet that is read."""
TIME_FORMAT = "yyyy-mm-dd hh:mm:ss"
MAX_WIDTH = 40
"""The maximum width of a column, in characters."""
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def write(connection: Connection, study: StudyRow, file: IO[bytes]) -> None:
    """Write the table of a study (``table.rows`` with ``in_words``) as an Excel file."""
    from openpyxl import Workbook  # noqa: PLC0415 (a slow import)
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415
    from openpyxl.styles import Font  # noqa: PLC0415
    from openpyxl.utils import get_column_letter  # noqa: PLC0415

    book = Workbook(write_only=True)
    sheet = book.create_sheet("results")
    names = table.columns(connection, study, in_words=True)
    headers = table.titles(definition_of(study.definition), names)
    for place, header in enumerate(headers, 1):
        min_width = len(TIME_FORMAT) + 2 if header.endswith("(UTC)") else 9
        sheet.column_dimensions[get_column_letter(place)].width = min(max(len(header) + 2, min_width), MAX_WIDTH)
    sheet.freeze_panes = "A2"

    def cell(value: Any, *, is_bold: bool = False) -> Any:
        written = WriteOnlyCell(sheet)
        if isinstance(value, float):
            written.value, written.data_type = repr(value), "n"  # openpyxl itself would write 16 digits
        elif isinstance(value, str):
            # A text that begins with "=" must stay text, and not become a formula.
            written.value, written.data_type = NOT_IN_XML.sub("\ufffd", value), "s"
            written.quotePrefix = bool(table.FORMULA.match(value))
        else:
            written.value = value
        if isinstance(value, datetime):
            written.number_format = TIME_FORMAT
        if is_bold:
            written.font = Font(bold=True)
        return written

    sheet.append([cell(header, is_bold=True) for header in headers])
    for row in table.rows(connection, study, in_words=True):
        sheet.append([cell(row.get(name)) for name in names])
    book.save(file)


def read(content: bytes) -> str:
    """Return the first sheet of an Excel file as text: a line per row, cells separated by tabs and quoted as in CSV.

    Raises:
        Invalid: the file is not an Excel file, or is too large.
    """
    written = io.StringIO()
    lines = csv.writer(written, delimiter="\t", lineterminator="\n")
    for count, row in enumerate(_rows(content), 1):
        if count > MAX_ROWS + 1:
            raise _error(f"has more than {MAX_ROWS:,} rows below its header; split it into several files")
        lines.writerow(row)
    return written.getvalue()


def _rows(content: bytes) -> Iterator[list[str]]:
    from openpyxl import load_workbook  # noqa: PLC0415 (a slow import)

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > MAX_BYTES:
            raise _error(f"unpacks to {size:,} bytes; at most {MAX_BYTES:,} are read")
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # the size stated in the file may be wrong
        for row in sheet.iter_rows(max_row=MAX_ROWS + 2, max_col=MAX_COLUMNS, values_only=True):
            cells = [_text(value) for value in row]
            while cells and not cells[-1]:
                cells.pop()
            yield cells
        book.close()
    except Invalid:
        raise
    except Exception as error:  # openpyxl raises various errors for invalid files
        raise _error(f"is not a valid .xlsx file ({type(error).__name__}); save it as .xlsx or CSV") from error


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def _error(sentence: str) -> Invalid:
    return Invalid([FieldError("", f"The file {sentence}.", "sheet")])

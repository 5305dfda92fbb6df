"""GET /v1/studies/{id}/export: all data of a study, as of one moment.

The export is first written into a temporary file, within one transaction, and then sent. So a slow client does not keep
a transaction open, and memory does not limit the size. ``importing`` reads the JSON lines.
"""

from __future__ import annotations

import csv
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import Any, TextIO, cast

from pydantic import BaseModel
from sqlalchemy import Connection

from adabkb_service.contract.exported import FORMAT, CellLine, DictionaryLine, FileLine, KeyLine, ModelLine, ReportLine
from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import Unavailable
from adabkb_service.operations.data import sheet, table
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import manage
from adabkb_service.storage import events, files, idempotency, observations, reports, studies, trials
from adabkb_service.storage import model as rows
from adabkb_service.storage.rows import CellStatus, EventRow, StudyRow, as_values
from adabkb_service.study import lifecycle, render

BYTES_IN_MEMORY = 2**20
BYTES_PER_PIECE = 2**16


Write = Callable[[Connection, StudyRow, TextIO], None]


def json_lines(service: Service, study_id: str, *, with_keys: bool = True) -> Iterator[str]:
    """Yield the study, its trials, observations, reports, files, events, model rows and idempotency keys. Each line is
    a JSON object with its kind as ``type``. The study's follower stores its model first. Other servers export the model
    rows as stored, which may lack the last events; an import then folds these.

    Args:
        service: the running service.
        study_id: the study's id.
        with_keys: whether to include idempotency keys and the stored answers. Users with read access only must not see
            them.

    Raises:
        StudyNotFound: the study does not exist; raised before the first line.
        Busy: too many requests wait for the model; raised before the first line.
    """
    if service.follows(study_id):
        with suppress(Unavailable):  # without the model or a writable database, the rows are exported as stored
            service.ask(study_id, "stored")
            service.do(replace(manage.get(study_id), stores_model_stats=True))
    return _snapshot(service, study_id, partial(write_json, with_keys=with_keys))


def csv_curves(service: Service, study_id: str) -> Iterator[str]:
    """Yield the intermediate values of trials as CSV, one report per line, ordered by trial, attempt and step.

    Raises:
        StudyNotFound: the study does not exist; raised before the first line.
    """
    return _snapshot(service, study_id, _write_curves)


def csv_rows(service: Service, study_id: str, *, has_commas: bool = False, in_words: bool = False) -> Iterator[str]:
    """Yield the trials and the results as CSV. ``has_commas`` and ``in_words`` are as in ``table.write``.

    Raises:
        StudyNotFound: the study does not exist; raised before the first line.
    """
    return _snapshot(service, study_id, partial(table.write, has_commas=has_commas, in_words=in_words))


def excel(service: Service, study_id: str) -> Iterator[bytes]:
    """Yield the bytes of an Excel file with the rows of ``csv_rows``, in the format of ``sheet``.

    Raises:
        StudyNotFound: the study does not exist; raised before the first bytes.
    """
    spool = SpooledTemporaryFile(BYTES_IN_MEMORY)  # noqa: SIM115 - _pieces closes it
    try:
        with service.database.reading() as connection:
            sheet.write(connection, studies.get(connection, study_id), spool)
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return _pieces(spool)


def _pieces(spool: SpooledTemporaryFile[bytes]) -> Iterator[bytes]:
    with spool:
        yield from iter(partial(spool.read, BYTES_PER_PIECE), b"")


def _snapshot(service: Service, study_id: str, write: Write) -> Iterator[str]:
    spool = SpooledTemporaryFile(BYTES_IN_MEMORY, "w+", encoding="utf-8", newline="")  # noqa: SIM115 - sent closes it
    try:
        with service.database.reading() as connection:
            write(connection, studies.get(connection, study_id), cast("TextIO", spool))
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return sent(spool)


def sent(spool: SpooledTemporaryFile[str]) -> Iterator[str]:
    """Yield the content of a temporary file, and close it."""
    with spool:
        yield from spool


def write_json(connection: Connection, study: StudyRow, file: TextIO, *, with_keys: bool = True) -> None:
    """Write the export of a study into a file, in the format of ``json_lines``."""

    def line(kind: str, /, **fields: Any) -> None:
        file.write(json.dumps({"type": kind, **fields}, ensure_ascii=False) + "\n")

    def shown(kind: str, view: BaseModel) -> None:
        line(kind, **view.model_dump(mode="json"))

    definition = definition_of(study.definition)
    view = lifecycle.full_view(study, definition)
    line("study", format=FORMAT, **view.model_dump(mode="json"), last_file=study.last_file)
    for trial in chain.from_iterable(trials.all_pages(connection, study.id)):
        shown("trial", render.trial(trial, definition))
    space = definition.space()
    for observation in observations.all_rows(connection, study.id):
        shown("observation", render.observation(observation, definition, space))
    for report in reports.all_rows(connection, study.id):
        shown("report", render.report_line(report))
    for each in files.page(connection, study.id, 0):
        content = b64encode(files.content(connection, study.id, each.number)).decode()
        shown("file", FileLine.model_validate({**as_values(each), "content": content}))
    for event in events.all_rows(connection, study.id):
        file.write(event_line(event))
    figures = None if study.model is None else {**study.model, "learned": study.checkpoint}
    model = ModelLine(
        model_seq=study.model_seq, figures=figures, error=study.model_error, engine_revision=study.engine_revision
    )
    shown("model", model)
    for key, status in rows.read_cells(connection, study.id).items():
        shown("cell", CellLine(key=key, status=cast("CellStatus", status)))
    for ordinal in rows.read_dictionary(connection, study.id):
        shown("dictionary", DictionaryLine(ordinal=ordinal))
    for stored_key in idempotency.of_study(connection, study.id) if with_keys else ():
        shown("key", KeyLine.model_validate(stored_key, from_attributes=True))


def event_line(event: EventRow) -> str:
    """Return the line of an event in an export. The report about a study (``reports/study_report.py``) contains the
    SHA-256 hash of these lines."""
    return json.dumps({"type": "event", **render.event(event).model_dump(mode="json")}, ensure_ascii=False) + "\n"


def _write_curves(connection: Connection, study: StudyRow, file: TextIO) -> None:
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(ReportLine.model_fields)
    for report in reports.all_rows(connection, study.id):
        lines.writerow(render.report_line(report).model_dump(mode="json").values())

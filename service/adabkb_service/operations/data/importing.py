"""``adabkb data import``: restore a study from its export, into any database. The study continues from the exported
state.

The import is a pipeline: lines -> log -> ``ReplayState`` -> rows. The rows follow from the log, which is the source of
truth. The other lines add what the log does not hold: the ends of leases, the files, the rows of the model, and the
answers stored under idempotency keys. All lines are checked before the first row is written. The log and the rows that
follow from it are in memory; of the other lines, only a few at a time.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from tempfile import TemporaryFile
from typing import cast

from sqlalchemy import Connection

from adabkb_service.contract import answers as views
from adabkb_service.contract.exported import ModelLine, StudyLine
from adabkb_service.errors import AdaBKBError, StudyExists
from adabkb_service.operations.data import doctor
from adabkb_service.operations.data.exported_lines import ExportedLines
from adabkb_service.operations.data.import_checks import (
    ModelRows,
    RowChecks,
    check_key,
    check_model,
    check_restorable,
    check_study,
)
from adabkb_service.storage import events, files, idempotency, observations, removal, reports, studies, trials
from adabkb_service.storage import model as model_rows
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.container_writer import ContainerWriter, container_writer
from adabkb_service.storage.database import Database
from adabkb_service.storage.files import FileRow
from adabkb_service.storage.rows import EventRow, KeyRow, StudyRow, event_row
from adabkb_service.study import lifecycle
from adabkb_service.study.replay_state import ReplayState, replayed

ROW_BYTES = 2**13
"""To write a line of this size takes about as long as to write two small rows."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A study all of whose lines were checked."""

    study: StudyRow
    log: list[EventRow]
    logged: ReplayState
    """Its trials have their leases."""
    model: ModelRows


def nothing(_: Connection, __: StudyRow) -> None:
    """Write nothing. The default for ``also`` of ``import_study``."""


def import_study(
    database: Database,
    lines: Iterable[str],
    also: Callable[[Connection, StudyRow], None] = nothing,
    *,
    from_trash: bool = False,
) -> views.Study:
    """Import a study, in short transactions. The study becomes readable when the last transaction is committed. If the
    import fails, it leaves nothing.

    Args:
        database: the database, which must have this version's schema. Its other studies are not changed.
        lines: the lines of an export.
        also: performs further writes in the last transaction; if it raises, the import is undone.
        from_trash: whether this service itself wrote the lines and kept them in its database. Then it does not restore
            the model to check it, which would take long and block the other threads of a server.

    Raises:
        Contention: another request is creating, deleting or restoring this study.
        Invalid: a line is invalid or contradicts the log. The message gives its number and the remedy.
        StudyExists: a study with this id exists.
        Exception: an error of ``lines`` or of ``also``, unchanged.
    """
    with TemporaryFile(prefix="adabkb-") as file:
        exported = ExportedLines(lines, file)
        checked = _checked(exported, from_trash=from_trash)
        study = checked.study
        with database.reading() as connection:
            if studies.find(connection, study.id) is not None:
                raise StudyExists(
                    f"There is a study {study.id!r} in this database; delete it first, or import into another one."
                )
        remove_abandoned = partial(removal.remove_abandoned, database, study.id, database.now, math.inf)
        remove_abandoned()
        try:
            with container_writer(database, study.id, database.now) as container:
                _add_content(container, checked, exported)
                with container.last_transaction() as connection:
                    studies.add(connection, study)
                    also(connection, study)
        except BaseException:
            with suppress(AdaBKBError):  # if it fails, a sweep or the next import removes the rows
                remove_abandoned()
            raise
    return lifecycle.full_view(study)


def _checked(exported: ExportedLines, *, from_trash: bool) -> Checked:
    """Rebuild a study from its log, and check all lines."""
    shown: StudyLine = exported.read("study")
    log = list(exported.each("event", lambda event: event_row(shown.id, **dict(event))))
    with exported.naming("event"):
        logged = replayed(shown.id, log)
    for place, contradiction in logged.contradictions:
        exported.refuse("event", place, contradiction)
    with exported.naming("study"):
        check_study(logged, shown)
        checks = RowChecks(logged, shown.last_file)
    logged.trials.update((row.number, row) for row in exported.each("trial", checks.trial))
    exported.check("observation", checks.observation)
    exported.check("report", checks.report)
    checks.check_complete()
    exported.check("file", checks.file)
    with exported.naming("model"):
        study = _study(shown, exported.read("model"), logged)
    model = ModelRows(doctor.count_points(logged.trials.values(), logged.observations))
    exported.check("cell", model.add_cell)
    exported.check("dictionary", model.add_to_dictionary)
    check_model(exported, study, log, logged, model)
    if not from_trash:
        check_restorable(exported, study, log, model)
    exported.check("key", partial(check_key, study.id))
    return Checked(study, log, logged, model)


def _study(shown: StudyLine, model: ModelLine, logged: ReplayState) -> StudyRow:
    figures = dict(model.figures or {})  # with the fields of ``ModelStats``, which ``SoundModelLine`` checks
    checkpoint = figures.pop("learned", None)
    row = replace(
        logged.study,
        created_at=shown.created_at,
        updated_at=shown.updated_at,
        model_seq=model.model_seq,
        model=cast("ModelStats", figures) if figures else None,
        model_error=model.error,
        checkpoint=checkpoint,
        engine_revision=model.engine_revision,
        last_file=shown.last_file,
    )
    return replace(row, state=lifecycle.status(row)[0])


def _add_content(container: ContainerWriter, checked: Checked, exported: ExportedLines) -> None:
    """Add the rows of a study besides its own. A row comes after the rows that it refers to. Files and keys, which may
    be large, are given by the indices of their lines."""
    study_id, logged = checked.study.id, checked.logged
    container.add(trials.add, logged.trials.values())
    container.add(observations.add, logged.observations.values())
    container.add(events.add, checked.log)
    container.add(reports.add, logged.reports.values())
    container.add(partial(_write_cells, study_id), checked.model.cells.items())
    container.add(partial(_write_dictionary, study_id), checked.model.dictionary)
    large: dict[str, Callable[[str, ExportedLines, Connection, Sequence[int]], None]]
    large = {"file": _write_files, "key": _write_keys}
    for kind, write in large.items():
        container.add(partial(write, study_id, exported), range(exported.count(kind)), partial(_cost, exported, kind))


def _cost(exported: ExportedLines, kind: str, index: int) -> int:
    return 1 + exported.size(kind, index) // ROW_BYTES


def _write_files(study_id: str, exported: ExportedLines, connection: Connection, indices: Sequence[int]) -> None:
    for index in indices:
        line = exported.read("file", index)
        row = FileRow(study_id=study_id, **line.model_dump(exclude={"content"}))
        files.add(connection, row, b64decode(line.content))


def _write_cells(study_id: str, connection: Connection, rows: Sequence[tuple[str, str]]) -> None:
    model_rows.write_cells(connection, study_id, dict(rows))


def _write_dictionary(study_id: str, connection: Connection, rows: Sequence[int]) -> None:
    model_rows.write_dictionary(connection, study_id, added=rows, removed=[])


def _write_keys(study_id: str, exported: ExportedLines, connection: Connection, indices: Sequence[int]) -> None:
    """Write the idempotency keys that this database does not have yet. The key with which the study was created may be
    in use."""
    for index in indices:
        kept = exported.read("key", index)
        if idempotency.find(connection, kept.scope, kept.key) is None:
            idempotency.add(connection, [KeyRow(study_id=study_id, **dict(kept))])

"""``adabkb data import``: restore a study from its export, into any database. The study continues from the exported
state.

The rows are rebuilt from the log, which is the source of truth. The other lines of the export add what the log does not
hold: the ends of leases, the files, the rows of the model, and the answers stored under idempotency keys. Since a file
may have been altered, all lines are checked before anything is committed: they must agree with the log, and the model
must be restorable. Contents of files are kept on disk meanwhile (``FileContents``), everything else in memory.
"""

from __future__ import annotations

import logging
import math
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple, NoReturn, cast

from pydantic import ValidationError
from sqlalchemy import Connection

from adabkb_service.contract import answers as views
from adabkb_service.contract import strict
from adabkb_service.contract.budget import cost_budget_of
from adabkb_service.contract.exported import FORMAT, LINES, FileLine, KeyLine, ModelLine, StudyLine
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.contract.stored import definition_of, edited, first_stored
from adabkb_service.contract.wording import sentence
from adabkb_service.engine.space import Space
from adabkb_service.errors import Contention, FieldError, Invalid, StudyExists
from adabkb_service.operations.data import doctor
from adabkb_service.operations.data.file_contents import FileContents
from adabkb_service.storage import events, files, idempotency, observations, removal, reports, studies, trials
from adabkb_service.storage import model as model_rows
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.container_writer import container_writer
from adabkb_service.storage.database import Database
from adabkb_service.storage.files import FileRow
from adabkb_service.storage.rows import EventRow, KeyRow, StudyRow, TrialRow, created_row, event_row
from adabkb_service.storage.tables import metadata
from adabkb_service.study import lifecycle, render
from adabkb_service.study.replay_state import ReplayState, replayed

logger = logging.getLogger(__name__)


class Line(NamedTuple):
    """A line of the file."""

    number: int
    """Line number, from 1."""
    content: Any
    """The parsed line: an instance of the class that ``LINES`` gives for its ``type``."""


Add = Callable[[Callable[[Connection, Any], Any], Iterable[Any]], None]
"""Adds rows: called with a function that writes several rows, and with the rows."""
ROWS_PER_PIECE = 1000
"""The number of rows that are written into the temporary database at a time."""
Lines = dict[str, list[Line]]
"""``type`` -> lines of this type."""


def nothing(_: Connection, __: StudyRow) -> None:
    """Write nothing. The default for ``also`` of ``import_study``."""


def import_study(
    database: Database,
    lines: Iterable[str],
    also: Callable[[Connection, StudyRow], None] = nothing,
    *,
    from_trash: bool = False,
) -> views.Study:
    """Import a study, in short transactions. The study becomes readable when the last transaction is committed.

    Args:
        database: the database, which must have this version's schema. Its other studies are not changed.
        lines: the lines of an export.
        also: performs further writes in the last transaction; if it raises, the import is undone.
        from_trash: whether this service itself wrote the lines and kept them in its database. Then it does not restore
            the model to check it, which would take long and block the other threads of a server.

    Raises:
        Contention: another request is creating, deleting or restoring this study.
        Invalid: a line is invalid (the message gives its number), or the log contradicts the other lines.
        StudyExists: a study with this id exists.
        Exception: an error of ``lines`` or of ``also``, unchanged.
    """
    with TemporaryFile(prefix="adabkb-") as file:
        contents = FileContents(file)
        found = _parse(lines, contents)
        try:
            study, write = _checked(found, contents, from_trash=from_trash)
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            # An altered log may cause any of these errors, but so may a fault of this code.
            logger.info("the lines of an export contradict each other", exc_info=True)
            raise _invalid(f"its lines contradict each other ({type(error).__name__})") from error
        with database.reading() as connection:
            if studies.find(connection, study.id) is not None:
                raise StudyExists(
                    f"There is a study {study.id!r} in this database; delete it first, or import into another one."
                )
        removal.remove_abandoned(database, study.id, database.now, math.inf)
        with container_writer(database, study.id, database.now) as container:
            write(container.add)
            container.add(partial(_write_keys, study.id), _contents(found, "key"))
            with container.last_transaction() as connection:
                studies.add(connection, study)
                also(connection, study)
    return lifecycle.full_view(study)


def _checked(found: Lines, contents: FileContents, *, from_trash: bool) -> tuple[StudyRow, Callable[[Add], None]]:
    """Return the row of the study, and what adds its other rows, except idempotency keys. If the log was altered, any
    error may be raised."""
    (shown,), (model,) = _contents(found, "study"), _contents(found, "model")
    log = [event_row(shown.id, **dict(event)) for event in _contents(found, "event")]
    try:
        logged = replayed(shown.id, log)
    except ValueError as error:
        raise _invalid(_text_of(error)) from error
    if logged.contradictions:
        raise _invalid(logged.contradictions[0])
    for excluded in logged.definition.exclusions().values():
        raise _invalid(excluded)
    trial_rows = _trials(logged, found["trial"])
    _check_results(logged, found["observation"])
    _check_reports(logged, found["report"])
    _check_files(logged, found["file"], shown.last_file)
    _check_limits(logged, shown, found["study"][0].number)
    study = _study(shown, model, logged)
    _check_rows_of_model(study, log, found)
    if not from_trash:
        _check_model(study, log, found)
    _check_keys(study, found["key"])

    def write(add: Add) -> None:
        add(trials.add, trial_rows)
        add(observations.add, logged.observations.values())
        add(events.add, log)
        add(partial(_write_files, study.id, contents), _contents(found, "file"))
        add(reports.add, logged.reports.values())
        add(partial(_write_cells, study.id), _cells(found).items())
        add(partial(_write_dictionary, study.id), _ordinals(found))

    _examine_copy(study, write)
    return study, write


def _write_cells(study_id: str, connection: Connection, rows: Sequence[tuple[str, str]]) -> None:
    model_rows.write_cells(connection, study_id, dict(rows))


def _write_dictionary(study_id: str, connection: Connection, rows: Sequence[int]) -> None:
    model_rows.write_dictionary(connection, study_id, added=rows, removed=[])


def _write_keys(study_id: str, connection: Connection, rows: Sequence[KeyLine]) -> None:
    """Write the idempotency keys that this database does not have yet. The key with which the study was created may be
    in use."""
    for kept in rows:
        if idempotency.find(connection, kept.scope, kept.key) is None:
            idempotency.add(connection, [KeyRow(study_id=study_id, **dict(kept))])


def _write_files(study_id: str, contents: FileContents, connection: Connection, rows: Sequence[FileLine]) -> None:
    for each in rows:
        fields = each.model_dump(exclude={"content"})
        files.add(connection, FileRow(study_id=study_id, **fields), contents.of(each.number))


def _examine_copy(study: StudyRow, write: Callable[[Add], None]) -> None:
    """Write a study into a temporary database and examine it there, so that no transaction of the real database waits.
    The time needed grows with the length of the log.

    Raises:
        Invalid: the study is inconsistent.
    """
    with TemporaryDirectory(prefix="adabkb-") as folder, closing(Database(Path(folder, "copy.db"))) as database:
        try:
            with database.writing() as connection:
                metadata.create_all(connection)
                studies.create(connection, study)
                write(partial(_add_in_pieces, connection))
        except Contention as error:
            raise _invalid("a line is duplicated or incomplete") from error
        with database.reading() as connection:
            for finding in doctor.examine_study(connection, study):
                raise _invalid(finding.what)


def _add_in_pieces(
    connection: Connection, add: Callable[[Connection, Sequence[Any]], Any], several: Iterable[Any]
) -> None:
    remaining = iter(several)
    while some := list(islice(remaining, ROWS_PER_PIECE)):
        add(connection, some)


def _parse(lines: Iterable[str], contents: FileContents) -> Lines:
    """Parse the lines, and return them by type. The contents of files are added to ``contents`` instead."""
    found: Lines = {kind: [] for kind in LINES}
    for number, line in enumerate(lines, 1):
        try:
            fields = strict.loads(line)
            for path, message, _ in strict.find_errors(fields):
                raise ValueError(f"{'.'.join(map(str, strict.steps(path)))} {message}".strip())
            kind = fields.pop("type")
            if number == 1 and (kind != "study" or fields.pop("format", None) != FORMAT):
                raise ValueError(f"an export of format {FORMAT} must start with the study")
            content = LINES[kind].model_validate(fields)
            if isinstance(content, FileLine):
                contents.add(content.number, b64decode(content.content))
                content = content.model_copy(update={"content": ""})
            found[kind].append(Line(number, content))
        except ValidationError as error:
            _refuse_invalid(number, error)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            _refuse(number, str(error), error)
    if len(found["study"]) != 1 or len(found["model"]) != 1 or not found["event"]:
        raise _invalid("it does not contain a complete study; the file may be truncated")
    return found


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


def _contents(found: Lines, kind: str) -> list[Any]:
    return [line.content for line in found[kind]]


def _cells(found: Lines) -> dict[str, str]:
    return {cell.key: cell.status for cell in _contents(found, "cell")}


def _ordinals(found: Lines) -> list[int]:
    return [row.ordinal for row in _contents(found, "dictionary")]


def _trials(logged: ReplayState, shown: list[Line]) -> list[TrialRow]:
    """Return the trials rebuilt from the log, with the lengths and ends of their leases from the file. Refuse a trial
    in the file that differs from the log."""
    lines = {line.content.number: line for line in shown}
    _check_complete("trials", logged.trials, lines, shown)
    trial_rows = []
    for number, row in logged.trials.items():
        at, trial = lines[number]
        trial_rows.append(replace(row, lease_seconds=trial.lease_seconds, leased_until=trial.leased_until))
        if dict(render.trial(trial_rows[-1], logged.definition)) != dict(trial):
            _refuse(at, f"trial {number} differs from the log")
    return trial_rows


def _check_results(logged: ReplayState, shown: list[Line]) -> None:
    """Check that the results rebuilt from the log are those in the file."""
    lines, definition = {line.content.seq: line for line in shown}, logged.definition
    space = definition.space()
    _check_complete("observations", logged.observations, lines, shown)
    for seq, row in logged.observations.items():
        at, observation = lines[seq]
        numbers = [observation.value or 0.0, *(observation.metrics or {}).values()]
        if dict(render.observation(row, definition, space)) != dict(observation) or not all(
            map(math.isfinite, numbers)
        ):
            _refuse(at, f"observation {seq} differs from the log")


def _check_reports(logged: ReplayState, shown: list[Line]) -> None:
    """Check that the reports rebuilt from the log are those in the file."""
    lines = {(line.content.trial, line.content.attempt, line.content.step): line for line in shown}
    _check_complete("reports", logged.reports, lines, shown)
    for place, row in logged.reports.items():
        at, each = lines[place]
        if render.report_line(row) != each:
            _refuse(at, f"the report of trial {row.trial} at step {row.step} differs from the log")


def _check_files(logged: ReplayState, shown: list[Line], last: int) -> None:
    """Check that files belong to existing trials or to existing results without a trial, and that their numbers are
    unique and at most ``last``."""
    numbers = set[int]()
    for at, each in shown:
        if each.observation is None and each.trial not in logged.trials:
            _refuse(at, f"the file belongs to trial {each.trial}, which does not exist")
        if each.observation is not None:
            result = logged.observations.get(each.observation)
            if result is None or result.trial is not None or each.trial is not None:
                _refuse(at, f"the file belongs to result {each.observation}, which is not a result without a trial")
        if each.number in numbers:
            _refuse(at, f"file {each.number} occurs twice")
        if each.number > last:
            _refuse(at, f"file {each.number} has a larger number than last_file of the study, {last}")
        numbers.add(each.number)


def _check_complete(name: str, logged: Collection[Any], lines: Mapping[Any, Line], shown: list[Line]) -> None:
    """Check that each item of the log has exactly one line, and that there are no other lines."""
    if lines.keys() != set(logged) or len(lines) != len(shown):
        raise _invalid(f"its {name} differ from those of its log; the file may be truncated")


def _check_limits(logged: ReplayState, shown: views.Study, at: int) -> None:
    """Check that the study's limits agree with the log and are valid."""
    limits = {name: getattr(logged.study, name) for name in IN_COLUMNS}
    is_cost = cost_budget_of(logged.study.definition) is not None
    expected = limits | ({"budget": logged.study.definition["budget"]} if is_cost else {})
    if shown.model_dump(include=set(limits)) != expected or shown.seed != logged.study.seed:
        _refuse(at, "the study's limits or seed differ from the log")
    try:
        PatchStudyBody.model_validate(limits)
    except ValidationError as error:
        _refuse_invalid(at, error)


def _check_rows_of_model(study: StudyRow, log: list[EventRow], found: Lines) -> None:
    """Check that the cells form a tree, and that the rows of the model agree with the log."""
    cells, at = _cells(found), found["model"][0].number
    cell_lines = {line.content.key: line.number for line in found["cell"]}
    if len(cells) < len(found["cell"]):
        raise _invalid("a cell occurs twice")
    for key, what in doctor.broken_tree(cells):
        _refuse(cell_lines.get(key, at), what)
    for number, row in found["dictionary"]:
        if row.ordinal >= study.observations + study.stopped:
            points = study.observations + study.stopped
            _refuse(number, f"the dictionary has point {row.ordinal}, but there are only {points} points")
    if study.model is not None and study.model["rests_on"] > log[-1].seq:
        _refuse(at, f"the figures depend on event {study.model['rests_on']}, but the last event is {log[-1].seq}")
    learned, dimension = study.checkpoint or {}, _space(log, study.model_seq).dimension
    if len(learned.get("lengthscales", range(dimension))) != dimension:
        _refuse(at, "the model needs one lengthscale per parameter")
    if (part := learned.get("additive")) and len(part["shares"]) != dimension:
        _refuse(at, "the additive part of the model needs one share per parameter")


def _check_model(study: StudyRow, log: list[EventRow], found: Lines) -> None:
    """Check that the model can be restored, and that its cells are cells of the study."""
    # Imported here, since servers with model processes do not need the engine.
    from adabkb_service.inference.restore import restore  # noqa: PLC0415

    cells, at = _cells(found), found["model"][0].number
    cell_lines = {line.content.key: line.number for line in found["cell"]}
    try:
        model = restore(study, log[: max(study.model_seq, 1)], cells, tuple(_ordinals(found)))
        model.stats()
    except Exception as error:  # the engine may raise any error
        _refuse(
            at,
            f"the model cannot be restored; rebuild it with adabkb data replay, then export again: {_text_of(error)}",
            error,
        )
    for key in cells:
        try:
            model.policy.cell_box(model.state, key)
        except Exception as error:
            _refuse(cell_lines[key], f"{key} is not a cell of this study: {_text_of(error)}", error)


def _space(log: list[EventRow], model_seq: int) -> Space:
    """Return the space after the first ``model_seq`` events."""
    definition = first_stored(created_row(log).payload["definition"])
    for event in log[:model_seq]:
        if event.kind == "edited":
            definition = edited(definition, event.payload)
    return definition_of(definition).space()


def _check_keys(study: StudyRow, keys: list[Line]) -> None:
    """Check that no idempotency key belongs to another study."""
    for number, kept in keys:
        if kept.scope not in ("", study.id):
            _refuse(number, f"the key belongs to another study, {kept.scope!r}")


def _refuse(number: int, sentence: str, cause: Exception | None = None) -> NoReturn:
    raise _invalid(f"line {number} is not a valid line of an export (adabkb study export): {sentence}") from cause


def _refuse_invalid(number: int, error: ValidationError) -> NoReturn:
    """Refuse a line, and report the first of its errors."""
    _refuse(number, _text_of(error), error)


def _text_of(error: Exception) -> str:
    """Return the text of an error; of a validation error, the first error and its field."""
    if not isinstance(error, ValidationError):
        return str(error)
    field_error = error.errors(include_input=False)[0]
    return f"{'.'.join(map(str, field_error['loc']))}: {sentence(field_error)}"


def _invalid(sentence: str) -> Invalid:
    return Invalid([FieldError("The file", sentence, "invalid_export")])

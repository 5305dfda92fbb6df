"""``adabkb import``: a study from its export, into any database; it goes on where it was.

The rows are made from the log, which is all that happened. The export's other lines add what the log does not hold:
when leases end, what the model had made of it, and the answers kept under idempotency keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from adabkb_service.contract import answers as views
from adabkb_service.contract.study import CHANGEABLE
from adabkb_service.errors import Contention, FieldError, Invalid, StudyExists
from adabkb_service.operations import doctor
from adabkb_service.operations.export import FORMAT, CellLine, DictionaryLine, KeyLine, ModelLine
from adabkb_service.storage import events, idempotency, observations, studies, trials
from adabkb_service.storage import model as rows
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventRow, KeyRow, StudyRow, TrialRow
from adabkb_service.study import lifecycle, render
from adabkb_service.study import log as ledger
from adabkb_service.study.log import Ledger

LINES: dict[str, type[BaseModel]] = {
    "study": views.Study,
    "trial": views.Trial,
    "observation": views.Observation,
    "event": views.Event,
    "model": ModelLine,
    "cell": CellLine,
    "dictionary": DictionaryLine,
    "key": KeyLine,
}


def import_study(database: Database, lines: Iterable[str]) -> views.Study:
    """Write a study, in one transaction.

    Args:
        database: with this version's schema; studies of other names in it are left alone.
        lines: of an export.

    Raises:
        Invalid: a line is not what it should be (the message names it), or the log contradicts the rest.
        StudyExists: there is one of this name.
    """
    found = _parsed(lines)
    (shown,), (model,) = found["study"], found["model"]
    log = [EventRow(shown.id, **dict(event)) for event in found["event"]]
    told = ledger.read(shown.id, log)
    if told.faults:
        raise _invalid(told.faults[0])
    study = _study(shown, model, told)
    exists = StudyExists(f"There is a study {study.id!r} in this database; delete it first.")
    try:
        with database.writing() as connection:
            if studies.find(connection, study.id) is not None:
                raise exists
            studies.create(connection, study)
            if told.trials:
                trials.add(connection, _trials(told, found["trial"]))
            if told.observations:
                observations.add(connection, told.observations.values())
            events.add(connection, log)
            rows.write_cells(connection, study.id, {cell.key: cell.status for cell in found["cell"]})
            rows.write_dictionary(connection, study.id, added=[row.ordinal for row in found["dictionary"]], removed=[])
            for kept in found["key"]:
                # The key that the study was created with may have created another one here.
                if idempotency.find(connection, kept.scope, kept.key) is None:
                    idempotency.add(connection, KeyRow(study_id=study.id, **dict(kept)))
            for finding in doctor.examine_study(connection, study):
                raise _invalid(finding.what)
    except Contention as error:
        with database.reading() as connection:
            if studies.find(connection, study.id) is not None:  # created this moment
                raise exists from error
        raise _invalid("a line comes twice, or lacks what the database wants") from error
    return lifecycle.full(study)


def _parsed(lines: Iterable[str]) -> dict[str, list[Any]]:
    """The lines by type."""
    found: dict[str, list[Any]] = {kind: [] for kind in LINES}
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            kind = fields.pop("type")
            if number == 1 and (kind != "study" or fields.pop("format", None) != FORMAT):
                raise ValueError(f"an export of format {FORMAT} begins with its study")
            found[kind].append(LINES[kind].model_validate(fields))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise _invalid(f"line {number} is not one of an export (adabkb export): {error}") from error
    if len(found["study"]) != 1 or len(found["model"]) != 1 or not found["event"]:
        raise _invalid("it does not hold one whole study; was it cut short?")
    return found


def _study(shown: views.Study, model: ModelLine, told: Ledger) -> StudyRow:
    best = told.best()
    limits = {name: told.limits.get(name) for name in CHANGEABLE}
    counts: dict[str, Any] = told.states()
    row = replace(
        StudyRow.new(shown.id, told.definition, told.seed, shown.created_at, **limits),
        **counts,
        paused=told.paused,
        head=told.head,
        folded=model.folded,
        model=model.figures,
        model_error=model.error,
        updated_at=shown.updated_at,
        observations=len(told.observations),
        failures=told.failures,
        best=None if best is None else render.as_best(best),
    )
    return replace(row, state=lifecycle.standing(row)[0])


def _trials(told: Ledger, shown: list[views.Trial]) -> list[TrialRow]:
    """The log's, with the ends of their leases."""
    lines = {trial.number: trial for trial in shown}
    if lines.keys() != told.trials.keys():
        raise _invalid("its trials are not those of its log; was it cut short?")
    return [
        replace(row, lease_seconds=lines[number].lease_seconds, leased_until=lines[number].leased_until)
        for number, row in told.trials.items()
    ]


def _invalid(sentence: str) -> Invalid:
    return Invalid([FieldError("The file", sentence, "invalid_export")])

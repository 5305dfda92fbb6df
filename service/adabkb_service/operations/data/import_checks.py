"""The checks of an import. The log is the source of truth: the other lines of an export must agree with it, and the
model must be restorable. Since a file may have been altered, a line may have any content that ``contract.exported``
allows.

A check of one line raises ``ValueError``, to which ``ExportedLines`` adds the number of the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from adabkb_service.contract import answers as views
from adabkb_service.contract.budget import cost_budget_of
from adabkb_service.contract.exported import CellLine, DictionaryLine, FileLine, KeyLine, ReportLine, StudyLine
from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.contract.stored import definition_of, edited, first_stored
from adabkb_service.engine.space import Space
from adabkb_service.operations.data import doctor
from adabkb_service.operations.data.exported_lines import ExportedLines, invalid, text_of
from adabkb_service.storage.rows import (
    EventRow,
    ObservationRow,
    ReportRow,
    StudyRow,
    TrialRow,
    as_values,
    created_row,
)
from adabkb_service.study import render
from adabkb_service.study.replay_state import ReplayState


def _strict(row: type) -> type[BaseModel]:
    """Return a model with the fields of a row, which converts no values."""
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(row).items()}
    return create_model(row.__name__, __config__=ConfigDict(strict=True), **fields)


_STRICT = {row: _strict(row) for row in (TrialRow, ObservationRow, ReportRow)}


def check_study(logged: ReplayState, shown: StudyLine) -> None:
    """Check that the study's limits and seed are those of the log, and that its definition and limits are valid."""
    for excluded in logged.definition.exclusions().values():
        raise ValueError(excluded)
    limits = {name: getattr(logged.study, name) for name in IN_COLUMNS}
    is_cost = cost_budget_of(logged.study.definition) is not None
    expected = limits | ({"budget": logged.study.definition["budget"]} if is_cost else {})
    if shown.model_dump(include=set(limits)) != expected or shown.seed != logged.study.seed:
        raise ValueError("the study's limits or seed differ from the log")
    PatchStudyBody.model_validate(limits)


class RowChecks:
    """Checks the lines of trials, results, reports and files against the rows that follow from the log. Call
    ``check_complete`` after the last report."""

    def __init__(self, logged: ReplayState, last_file: int) -> None:
        self._logged = logged
        self._last_file = last_file
        self._space = logged.definition.space()
        self._misplaced = doctor.point_check(logged)
        self._unchecked = dict.fromkeys(
            (
                *(f"trial {number}" for number in logged.trials),
                *(f"observation {seq}" for seq in logged.observations),
                *(_name(*key) for key in logged.reports),
            )
        )
        """Names of the rows whose lines were not checked yet."""
        self._files = set[int]()

    def trial(self, shown: views.Trial) -> TrialRow:
        """Return the trial with the length and the end of its lease, which the log does not hold."""
        self._tick(f"trial {shown.number}")
        logged = self._logged.trials[shown.number]
        row = replace(logged, lease_seconds=shown.lease_seconds, leased_until=shown.leased_until)
        _check_types(row)
        if dict(render.trial(row, self._logged.definition)) != dict(shown):
            raise ValueError(f"trial {row.number} differs from the log")
        for problem in (*doctor.lease_problems(self._logged.study, row), *self._misplaced(row)):
            raise ValueError(problem)
        return row

    def observation(self, shown: views.Observation) -> None:
        """Check a result."""
        self._tick(f"observation {shown.seq}")
        row = self._logged.observations[shown.seq]
        _check_types(row)
        numbers = [shown.value or 0.0, *(shown.metrics or {}).values()]
        is_equal = dict(render.observation(row, self._logged.definition, self._space)) == dict(shown)
        if not is_equal or not all(map(math.isfinite, numbers)):
            raise ValueError(f"observation {row.seq} differs from the log")
        for problem in self._misplaced(row):
            raise ValueError(problem)

    def report(self, shown: ReportLine) -> None:
        """Check an intermediate value of a trial."""
        key = (shown.trial, shown.attempt, shown.step)
        self._tick(_name(*key))
        row = self._logged.reports[key]
        _check_types(row)
        if dict(render.report_line(row)) != dict(shown):
            raise ValueError(f"{_name(*key)} differs from the log")

    def file(self, shown: FileLine) -> None:
        """Check that a file belongs to an existing trial or to an existing result without a trial, and that its number
        is unique and at most ``last_file``."""
        if shown.observation is None and shown.trial not in self._logged.trials:
            raise ValueError(f"the file belongs to trial {shown.trial}, which does not exist")
        if shown.observation is not None:
            result = self._logged.observations.get(shown.observation)
            if result is None or result.trial is not None or shown.trial is not None:
                raise ValueError(
                    f"the file belongs to result {shown.observation}, which is not a result without a trial"
                )
        if shown.number in self._files:
            raise ValueError(f"file {shown.number} occurs twice")
        if shown.number > self._last_file:
            raise ValueError(f"file {shown.number} has a larger number than last_file of the study, {self._last_file}")
        self._files.add(shown.number)

    def check_complete(self) -> None:
        """Check that each row of the log had a line.

        Raises:
            Invalid: a row had none.
        """
        for name in self._unchecked:
            raise invalid(f"it lacks the line of {name}, which is in its log, so it may be truncated")

    def _tick(self, name: str) -> None:
        if name not in self._unchecked:
            raise ValueError(f"{name} is not in the log, or occurs twice")
        del self._unchecked[name]


def _check_types(row: TrialRow | ObservationRow | ReportRow) -> None:
    """Check the types of a row that follows from the log. A view converts values, such as a number in quotes, which the
    database and the engine do not."""
    _STRICT[type(row)].model_validate(as_values(row))


def _name(trial: int, attempt: int, step: int) -> str:
    return f"the report of trial {trial}, attempt {attempt}, step {step}"


@dataclass
class ModelRows:
    """The cells and the dictionary of an imported model, collected from their lines."""

    points: int
    """The number of results, including estimated results of stopped trials."""
    cells: dict[str, str] = field(default_factory=dict)
    """Key -> status, in order of creation."""
    dictionary: dict[int, None] = field(default_factory=dict)
    """Ordinals of its points, in order of their lines."""

    def add_cell(self, line: CellLine) -> None:
        """Add a cell."""
        if line.key in self.cells:
            raise ValueError(f"cell {line.key} is duplicated")
        self.cells[line.key] = line.status

    def add_to_dictionary(self, line: DictionaryLine) -> None:
        """Add a point."""
        if line.ordinal >= self.points:
            raise ValueError(f"the dictionary has point {line.ordinal}, but there are only {self.points} points")
        if line.ordinal in self.dictionary:
            raise ValueError(f"point {line.ordinal} of the dictionary is duplicated")
        self.dictionary[line.ordinal] = None


def check_key(study_id: str, line: KeyLine) -> None:
    """Check that an idempotency key does not belong to another study."""
    if line.scope not in ("", study_id):
        raise ValueError(f"the key belongs to another study, {line.scope!r}")


def check_model(
    lines: ExportedLines, study: StudyRow, log: Sequence[EventRow], logged: ReplayState, rows: ModelRows
) -> None:
    """Check that the cells form a tree, and that the model agrees with the log.

    Raises:
        Invalid: they do not.
    """
    order = {key: index for index, key in enumerate(rows.cells)}
    for key, problem in doctor.broken_tree(rows.cells):
        lines.refuse(*(("cell", order[key]) if key in order else ("model", 0)), problem)
    with lines.naming("model"):
        if study.model is not None and study.model["rests_on"] > log[-1].seq:
            raise ValueError(
                f"the figures depend on event {study.model['rests_on']}, but the last event is {log[-1].seq}"
            )
        learned, dimension = study.checkpoint or {}, _space(log, study.model_seq).dimension
        if len(learned.get("lengthscales", range(dimension))) != dimension:
            raise ValueError("the model needs one lengthscale per parameter")
        if (part := learned.get("additive")) and len(part["shares"]) != dimension:
            raise ValueError("the additive part of the model needs one share per parameter")
        trial_rows = logged.trials.values()
        for problem in doctor.model_problems(study, log, trial_rows, rows.points, rows.cells, rows.dictionary):
            raise ValueError(problem)


def check_restorable(lines: ExportedLines, study: StudyRow, log: Sequence[EventRow], rows: ModelRows) -> None:
    """Restore the model, and check that its cells are cells of the study.

    Raises:
        Invalid: it cannot be restored.
    """
    # Imported here, since servers with model processes do not need the engine.
    from adabkb_service.inference.restore import restore  # noqa: PLC0415

    try:
        model = restore(study, log[: max(study.model_seq, 1)], dict(rows.cells), tuple(rows.dictionary))
        model.stats()
    except Exception as error:  # the engine may raise any error
        cause = f"the model cannot be restored ({text_of(error)}); first rebuild it with adabkb data replay"
        lines.refuse("model", 0, cause, error)
    for index, key in enumerate(rows.cells):
        try:
            model.policy.cell_box(model.state, key)
        except Exception as error:
            lines.refuse("cell", index, f"{key} is not a cell of this study: {text_of(error)}", error)


def _space(log: Sequence[EventRow], model_seq: int) -> Space:
    """Return the space after the first ``model_seq`` events."""
    definition = first_stored(created_row(log).payload["definition"])
    for event in log[:model_seq]:
        if event.kind == "edited":
            definition = edited(definition, event.payload)
    return definition_of(definition).space()

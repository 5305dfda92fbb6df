"""The definition of a study as a template: the body of a request that creates a similar study."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

from pydantic import BaseModel

from adabkb_service.contract.budget import cost_budget_of
from adabkb_service.contract.parameters import MAX_SAFE_INTEGER, CatalogueParameter
from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations.words.ending import ended_early
from adabkb_service.storage.rows import StudyRow
from adabkb_service.study import lifecycle
from adabkb_service.study.draft import Draft
from adabkb_service.study.request import Outcome, Points, Request

OWN = {"id", "title", "seed", "space_version", "defaults"}
"""Fields of a definition that belong to one study only."""
SET_BY_SERVER = ("digest", "columns", "rows", "withdrawn")


class Template(BaseModel):
    """The fields of a definition that differ from their defaults."""

    definition: dict[str, Any]


def template(study_id: str) -> Request[Template]:
    """Return a request for the template of a study, with its current space, limits and rules.

    Raises:
        StudyNotFound: the study does not exist.
    """
    return Request(study_id, Template, _template)


def _template(draft: Draft, _: Points) -> Outcome[Template]:
    definition = draft.definition
    found = definition.model_dump(mode="json", exclude_defaults=True, exclude=OWN)
    found |= _current(draft.study, found)
    is_used_up = lifecycle.no_more_points_reason(draft.study) == "budget"
    if is_used_up and (ended := ended_early(draft.connection, draft.study)):
        found["budget"] = ended.budget  # not the number of trials at which a user ended the study
    found["parameters"] = [
        _with_table(each, parameter) if isinstance(parameter, CatalogueParameter) else each
        for each, parameter in zip(found["parameters"], definition.parameters, strict=True)
    ]
    return Outcome(Template(definition={name: value for name, value in found.items() if not _is_default(name, value)}))


def _current(study: StudyRow, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the definition whose current values are in columns of the study. (A cost budget is not.)"""
    fixed = set() if cost_budget_of(definition) is None else {"budget"}
    return {name: getattr(study, name) for name in IN_COLUMNS if name not in fixed | OWN}


def _is_default(name: str, value: Any) -> bool:
    field = StudyDefinition.model_fields[name]
    return not field.is_required() and bool(value == field.get_default(call_default_factory=True))


def _with_table(stored: Mapping[str, Any], parameter: CatalogueParameter) -> dict[str, Any]:
    """Return a catalogue with its table. Withdrawn rows are left out."""
    table, text = parameter.rows_of(), StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([parameter.name, *table.columns])
    writer.writerows([table.names[row], *map(_plain, table.numbers[row].tolist())] for row in table.offered.tolist())
    others = {name: value for name, value in stored.items() if name not in SET_BY_SERVER}
    return {**others, "table": text.getvalue().rstrip("\n")}


def _plain(number: float) -> float:
    """Return whole numbers as integers, as people write them."""
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number

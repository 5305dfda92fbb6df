"""Rows of queries become values by position."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service import storage
from adabkb_service.storage import tables
from adabkb_service.storage.audit import AuditRow
from adabkb_service.storage.files import FileRow
from adabkb_service.storage.people import PersonRow
from adabkb_service.storage.rows import EventOf, KeyRow, ObservationRow, ReportRow, StudyRow, TrialRow
from adabkb_service.storage.tokens import TokenRow
from adabkb_service.storage.trash import TrashRow
from adabkb_service.storage.webhooks import WebhookRow

TABLES: dict[type[Any], sa.Table] = {
    StudyRow: tables.studies,
    TrialRow: tables.trials,
    ObservationRow: tables.observations,
    ReportRow: tables.reports,
    EventOf: tables.events,
    KeyRow: tables.idempotency_keys,
    FileRow: tables.files,
    WebhookRow: tables.webhooks,
    TokenRow: tables.tokens,
    PersonRow: tables.people,
    TrashRow: tables.trash,
    AuditRow: tables.audit,
}
NOT_READ = {FileRow: ["content"], AuditRow: ["id"]}
"""The columns that the queries of a row leave out."""


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row.__name__)
def test_fields_of_a_row_have_the_names_and_the_order_of_the_columns(row: type[Any]) -> None:
    columns = [column.name for column in TABLES[row].columns if column.name not in NOT_READ.get(row, [])]
    assert [field.name for field in fields(row)] == columns


def test_every_row_of_a_table_is_compared() -> None:
    """A ``WorkerRow`` is composed by its query, and ``event_row`` makes an ``EventOf``."""
    sources = (path.read_text() for path in Path(storage.__path__[0]).glob("*.py"))
    built = {name for source in sources for name in re.findall(r"(\w*[Rr]ow)\(\*row\b", source)}
    assert built == {row.__name__ for row in TABLES} - {"EventOf"} | {"event_row", "WorkerRow"}

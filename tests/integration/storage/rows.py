"""Rows for tests of storage, with defaults for all columns that a test does not set."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.storage import trash
from adabkb_service.storage.files import FileRow
from adabkb_service.storage.people import PersonRow
from adabkb_service.storage.rows import EventRow, KeyRow, ObservationRow, ReportRow, StudyRow, TrialRow, event_row
from adabkb_service.storage.tokens import TokenRow
from adabkb_service.storage.trash import TrashRow
from adabkb_service.storage.webhooks import WebhookRow

NOW = datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
TICK = timedelta(microseconds=1)
"""The smallest difference between two times."""
INCARNATION = "0123456789abcdef" * 2
"""The default incarnation of studies, so that two rows of the same study are equal."""

LIMITS: dict[str, Any] = dict.fromkeys(IN_COLUMNS) | {"lease_seconds": 60.0, "max_attempts": 3, "tags": {}}
"""The limits of a new study."""


def study(name: str, **changed: Any) -> StudyRow:
    """A new study."""
    row = StudyRow.new(name, {}, 2**53 - 1, NOW, **LIMITS)
    return replace(row, **{"incarnation": INCARNATION, **changed})


def trial(number: int, study_id: str = "s", **changed: Any) -> TrialRow:
    """A leased trial."""
    row = TrialRow.new(
        study_id,
        number,
        {"x": 0.5},
        NOW,
        state="active",
        origin="policy",
        cell="0.1",
        worker="w",
        attempt=1,
        lease_seconds=60.0,
        leased_until=NOW + timedelta(seconds=60),
        started_at=NOW,
    )
    return replace(row, **changed)


def observation(seq: int, value: float = 0.0, study_id: str = "s", **changed: Any) -> ObservationRow:
    """An observation at a user-supplied point."""
    row = ObservationRow(
        study_id=study_id,
        seq=seq,
        trial=None,
        attempt=None,
        parameters={"x": 0.5},
        value=value,
        std_error=None,
        excluded=False,
        observed_at=NOW,
        metrics=None,
        std_errors=None,
        plate=None,
        seconds=None,
    )
    return replace(row, **changed)


def report(trial: int, step: int, study_id: str = "s", **changed: Any) -> ReportRow:
    """An intermediate value."""
    return replace(ReportRow(study_id, trial, 1, step, 0.5, None, NOW), **changed)


def event(seq: int, study_id: str = "s", **changed: Any) -> EventRow:
    """An event without a trial, by default of the kind ``updated``."""
    fields: dict[str, Any] = {"kind": "updated", "trial": None, "payload": {}, "created_at": NOW, **changed}
    return event_row(study_id, seq, **fields)


def key(name: str, study_id: str = "s", **changed: Any) -> KeyRow:
    """An idempotency key of a request to a study."""
    return replace(KeyRow(study_id, name, study_id, "f", {}, NOW), **changed)


def token(token_id: str, **changed: Any) -> TokenRow:
    """A token of ann without expiry, for all studies."""
    row = TokenRow(token_id, "f" * 64, "ann", "laptop", ["work"], None, None, NOW, None, None, None, None)
    return replace(row, **changed)


def deletion(study_id: str, **changed: Any) -> TrashRow:
    """A deleted study of ann's."""
    row = TrashRow(None, study_id, None, "ann", {"ann": "own"}, [], 3, "ann", NOW, trash.new_container(), 1)
    return replace(row, **changed)


def file(number: int, study_id: str = "s", **changed: Any) -> FileRow:
    """A file of trial 1."""
    row = FileRow(study_id, number, 1, None, "spectrum.csv", "text/csv", 7, "0" * 64, "ann", NOW)
    return replace(row, **changed)


def webhook(webhook_id: str, study_id: str = "s", **changed: Any) -> WebhookRow:
    """A webhook that has handled no event yet."""
    row = WebhookRow(study_id, webhook_id, "https://lab.example/", "secret", ["trial.done"], NOW, 0, True, NOW)
    return replace(row, **changed)


def person(user: str, **changed: Any) -> PersonRow:
    """A user who has logged in once."""
    row = PersonRow(user, "https://sso.lab.example", f"{user}-1", "Zoe Day", "zoe@lab.example", "work", NOW, NOW)
    return replace(row, **changed)

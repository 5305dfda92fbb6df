"""The types of stored JSON name the same fields as the code that records and reads it."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from adabkb_service.contract.exported import _Figures
from adabkb_service.contract.stored import IN_EVENT
from adabkb_service.engine.answers import Report
from adabkb_service.storage.columns import BestResult, LastPlate, ModelStats
from adabkb_service.storage.event_payloads import EditedFields, FormerResult
from adabkb_service.storage.rows import EventKind, EventOf, EventRow, StudyRow
from adabkb_service.study.draft import OF_USERS
from adabkb_service.study.transitions import CORRECTABLE, Columns
from tests.integration.study.stored_types import PAYLOADS, faults, faults_of_columns
from tests.integration.study.test_lifecycle import model, study


def names(of: Any) -> set[str]:
    """The fields of a ``TypedDict``."""
    return {*of.__required_keys__, *of.__optional_keys__}


def test_each_kind_has_one_payload() -> None:
    kinds = [kind for each in get_args(EventRow) for kind in get_args(get_args(each)[0])]
    assert sorted(kinds) == sorted(get_args(EventKind))


def test_events_of_users_have_a_user() -> None:
    assert {kind for kind, payload in PAYLOADS.items() if "user" in names(payload)} == {"created", *OF_USERS}


def test_events_of_edits_and_corrections_have_the_fields_that_can_change() -> None:
    assert names(EditedFields) == set(IN_EVENT)
    assert names(FormerResult) == set(CORRECTABLE)
    assert set(CORRECTABLE) <= names(PAYLOADS["corrected"])


def test_statistics_of_a_model_have_the_fields_of_the_engines_report_and_those_that_an_import_checks() -> None:
    of_report = {field.name for field in fields(Report)} - {"best_lcb"}
    added = {"results_since_gain", "outliers", "rests_on", "stopped", "exhausted"}
    assert names(ModelStats) == of_report | added
    assert set(_Figures.model_fields) == names(ModelStats) | {"learned"}


def test_transitions_change_columns_that_exist() -> None:
    assert names(Columns) < {field.name for field in fields(StudyRow)}


WITHDRAWN: dict[str, Any] = {"attempt": 1, "reason": None}
SUGGESTED: dict[str, Any] = {
    "parameters": {"x": 0.5},
    "cell": {"key": "0.1", "depth": 1},
    "origin": "policy",
    "worker": None,
    "capped": False,
    "phase": "search",
    "expected": {"metrics": {"price": {"mean": 1.0, "std": 0.1, "lcb": 0.8, "ucb": 1.2}}},
    "fixed": None,
}
PAYLOADS_WITH_FAULTS: dict[str, tuple[EventKind, dict[str, Any], str]] = {
    "a required field is missing": ("withdrawn", {"attempt": 1}, "reason: Field required"),
    "an unknown field": ("withdrawn", {**WITHDRAWN, "seconds": 2.0}, "has fields that its type lacks"),
    "a value of another type": ("withdrawn", {**WITHDRAWN, "attempt": "1"}, "attempt: Input should be a valid integer"),
    "an unknown field of an object": (
        "suggested",
        {**SUGGESTED, "cell": {"key": "0.1", "depth": 1, "status": "leaf"}},
        "has fields that its type lacks",
    ),
    "another word": ("suggested", {**SUGGESTED, "origin": "queued"}, "origin: Input should be 'policy' or 'fallback'"),
}


@pytest.mark.parametrize(("kind", "payload", "expected"), PAYLOADS_WITH_FAULTS.values(), ids=PAYLOADS_WITH_FAULTS)
def test_faults_of_payloads_are_found(kind: EventKind, payload: dict[str, Any], expected: str) -> None:
    event: Any = EventOf("s", 2, kind, 1, payload, datetime(2026, 1, 1, tzinfo=UTC))
    (found,) = faults([event])
    assert expected in found


def test_payloads_and_columns_of_their_types_have_no_faults() -> None:
    event: Any = EventOf("s", 2, "suggested", 1, SUGGESTED, datetime(2026, 1, 1, tzinfo=UTC))
    assert faults([event, replace(event, kind="withdrawn", payload=WITHDRAWN)]) == []
    best: BestResult = {"parameters": {"x": 0.5}, "value": 1.0, "trial": None}
    plate: LastPlate = {"number": 1, "trials": 1, "shared": {"x": 0.5}, "begun": 1}
    assert faults_of_columns(study(best=best, plate=plate, model=model())) == []
    assert faults_of_columns(study(model={"gap": 1.0}))

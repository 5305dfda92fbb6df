"""The list of events of a study has a sentence about each event."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from adabkb_service.contract.quantities import Quantity
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.feed import list_in_words
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.words.sentences import sentence
from adabkb_service.storage.rows import EventKind
from tests.integration.operations.verbs import Ask, Value, change, observe, suggest
from tests.integration.storage.rows import event

PERCENT = "84.2\N{NO-BREAK SPACE}%"
RESULT: dict[str, Any] = {"observation": 7, "value": 84.2}
CASES: list[tuple[EventKind, int | None, dict[str, Any], tuple[str, str]]] = [
    ("created", None, {}, ("", "The study was created")),
    ("suggested", 3, {"worker": "anna"}, ("Trial 3", "was suggested to anna")),
    ("queued", 3, {}, ("Trial 3", "was queued")),
    ("leased", 3, {"worker": None, "attempt": 2}, ("Trial 3", "was issued, attempt 2")),
    ("expired", 3, {}, ("Trial 3", "is overdue: its reservation ended")),
    ("released", 3, {}, ("Trial 3", "is to be tried again")),
    ("observed", 3, RESULT, ("Trial 3", f"gave {PERCENT}")),
    ("observed", None, RESULT, ("", f"A user's own result: {PERCENT}")),
    ("failed", 3, {"reason": "burnt"}, ("Trial 3", "failed: burnt")),
    ("failed", 3, {"reason": "max_attempts"}, ("Trial 3", "failed: no result arrived before its reservation ended")),
    ("withdrawn", 3, {"reason": None}, ("Trial 3", "was withdrawn")),
    ("retried", 3, {"reason": "mended"}, ("Trial 3", "is issued again: mended")),
    ("reported", 3, {}, ("Trial 3", "has new values")),
    ("stopped", 3, {"step": 4, "reason": "median"}, ("Trial 3", "was stopped at step 4: median")),
    ("annotated", 3, {"attributes": {"note": "x"}}, ("Trial 3", "has a new note")),
    ("annotated", None, {"observation": 7, "attributes": {"a": 1}}, ("", "Own result R7 has a new a")),
    (
        "corrected",
        3,
        {**RESULT, "was": {"value": 81.0}, "user": "ann", "reason": "a typing error"},
        ("", f"The result of trial 3 was corrected from 81\N{NO-BREAK SPACE}% to {PERCENT} by ann: a typing error"),
    ),
    ("measured", None, {**RESULT, "was": {"value": None}}, ("", f"Own result R7 got {PERCENT}, which it lacked")),
    ("plate_closed", None, {"plate": 2}, ("", "Plate 2 ended with free places: it had no unused conditions left")),
    ("paused", None, {}, ("", "The study was paused")),
    ("resumed", None, {}, ("", "The study was resumed")),
    ("updated", None, {"changes": {"budget": 9}, "was": {"budget": 7}}, ("", "Changed: budget = 9 (it was 7)")),
    (
        "edited",
        None,
        {"version": 2, "closes_plate": True},
        (
            "",
            "The parameters or rules were edited, version 2; the last plate was closed, since no point has its values",
        ),
    ),
    ("completed", None, {"reason": "budget"}, ("", "The study is complete. The budget is used up.")),
    ("model_failed", None, {"error": "no memory"}, ("", "The model failed: no memory")),
    ("model_recovered", None, {}, ("", "The model works again")),
]
"""Kind, trial and payload of an event, and the sentence: its subject and the rest."""


@pytest.mark.parametrize(("kind", "trial", "payload", "told"), CASES)
def test_an_event_has_this_sentence(
    kind: EventKind, trial: int | None, payload: dict[str, Any], told: tuple[str, str]
) -> None:
    quantities = {"value": Quantity(unit="%")}
    assert sentence(quantities, event(1, kind=kind, trial=trial, payload=payload)) == told


def test_events_of_all_kinds_have_sentences() -> None:
    assert {kind for kind, *_ in CASES} == set(get_args(EventKind))


def test_who_ended_a_study_stays_known_when_it_goes_on(running: Service) -> None:
    """First a user ends the study, then its budget is used up."""
    definition = {
        "id": "s",
        "direction": "minimize",
        "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}],
    }
    create(running, StudyDefinition.model_validate({**definition, "budget": 5}))
    for number in (1, 2):
        suggest(running, "s", Ask())
        observe(running, "s", Value(1.0, number))
        change(running, "s", {"budget": 1 if number == 1 else 2})
        if number == 1:
            change(running, "s", {"budget": 2})
    told = [each.in_words for each in list_in_words(running, "s", 0, 100).items if each.kind == "completed"]
    assert told == ["The study is complete. Ended by a user.", "The study is complete. The budget is used up."]


def test_browsers_notify_of_what_webhooks_do_except_renewed_leases(running: Service) -> None:
    definition = {
        "id": "s",
        "direction": "minimize",
        "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}],
    }
    create(running, StudyDefinition.model_validate(definition))
    suggest(running, "s", Ask())
    observe(running, "s", Value(1.0, 1))
    observe(running, "s", Value(1.0, parameters={"x": 0.5}))
    told = [(each.kind, each.trial, each.notifies) for each in list_in_words(running, "s", 0, 100).items]
    assert told == [("created", None, False), ("suggested", 1, True), ("observed", 1, True), ("observed", None, False)]

"""Replays of logs with contradictory events: errors, and the resulting state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from adabkb_service.errors import ObservationNotFound, TrialNotFound
from adabkb_service.storage.columns import LastPlate
from adabkb_service.storage.rows import EventKind, EventRow, event_row
from adabkb_service.study.replay_state import replayed
from tests.integration.operations.conftest import definition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POINT = {"x": 0.5, "y": 1.0}
SUGGESTED = {"parameters": POINT, "cell": None, "origin": "policy", "phase": None, "expected": None, "worker": "w"}
LEASED = {"attempt": 2, "worker": "w", "renewed": False}
RESULT = {"observation": 1, "attempt": 1, "parameters": POINT, "value": 1.0, "std_error": None}
FAILED = {"attempt": 1, "reason": "diverged"}
EXPIRED = {"attempt": 1, "worker": "w", "cause": "lease"}
STOPPED = {"attempt": 1, "step": 3, "reason": "asha", "estimate": None}

Told = tuple[EventKind, int | None, dict[str, Any]]


def log(*told: Told, first: int = 2, **changes: Any) -> list[EventRow]:
    """A log with these events after the creation of a study."""
    created = {"definition": definition(**changes).model_dump(mode="json"), "seed": 0}
    events = [event_row("s", 1, "created", None, created, NOW)]
    return events + [event_row("s", seq, *each, NOW) for seq, each in enumerate(told, first)]


ASKED: Told = ("suggested", 1, SUGGESTED)
GIVEN_BACK: Told = ("released", 1, {"attempt": 1})
OBSERVED: Told = ("observed", 1, RESULT)
LOST: Told = ("failed", 1, FAILED)
AGAIN: Told = ("retried", 1, {})
ENDED: Told = ("stopped", 1, STOPPED)
REPORTED: Told = ("reported", 1, {"attempt": 1, "reports": [[1, 0.5]]})
STOPPING: dict[str, Any] = {"early_stopping": {"rule": "asha", "max_steps": 9}}

CONSISTENT: dict[str, tuple[list[Told], dict[str, Any]]] = {
    "numbers in order": ([ASKED, ("queued", 2, {"parameters": POINT}), ("observed", None, RESULT)], {}),
    "a budget that is just used up": ([ASKED, ("suggested", 2, SUGGESTED)], {"budget": 2}),
    "leased after a release": ([ASKED, GIVEN_BACK, ("leased", 1, LEASED)], {}),
    "leased after an expiry": ([ASKED, ("expired", 1, EXPIRED), ("leased", 1, LEASED)], {}),
    "leased from the queue": ([("queued", 1, {"parameters": POINT}), ("leased", 1, {**LEASED, "attempt": 1})], {}),
    "renewed": ([ASKED, ("expired", 1, EXPIRED), ("leased", 1, {**LEASED, "attempt": 1, "renewed": True})], {}),
    "failed, retried": ([ASKED, LOST, AGAIN, ("leased", 1, LEASED)], {}),
    "reported and stopped": ([ASKED, REPORTED, ENDED], STOPPING),
    "annotated": ([ASKED, ("annotated", 1, {"attributes": {"note": "x"}})], {}),
}


@pytest.mark.parametrize(("told", "changes"), CONSISTENT.values(), ids=CONSISTENT)
def test_consistent_events_give_no_contradiction(told: list[Told], changes: dict[str, Any]) -> None:
    assert replayed("s", log(*told, **changes)).contradictions == []


CONTRADICTIONS: dict[str, tuple[list[Told], dict[str, Any], str]] = {
    "number of a trial": ([("suggested", 2, SUGGESTED)], {}, "event 2 adds trial 2 to a study with 0 trials"),
    "number of a queued trial": (
        [ASKED, ("queued", 1, {"parameters": POINT})],
        {},
        "event 3 adds trial 1 to a study with 1 trials",
    ),
    "budget": ([ASKED, ("suggested", 2, SUGGESTED)], {"budget": 1}, "event 3 adds trial 2 to a budget of 1"),
    "number of a result": (
        [("observed", None, {**RESULT, "observation": 2})],
        {},
        "event 2 adds observation 2 to a study with 0 observations",
    ),
    "attempt": (
        [ASKED, GIVEN_BACK, ("leased", 1, {**LEASED, "attempt": 3})],
        {},
        "event 4 leases trial 1, which was released",
    ),
    "leased while active": ([ASKED, ("leased", 1, LEASED)], {}, "event 3 leases trial 1, which was active"),
    "reported when released": (
        [ASKED, GIVEN_BACK, REPORTED],
        STOPPING,
        "event 4 (reported) changes trial 1, which was released",
    ),
    "stopped when released": (
        [ASKED, GIVEN_BACK, ENDED],
        STOPPING,
        "event 4 (stopped) changes trial 1, which was released",
    ),
    "failed when completed": ([ASKED, OBSERVED, LOST], {}, "event 4 fails trial 1, which was completed"),
    "failed twice": ([ASKED, LOST, LOST], {}, "event 4 fails trial 1, which was failed"),
    "failed when stopped": ([ASKED, ENDED, LOST], STOPPING, "event 4 fails trial 1, which was stopped"),
    "retried": ([ASKED, AGAIN], {}, "event 3 retries trial 1, which was active"),
    "plate": (
        [("queued", 1, {"parameters": POINT, "plate": 1})],
        {},
        "event 2 (queued) names a plate, but the study has none",
    ),
    "attributes": (
        [ASKED, ("annotated", 1, {"attributes": {"note": "x" * 10**6}})],
        {},
        "event 3 gives trial 1 attributes that",
    ),
    "user": ([("paused", None, {"user": {"name": "ann"}})], {}, "event 2 (paused) has a user that is not a text"),
    "no such trial": ([OBSERVED], {}, "event 2 (observed) cannot be applied: TrialNotFound"),
    "no trial": (
        [ASKED, ("released", None, {"attempt": 1})],
        {},
        "event 3 (released) cannot be applied: TrialNotFound",
    ),
    "no such result": (
        [("corrected", None, {"observation": 3})],
        {},
        "event 2 (corrected) cannot be applied: ObservationNotFound",
    ),
    "missing field": (
        [("suggested", 1, {"parameters": POINT})],
        {},
        "event 2 (suggested) cannot be applied: KeyError 'cell'",
    ),
    "attributes of another kind": (
        [ASKED, ("annotated", 1, {"attributes": 3})],
        {},
        "event 3 (annotated) cannot be applied: ",
    ),
}


@pytest.mark.parametrize(("told", "changes", "expected"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_each_contradiction_is_reported_once(told: list[Told], changes: dict[str, Any], expected: str) -> None:
    (found,) = replayed("s", log(*told, **changes)).contradictions
    assert (found.place, found.sentence.startswith(expected)) == (len(told), True)


def test_contradictory_event_is_skipped() -> None:
    state = replayed("s", log(OBSERVED, ASKED))
    assert len(state.contradictions) == 1
    assert (state.study.study_seq, state.study.active) == (3, 1)


def test_gap_in_the_log_is_a_contradiction() -> None:
    state = replayed("s", log(ASKED, first=3))
    assert state.contradictions == [(1, "event 3 follows event 1")]
    assert state.study.study_seq == 3


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "does not begin with the creation"),
        (log(ASKED)[1:], "does not begin with the creation"),
        ([event_row("s", 2, "created", None, log()[0].payload, NOW)], "does not begin with the creation"),
        ([event_row("s", 1, "created", None, {"seed": 0}, NOW)], r"event 1 \(created\) cannot be read: 'definition'"),
    ],
)
def test_log_must_begin_with_a_valid_creation(events: list[EventRow], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        replayed("s", events)


def test_rows_are_found_by_number() -> None:
    second = {**RESULT, "observation": 2, "parameters": {"x": 0.0, "y": 1.0}}
    state = replayed("s", log(ASKED, OBSERVED, ("observed", None, second)))
    assert state.trial(1) is state.trials[1]
    assert state.observation(2).parameters == {"x": 0.0, "y": 1.0}
    assert [row.seq for row in state.observations_of(1)] == [1]
    assert (state.counting_after(0), state.counting_after(1), state.counting_after(2)) == (2, 1, 0)
    with pytest.raises(TrialNotFound):
        state.trial(2)
    with pytest.raises(ObservationNotFound):
        state.observation(3)


def test_results_since_the_best_one_are_counted() -> None:
    """A new best result starts again at 0; a result that is as good does not."""
    told: list[Told] = []
    for seq, (value, since) in enumerate([(3.0, 0), (2.0, 0), (4.0, 1), (2.0, 2), (1.0, 0), (5.0, 1)], 1):
        told.append(("observed", None, {**RESULT, "observation": seq, "value": value}))
        assert replayed("s", log(*told)).study.results_since_best == since


def test_best_result_is_found_after_the_last_of_several_corrections() -> None:
    """Also if the last one cannot be applied."""
    told: list[Told] = [
        ("observed", None, {**RESULT, "observation": seq, "value": value})
        for seq, value in enumerate((3.0, 1.0, 2.0, 4.0), 1)
    ]
    for observation in (2, 3, 9):
        change = {**RESULT, "observation": observation, "excluded": True, "was": {"excluded": False}, "reason": None}
        told.append(("corrected", None, change))
        state = replayed("s", log(*told))
        value, since = {2: (2.0, 1), 3: (3.0, 1), 9: (3.0, 1)}[observation]
        assert state.study.best is not None
        assert (state.study.best["value"], state.study.results_since_best) == (value, since)
        assert len(state.contradictions) == (observation == 9)


def test_update_changes_settings_and_words_alone() -> None:
    before = replayed("s", log()).study
    changes = {"title": "Glue", "budget": 5, "parameters": {"x": {"unit": "K"}}, "quantities": {"value": {"unit": "%"}}}
    after = replayed("s", log(("updated", None, {"changes": changes}))).study
    x, y = before.definition["parameters"]
    assert after.definition == {
        **before.definition,
        "parameters": [{**x, "unit": "K"}, y],
        "quantities": changes["quantities"],
    }
    own = {name: getattr(after, name) for name in ("definition", "study_seq", "log_bytes", "incarnation")}
    assert after == replace(before, title="Glue", budget=5, **own)


def test_failure_of_a_users_own_point_does_not_count_as_one_of_the_search() -> None:
    """A retry makes it a trial of the search."""
    own: list[Told] = [("queued", 1, {"parameters": POINT, "origin": "own"}), ("failed", 1, FAILED)]
    failed, retried = (replayed("s", log(*told)).study for told in (own, [*own, AGAIN]))
    assert (failed.failures, failed.failed, failed.own_failures) == (0, 1, 1)
    assert (retried.failures, retried.failed, retried.own_failures) == (0, 0, 0)


def test_result_and_its_trial_have_its_duration() -> None:
    state = replayed("s", log(ASKED, ("observed", 1, {**RESULT, "seconds": 5.0})))
    assert (state.trials[1].seconds, state.observations[1].seconds) == (5.0, 5.0)


def test_plates_are_counted_and_a_result_may_name_another_one() -> None:
    plates: dict[str, Any] = {"plates": {"size": 2, "shared": ["x"]}}
    told: list[Told] = [
        ("queued", number, {"parameters": POINT, "plate": (1, 1, 2)[number - 1]}) for number in (1, 2, 3)
    ]
    open_plate: LastPlate = {"number": 2, "trials": 1, "shared": {"x": 0.5}, "begun": 2}
    assert replayed("s", log(*told, **plates)).study.plate == open_plate
    told.append(("observed", None, {**RESULT, "plate": 7}))
    assert replayed("s", log(*told, **plates)).study.plate == {**open_plate, "named": 7}
    told.append(("observed", None, {**RESULT, "observation": 2}))
    assert replayed("s", log(*told, **plates)).study.plate == {**open_plate, "named": 7}


def test_pending_and_failed_trials_are_listed_separately() -> None:
    """Estimates of stopped trials count as results."""
    more: list[Told] = [("suggested", number, SUGGESTED) for number in (1, 2, 3, 4, 5)]
    estimated = {**STOPPED, "estimate": {"value": 1.0, "std_error": 0.5}}
    ends: list[Told] = [
        ("observed", 1, RESULT),
        ("failed", 3, FAILED),
        ("stopped", 4, estimated),
        ("stopped", 5, STOPPED),
    ]
    assert replayed("s", log(*more, *ends, **STOPPING)).awaited() == ([2, 5], [3])

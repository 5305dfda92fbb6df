"""A draft: rolled-back changes leave no trace, and a commit is atomic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from adabkb_service.contract.stored import definition_of
from adabkb_service.errors import Contention
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies import read
from adabkb_service.storage import idempotency
from adabkb_service.storage.database import Database
from adabkb_service.storage.event_payloads import Changed, Observed
from adabkb_service.storage.rows import KeyRow
from adabkb_service.study import leases
from adabkb_service.study.cached_study import read_study
from adabkb_service.study.draft import Draft
from adabkb_service.study.transitions import stats_of_empty_model
from tests.calls import watching
from tests.integration.operations.conftest import ManualClock
from tests.integration.operations.verbs import Ask, Value, get, observe, queue, suggest


@pytest.fixture
def draft(database: Database, running: Service, study: str, clock: ManualClock) -> Iterator[Draft]:
    """A draft of a study with a result, two active trials and a waiting one."""
    suggest(running, study, Ask(3))
    observe(running, study, Value(1.0, 1))
    queue(running, study, {"x": 0.5, "y": 1.0})
    clock.advance(1)
    with database.reading() as connection:
        before = read_study(connection, study)
    opened = Draft(database, before, clock.now)
    yield opened
    opened.close()


OF_THE_SNAPSHOT = {"_connection", "_open"}


def contents(draft: Draft) -> dict[str, Any]:
    """Everything that a draft would write, and that requests read from it."""
    # All attributes, including private ones, so that new ones are compared automatically.
    own = {name: value for name, value in vars(draft).items() if name not in OF_THE_SNAPSHOT}
    copied = {name: value.copy() if isinstance(value, dict | list) else value for name, value in own.items()}
    return {**copied, "waiting": draft.waiting(10), "overdue": draft.overdue(), "best": draft.best_observation()}


def change_once(draft: Draft) -> None:
    draft.record("observed", observed(2, 0.5), None)


def change_everything(draft: Draft) -> None:
    """Change a draft in every way."""
    draft.record("observed", observed(draft.study.observations + 1, -5.0), 2)
    correction: Changed = {
        "observation": 1,
        "parameters": draft.observation(1).parameters,
        "value": 9.0,
        "std_error": None,
        "excluded": False,
        "was": {"value": draft.observation(1).value},
        "reason": None,
    }
    draft.record("corrected", correction, 1)
    leases.lease_again(draft, draft.waiting(1)[0], "w", 5.0)
    draft.lease(3, 1.0, draft.now + timedelta(seconds=1))
    draft.record("paused", {})
    draft.set_lease_length(3, 7.0)
    draft.set_model_stats({**stats_of_empty_model(1), "gap": 1.0})
    draft.set_state("paused")
    draft.store_answer(KeyRow("s", "k", "s", "f", {}, draft.now))


def observed(seq: int, value: float) -> Observed:
    point = {"x": 0.0, "y": 1.0}
    return {"observation": seq, "attempt": 1, "parameters": point, "value": value, "std_error": None}


def test_changes_rolled_back_after_an_error_leave_no_trace(draft: Draft) -> None:
    change_once(draft)
    before = contents(draft)
    with pytest.raises(ZeroDivisionError), draft.undone_on_error():  # noqa: PT012 - what comes before the error counts
        change_everything(draft)
        raise ZeroDivisionError
    assert contents(draft) == before


def test_tentative_changes_leave_no_trace(draft: Draft) -> None:
    change_once(draft)
    before = contents(draft)
    with draft.undone():
        change_everything(draft)
        assert contents(draft) != before
    assert contents(draft) == before


def test_changes_without_an_error_are_kept(draft: Draft) -> None:
    with draft.undone_on_error():
        change_everything(draft)
    assert [event.kind for event in draft.log] == ["observed", "corrected", "leased", "paused"]
    assert draft.has_effects


def test_only_changes_that_were_not_rolled_back_are_written(draft: Draft, running: Service, database: Database) -> None:
    change_once(draft)
    head = draft.study.study_seq
    with draft.undone():
        change_everything(draft)
    after = draft.commit()
    assert (after.study.study_seq, get(running, "s").revision) == (head, head)
    log = read.list_events(running, "s", 0, 100).items
    assert [event.kind for event in log][-1] == "observed"
    assert [row.value for row in read.list_observations(running, "s", 0, 10).items] == [1.0, 0.5]
    with database.reading() as connection:
        assert idempotency.find(connection, "s", "k") is None


def test_draft_of_a_study_changed_meanwhile_writes_nothing(draft: Draft, running: Service) -> None:
    observe(running, "s", Value(2.0, 2))
    before = read.list_events(running, "s", 0, 100).items
    change_everything(draft)
    with pytest.raises(Contention):
        draft.commit()
    assert read.list_events(running, "s", 0, 100).items == before
    assert [row.value for row in read.list_observations(running, "s", 0, 10).items] == [1.0, 2.0]


def test_next_draft_starts_from_the_committed_state(draft: Draft, database: Database, clock: ManualClock) -> None:
    """Whether cached or read again."""
    change_everything(draft)
    after = draft.commit()
    with database.reading() as connection:
        again = read_study(connection, "s")
    assert after.study == again.study
    assert after.next_expiry == again.next_expiry
    one, other = Draft(database, after, clock.now), Draft(database, again, clock.now)
    numbers = range(1, after.study.trials + 1)
    assert [one.trial(number) for number in numbers] == [other.trial(number) for number in numbers]
    one.close()
    other.close()


def test_renewed_lease_counts_as_a_change_although_it_is_no_event(draft: Draft, running: Service) -> None:
    """Otherwise, it would overwrite the other server's changes of the trial."""
    observe(running, "s", Value(2.0, 3))
    draft.lease(3, 5.0, draft.now + timedelta(seconds=5))
    with pytest.raises(Contention):
        draft.commit()
    assert read.trial(running, "s", 3).state == "completed"


def test_definition_is_not_parsed_again_with_each_batch(running: Service, study: str) -> None:
    """In a large study, parsing takes longer than all other work of a batch."""
    parsed: list[str] = []

    def perform_pairs() -> None:
        for value in (1.0, 2.0, 3.0):
            (trial,) = suggest(running, study, Ask()).view.trials
            observe(running, study, Value(value, trial.number))

    perform_pairs()
    with watching({definition_of: lambda _, event: parsed.append(event)}):
        perform_pairs()
        assert parsed == []
        running.forget(study)
        perform_pairs()
    assert parsed

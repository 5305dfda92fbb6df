"""Every trial says what it was decided on."""

from __future__ import annotations

import pytest

from adabkb_service.errors import TrialNotFound
from adabkb_service.operations import read
from adabkb_service.operations.service import Service
from adabkb_service.operations.why import why
from tests.operations.busy import busy_study
from tests.operations.conftest import ManualClock


def test_a_trial_says_what_it_was_decided_on_and_what_became_of_it(running: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    found = why(running, "s", 10)  # asked for together with trial 9, after trial 7 failed and two were corrected
    decision = found.decision
    assert decision is not None
    assert (decision.pending, decision.failed, decision.results) == ([9], [7], 6)
    assert decision.best is not None
    assert (decision.best.value, decision.best.trial) == (0.5, 4), "the best by then was excluded"
    assert decision.random.model_dump() == {"seed": 3, "step": 8}
    assert found.trial.cell is not None
    assert decision.path[-1] == found.trial.cell
    assert [cell.depth for cell in decision.path] == list(range(len(decision.path)))
    assert decision.revision == found.events[0].seq - 1
    first, again = ["suggested", "expired", "leased", "expired", "failed"], ["retried", "leased", "failed"]
    assert [event.kind for event in found.events] == [*first, *again]


def test_a_queued_point_was_not_decided_on(running: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    found = why(running, "s", 8)
    assert found.decision is None
    assert [event.kind for event in found.events] == ["queued", "leased", "observed", "corrected"]


def test_an_unknown_trial_is_said_to_be_unknown(running: Service, study: str) -> None:
    with pytest.raises(TrialNotFound):
        why(running, study, 1)
    assert read.list_events(running, study, 0, 10)[0].kind == "created"

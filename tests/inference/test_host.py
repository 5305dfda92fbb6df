"""The work of a model process: whatever goes wrong with one study, it is told, and the others go on."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.inference import messages
from adabkb_service.inference.host import ModelHost
from adabkb_service.inference.messages import Advance, Answered
from adabkb_service.inference.model import Model
from adabkb_service.inference.restore import start
from adabkb_service.inference.store import ModelStore
from adabkb_service.inference.turns import FOLDS
from adabkb_service.operations.doctor import examine
from adabkb_service.operations.manage import create
from adabkb_service.operations.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database
from tests.conftest import on_either
from tests.inference.rounds import rounds
from tests.operations.conftest import definition
from tests.operations.verbs import Ask, Value, observe, suggest


class Mistake(Exception):
    """Nothing that is expected anywhere."""


@on_either("where", ["decide", "has_decided_on_all", "figures", "policy", "fold"])
def test_whatever_a_model_raises_results_are_kept_and_points_come(
    running: Service, database: Database, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """And once it raises no more, all is in order again: it has everything."""
    create(running, definition())
    create(running, definition(id="other"))
    rounds(running, "s", 2)

    def fail(*_: Any, **__: Any) -> None:
        raise Mistake(where)

    with monkeypatch.context() as broken:
        # A property takes precedence over an attribute of the same name, which only objects have.
        broken.setattr(Model, where, property(fail) if where == "policy" else fail, raising=where != "policy")
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(1.0, trial.number))
        answer = suggest(running, "s", Ask()).view
        assert answer.degraded
        assert [trial.origin for trial in answer.trials] == ["fallback"]
        observe(running, "s", Value(0.5, answer.trials[0].number))
    observe(running, "s", Value(0.25, parameters={"x": 0.5, "y": 1.0}))
    suggest(running, "s", Ask())
    rounds(running, "s", 2)
    rounds(running, "other", 1)
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []


def test_events_that_another_server_wrote_between_two_messages_are_folded(running: Service, database: Database) -> None:
    """The first message waits while the second comes; the events between theirs are in the database only."""
    create(running, definition())
    rounds(running, "s", 6)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    host = ModelHost(ModelStore(database, 2**20), lambda *_: None)
    folded = start(study)
    host.store.keep("s", folded)
    host.post(1, Advance("s", study.incarnation, log[3].seq, log[:4]))
    host.post(2, Advance("s", study.incarnation, log[-1].seq, log[8:]))
    while host.step("s"):
        pass
    assert folded.seq == log[-1].seq
    assert len(folded.dataset.results) == study.observations
    assert folded.diverged == []


def test_the_answer_of_a_restored_model_is_a_step_of_its_own(running: Service, database: Database) -> None:
    """A model is restored in the quick lane, where a long answer would hold up every study."""
    create(running, definition())
    rounds(running, "s", 6)
    with database.reading() as connection:
        study = studies.get(connection, "s")
    replies: list[Any] = []
    host = ModelHost(ModelStore(database, 2**20), lambda _, reply: replies.append(reply))
    host.post(1, messages.Ask("s", study.incarnation, study.head, "importance", (None,)))
    kinds = []
    while not replies:
        kinds.append(host.kind_of_next("s"))
        assert host.step("s")
    assert kinds[-1] == "importance"
    assert set(kinds[:-1]) == {FOLDS}
    assert isinstance(replies[0], Answered)
    assert replies[0].error is None

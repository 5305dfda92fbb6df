"""The work of a model process: an error in one study is reported, and the others continue."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.inference.cached_model import CachedModel
from adabkb_service.inference.decisions import Decisions
from adabkb_service.inference.fold import MANY
from adabkb_service.inference.host import ModelHost
from adabkb_service.inference.messages import Advance, Reply, Superseded, Withdraw
from adabkb_service.inference.messages import Ask as Question
from adabkb_service.inference.model import Model
from adabkb_service.inference.questions import QUESTIONS
from adabkb_service.inference.reads import Reads
from adabkb_service.inference.restore import start
from adabkb_service.inference.step_queue import FOLDS, LEARNS
from adabkb_service.inference.store import ModelStore
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events, studies
from adabkb_service.storage.catalogues import Pieces, keep
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventOf, EventRow, created_row
from tests.conftest import on_either
from tests.integration.inference.rounds import rounds
from tests.integration.operations.conftest import SYSTEMS, definition
from tests.integration.operations.verbs import Ask, Value, change, correct, edit, observe, observe_batch, suggest

ASKED: dict[str, tuple[Any, ...]] = {
    "model_stats": (),
    "recommended": (0.9, 0.0),
    "predicted": (np.full((1, 2), 0.5),),
    "importance": (None,),
    "validation": (None,),
    "assessment": ({"x": 0.5, "y": 1.0},),
    "slice_through": ([0], 3, {}),
    "boxes": (0, 10),
    "partition": (0, 10, None, None),
    "past_partition": (4, 10, None),
    "members": (-1, 10),
}
"""Queries of a study with one objective, and their arguments."""


class UnexpectedError(Exception):
    """An error that no code expects."""


BREAKABLE = {"decide": Decisions, "has_all": Decisions, "stats": Model, "policy": Model, "fold": CachedModel}


@on_either("where", list(BREAKABLE), ["decide"])
def test_results_are_stored_and_points_issued_whatever_a_model_raises(
    running: Service, database: Database, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Once the error is gone, the model has all results."""
    create(running, definition())
    create(running, definition(id="other"))
    rounds(running, "s", 2)

    def fail(*_: Any, **__: Any) -> None:
        raise UnexpectedError(where)

    with monkeypatch.context() as broken:
        # A property takes precedence over an attribute of the same name, which only objects have.
        broken.setattr(
            BREAKABLE[where], where, property(fail) if where == "policy" else fail, raising=where != "policy"
        )
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


def test_events_written_between_two_messages_are_folded(running: Service, database: Database) -> None:
    """The first message is still queued when the second arrives; the events between them are only in the database."""
    create(running, definition())
    rounds(running, "s", 6)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    host = ModelHost(ModelStore(database, 2**20), lambda *_: None)
    folded = start(study)
    host.store.keep("s", CachedModel(folded))
    host.post(1, Advance("s", study.incarnation, log[3].seq, log[:4]))
    host.post(2, Advance("s", study.incarnation, log[-1].seq, log[8:]))
    while host.step("s"):
        pass
    assert folded.seq == log[-1].seq
    assert len(folded.dataset.results) == study.observations
    assert folded.diverged == []


@pytest.mark.long
def test_time_of_a_long_log_is_proportional_to_its_length(
    running: Service, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question about a model that has to fold 60 results, one in each step, reads the log once, and looks at each
    event a few times."""
    create(running, definition())
    for number in range(60):
        observe(running, "s", Value(float(number % 7), parameters={"x": number / 60.0, "y": 1.0}))
    with database.reading() as connection:
        study = studies.get(connection, "s")
    store, reads, looks = ModelStore(database, 2**24), list[Any](), list[EventRow]()
    log_after = store.log_after

    def counted_read(*of: Any) -> list[EventRow]:
        reads.append(of)
        return log_after(*of)

    def counted_look(event: EventRow) -> bool:
        looks.append(event)
        return event.kind in ("corrected", "measured")

    monkeypatch.setattr(store, "log_after", counted_read)
    monkeypatch.setattr(EventOf, "changes_result", property(counted_look))
    host = ModelHost(store, lambda *_: None, fold_seconds=0.0)
    host.post(0, Question("s", study.incarnation, study.study_seq, "model_stats", number=0))
    while host.step("s"):
        pass
    folded = store.find("s")
    assert folded is not None
    assert folded.model.seq == study.study_seq
    assert len(reads) == 1
    assert len(looks) < 10 * study.study_seq


def test_model_does_not_depend_on_the_steps_in_which_a_log_is_folded(running: Service, database: Database) -> None:
    """Results before a correction or an edit are skipped, unless a decision uses them."""
    create(running, definition())
    rounds(running, "s", 4)
    for number in range(6):
        observe(running, "s", Value(float(number), parameters={"x": number / 6.0, "y": 1.0}))
    correct(running, "s", 3, {"value": 2.5})
    observe(running, "s", Value(1.5, parameters={"x": 0.33, "y": 1.0}))
    edit(running, {"name": "x", "kind": "float", "low": 0.0, "high": 2.0})
    rounds(running, "s", 2)
    correct(running, "s", 11, {"value": 0.5})
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    whole, parts = CachedModel(start(study, created_row(log))), CachedModel(start(study, created_row(log)))
    together, apart = whole.model, parts.model
    whole.fold(log)
    while apart.seq < log[-1].seq:
        parts.fold([event for event in log if event.seq > apart.seq], until=0.0)
    assert apart.diverged == together.diverged == []
    assert apart.stats() == together.stats()
    assert repr(apart.learned) == repr(together.learned)


@pytest.mark.long
@on_either("kind", SYSTEMS, ["auto"])
def test_many_results_are_folded_at_once_and_in_any_steps_with_the_same_outcome(
    running: Service, database: Database, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A study gets more results at once than are added to the model one by one, between decisions."""
    create(running, definition(algorithm=SYSTEMS[kind]))
    rounds(running, "s", 3)
    points = [{"x": number / (MANY + 20.0), "y": 1.0 + number % 7} for number in range(MANY + 20)]
    for first in (0, 60):
        values = [Value((point["x"] - 0.3) ** 2, parameters=point) for point in points[first : first + 60]]
        observe_batch(running, "s", values)
    rounds(running, "s", 3)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    whole, parts = CachedModel(start(study, created_row(log))), CachedModel(start(study, created_row(log)))
    together, apart = whole.model, parts.model
    added, observe_one = list[Any](), together.policy.observe

    def counted(*told: Any) -> Any:
        added.append(told)
        return observe_one(*told)

    with monkeypatch.context() as patched:
        patched.setattr(together.policy, "observe", counted)
        whole.fold(log)
    assert len(added) == 10  # those of the rounds, without two that have no decision before the import
    while apart.seq < log[-1].seq:
        parts.fold([event for event in log if event.seq > apart.seq], until=0.0)
    assert apart.diverged == together.diverged == []
    assert apart.stats() == together.stats()
    assert repr(apart.learned) == repr(together.learned)
    assert replay(running, "s").diverged == []


@on_either("kind", SYSTEMS, ["auto"])
def test_snapshot_answers_do_not_change_with_later_events(running: Service, database: Database, kind: str) -> None:
    create(running, definition(algorithm=SYSTEMS[kind]))
    rounds(running, "s", 12)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    model, half = start(study), len(log) // 2
    cached = CachedModel(model)
    cached.fold(log[:half])
    snapshot = model.snapshot()

    def answers(of: Model) -> list[str]:
        return [repr(QUESTIONS[name](of, *arguments)) for name, arguments in ASKED.items()]

    before = answers(snapshot)
    assert before == answers(model)
    cached.fold(log[half:])
    cached.decisions.decide(model, 2)
    assert answers(snapshot) == before
    assert answers(model) != before
    assert {name for name in QUESTIONS if name not in ASKED} == {"finishing", "front", "recommended_within", "stored"}


def test_model_keeps_its_table_when_the_process_drops_it_from_its_cache(running: Service, database: Database) -> None:
    dyes = {"name": "dye", "kind": "catalogue", "table": "dye,size\na,1\nb,2\nc,3"}
    create(running, definition(parameters=[dyes]))
    body = PatchStudyBody.model_validate({"catalogues": {"dye": {"withdraw": ["b"]}}})
    change(running, "s", body.changes())
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    model = start(study, created_row(log))
    many = "x" * 10_000_000
    for number in range(30):  # more than a process caches
        keep(Pieces(many, ({"add": str(number)},)))
    CachedModel(model).fold(log)
    (axis,) = model.definition.space().axes
    assert isinstance(axis, CatalogueAxis)
    assert (axis.choices, [axis.offers(name) for name in "abc"]) == (("a", "b", "c"), [True, False, True])


def test_long_query_does_not_block_its_study_and_can_be_withdrawn(running: Service, database: Database) -> None:
    create(running, definition())
    rounds(running, "s", 3)
    with database.reading() as connection:
        study = studies.get(connection, "s")
    replies: dict[int, Reply] = {}
    reads = Reads(lambda _, question: question == "importance")
    host = ModelHost(ModelStore(database, 2**20), replies.__setitem__, reads=reads)
    for number, question in enumerate([("importance", (None,)), ("model_stats", ()), ("importance", (None,))]):
        host.post(number, Question("s", study.incarnation, study.study_seq, *question, number=number))
    while host.step("s"):
        pass
    assert list(replies) == [1]
    host.post(3, Withdraw("s", 2))
    assert replies[2] == replies[3] == Superseded()
    read = reads.take()
    assert read is not None
    assert read.number == 0
    results, _ = read.answered().value
    assert results == study.observations
    reads.end()
    assert reads.take() is None


def test_suggestions_overtake_queries_but_each_lets_one_through(running: Service, database: Database) -> None:
    """So queries are answered eventually, even if there is always another suggestion."""
    create(running, definition())
    rounds(running, "s", 3)
    with database.reading() as connection:
        study = studies.get(connection, "s")
    replied: list[int] = []
    host = ModelHost(ModelStore(database, 2**20), lambda number, _: replied.append(number))
    host.post(0, Advance("s", study.incarnation, study.study_seq))
    while host.step("s"):  # the log is folded in slices, whose number depends on the machine
        pass
    replied.clear()
    for number in (1, 2, 3):
        host.post(number, Question("s", study.incarnation, study.study_seq, "model_stats", number=number))
    for number in (11, 12, 13):
        host.post(number, Advance("s", study.incarnation, study.study_seq, decide=1))
        assert host.kind_of_next("s") == FOLDS
        assert host.step("s")
    assert replied == [11, 1, 12, 2, 13, 3]


@pytest.mark.long
def test_learning_from_few_results_is_an_ordinary_step(running: Service, database: Database) -> None:
    """Hyperparameters are due at 21 results and, where 30 are few, at 32."""
    create(running, definition())
    host = ModelHost(ModelStore(database, 2**20), lambda *_: None, fold_seconds=math.inf, few_results=30)
    for first, last, kind in ((0, 21, FOLDS), (21, 32, LEARNS)):
        for number in range(first, last):
            observe(running, "s", Value(float(number % 7), parameters={"x": number / 60.0, "y": 1.0}))
        with database.reading() as connection:
            study = studies.get(connection, "s")
        host.post(0, Advance("s", study.incarnation, study.study_seq))
        assert host.step("s")  # the result is folded
        cached = host.store.find("s")
        assert cached is not None
        model = cached.model
        assert model.learns_next
        assert host.kind_of_next("s") == kind
        assert host.step("s")  # the model has learned
        assert host.kind_of_next("s") == FOLDS
        assert not model.prepared, "the gap is computed in a separate step"
        assert host.step("s")
        assert model.prepared


def test_equal_queries_are_answered_together(running: Service, database: Database) -> None:
    """Unless one needs a later state of the study or another query."""
    create(running, definition())
    rounds(running, "s", 3)
    with database.reading() as connection:
        study = studies.get(connection, "s")
    reads = Reads(lambda *_: True)
    host = ModelHost(ModelStore(database, 2**20), lambda *_: None, reads=reads)
    importance: tuple[str, tuple[Any, ...]] = ("importance", (None,))
    asked = [importance, importance, ("slice_through", ([0], 3, {})), importance]
    for number, question in enumerate(asked):
        host.post(number, Question("s", study.incarnation, study.study_seq, *question, number=number))
    while host.step("s"):
        pass
    rounds(running, "s", 1)
    with database.reading() as connection:
        study = studies.get(connection, "s")
    host.post(9, Question("s", study.incarnation, study.study_seq, *importance, number=9))
    while host.step("s"):
        pass
    first = reads.take()
    assert first is not None
    assert first.number == 0
    assert reads.take_same(first) == [1, 3]
    assert [each.number for each in (reads.take(), reads.take()) if each] == [2, 9]


def test_answers_are_kept_until_the_model_folds_an_event(running: Service, database: Database) -> None:
    create(running, definition())
    rounds(running, "s", 3)
    replied, reads = list[int](), Reads(lambda *_: True)
    host = ModelHost(ModelStore(database, 2**20), lambda number, _: replied.append(number), reads=reads)

    def ask(number: int) -> None:
        with database.reading() as connection:
            study = studies.get(connection, "s")
        host.post(number, Question("s", study.incarnation, study.study_seq, "importance", (None,), number=number))
        while host.step("s"):
            pass

    ask(0)
    first = reads.take()
    assert first is not None
    first.answered()
    ask(1)
    assert replied == [1]
    rounds(running, "s", 1)
    ask(2)
    assert replied == [1]
    second = reads.take()
    assert second is not None
    assert second.number == 2

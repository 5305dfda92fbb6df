"""The server's state of a model: a reply belongs to its message, and the death of a process counts once."""

from __future__ import annotations

from dataclasses import replace

from adabkb_service.inference.inprocess import InProcess
from adabkb_service.inference.link import ModelLink
from adabkb_service.inference.messages import Advance, Advanced, Lost, Message
from adabkb_service.inference.pool import Receive
from adabkb_service.operations.observe import observe as telling
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.suggest import suggest as asking
from adabkb_service.storage import studies
from adabkb_service.storage.database import Database
from adabkb_service.study.transitions import stats_of_empty_model
from adabkb_service.timeouts import Timeouts
from tests.integration.inference.held_replies import HeldReplies
from tests.integration.inference.rounds import rounds
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, heartbeat, store, suggest


def test_reply_to_an_earlier_message_is_not_used_for_a_later_one(database: Database, clock: ManualClock) -> None:
    """After a result, the model prefetches one point; two are requested before its reply. Both come from the model."""
    held = HeldReplies(database)
    running = Service(database, clock=clock, inference=held)
    create(running, definition())
    suggest(running, "s", Ask())
    held.is_holding = True
    running.do(telling("s", Value(1.0, 1)))
    waiting = running.submit(asking("s", Ask(2)))
    perform_batch(running)
    assert len(held.replies) == 2
    for reply in held.replies:
        reply()
        perform_batch(running)
    held.is_holding = False
    running.scheduler.work_until(waiting.done)
    answer = waiting.result().view
    assert not answer.degraded
    assert [trial.origin for trial in answer.trials] == ["policy"] * 2


def test_points_of_the_model_are_issued_though_it_has_too_few_in_time(database: Database, clock: ManualClock) -> None:
    """The model has decided on one point in advance. Three are requested, and it does not reply in time."""
    held = HeldReplies(database)
    running = Service(database, clock=clock, inference=held, timeouts=replace(Timeouts(), suggestion=0.0))
    create(running, definition())
    suggest(running, "s", Ask())
    running.do(telling("s", Value(1.0, 1)))
    perform_batch(running)
    held.is_holding = True
    answer = suggest(running, "s", Ask(3)).view
    assert answer.degraded
    assert [trial.origin for trial in answer.trials] == ["policy", "fallback", "fallback"]


def perform_batch(running: Service) -> None:
    """Perform the pending work."""
    running.scheduler.work_until(lambda: True)


class SilentModels(InProcess):
    """Models that never reply."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.messages: list[Message] = []

    def post(self, message: Message, receive: Receive) -> None:  # noqa: ARG002 - nobody is told
        self.messages.append(message)


def test_process_that_loses_many_messages_died_once(database: Database, running: Service) -> None:
    """The link tries again immediately, but only after a pause if the next process dies, too."""
    now = 0.0
    study = create(running, definition()).view
    noted = SilentModels(database)
    link = ModelLink(study.id, noted, lambda _: None, Timeouts(), clock=lambda: now)
    link.study_seq = 1
    for count in (1, 2, 3):
        link.advance(count)
    for _ in range(3):
        link.adopt(Lost(1))
    assert link.is_worth_waiting_for()
    link.advance(3)
    assert [message.decide for message in noted.messages if isinstance(message, Advance)] == [1, 2, 3, 3]
    link.adopt(Lost(2))
    assert not link.is_worth_waiting_for()
    now = 4.0
    assert link.is_worth_waiting_for()


def test_late_reply_about_a_deleted_study_is_ignored(database: Database, running: Service) -> None:
    """A study that is created again has the same id and no results; the statistics of the deleted one may be final."""
    create(running, definition())
    with database.reading() as connection:
        study = studies.get(connection, "s")
    link = ModelLink("s", SilentModels(database), lambda _: None, Timeouts())
    link.begin(study)
    stats = stats_of_empty_model(1)
    link.adopt(Advanced("of the deleted study", 1, 1, model_stats={**stats, "stopped": True}))
    assert (link.model_stats, link.model_seq) == (None, 0)
    link.adopt(Advanced(study.incarnation, 1, 1, model_stats=stats))
    assert link.model_stats == stats


def test_lagging_server_does_not_replace_newer_statistics(database: Database, clock: ManualClock) -> None:
    """They decide whether a study is complete."""
    one, two = (Service(database, clock=clock) for _ in range(2))
    create(one, definition())
    rounds(one, "s", 2)
    (trial,) = suggest(one, "s", Ask()).view.trials
    rounds(two, "s", 4)
    store(two, "s")
    with database.reading() as connection:
        later = studies.get(connection, "s").model
    heartbeat(one, "s", trial.number)
    with database.reading() as connection:
        assert studies.get(connection, "s").model == later

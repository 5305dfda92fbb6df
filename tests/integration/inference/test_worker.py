"""The end of a model process: it stores only models that are consistent with an event."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from multiprocessing import Pipe
from types import FrameType
from typing import Any

import pytest

from adabkb_service.inference import worker
from adabkb_service.inference.dataset import Dataset
from adabkb_service.inference.messages import Advance, Ask, Superseded
from adabkb_service.inference.pool import CACHE_BYTES
from adabkb_service.inference.questions import importance
from adabkb_service.inference.worker import Worker
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventRow
from adabkb_service.timeouts import UNLIMITED_SECONDS
from tests.calls import watching
from tests.integration.inference.rounds import rounds
from tests.integration.operations.conftest import definition
from tests.samples import some
from tests.waiting import wait_for


@pytest.mark.long
@pytest.mark.parametrize("profile", some(["auto", "paper"], ["auto"]))
def test_model_in_the_middle_of_a_step_is_not_stored(running: Service, database: Database, profile: str) -> None:
    """It has cells of an event that it has not counted yet."""
    create(running, definition(algorithm={"profile": profile}))
    rounds(running, "s", 8)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    reached, may_go_on = threading.Event(), threading.Event()

    def apply_late(call: FrameType, step: str) -> None:
        event: EventRow = call.f_locals["event"]
        if step == "call" and event.kind == "suggested" and event.seq > study.study_seq - 6:
            reached.set()
            assert may_go_on.wait(60.0)

    ours, theirs = Pipe()
    with watching({Dataset.apply: apply_late}):
        process = Worker(theirs, database, CACHE_BYTES, decision_seconds=UNLIMITED_SECONDS, saving_seconds=0.2)
        process.start()
    serving = threading.Thread(target=process.serve)
    serving.start()
    ours.send((1, Advance("s", study.incarnation, 8, log[:8])))
    assert ours.poll(60.0)  # the model is in memory now
    ours.send((2, Advance("s", study.incarnation, study.study_seq, log[8:])))
    assert reached.wait(60.0)
    ours.close()
    serving.join(60.0)
    assert not replay(running, "s").changed
    may_go_on.set()
    wait_for(lambda: not threads())


@pytest.mark.long
def test_long_question_about_an_unchanged_model_is_computed_once(running: Service, database: Database) -> None:
    create(running, definition())
    rounds(running, "s", 8)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    computed: list[str] = []

    def note(_: FrameType, step: str) -> None:
        if step == "call":
            computed.append("importance")

    ours, theirs = Pipe()
    with watching({importance: note}):
        process = Worker(
            theirs, database, CACHE_BYTES, decision_seconds=UNLIMITED_SECONDS, saving_seconds=UNLIMITED_SECONDS
        )
        process.start()
    serving = threading.Thread(target=process.serve)
    serving.start()
    numbers = itertools.count(1)

    def told(message: Advance | Ask) -> Any:
        number = next(numbers)
        ours.send((number, message))
        while ours.poll(60.0):
            replied, reply = ours.recv()
            if replied == number and not isinstance(reply, Superseded):
                return reply
        raise TimeoutError

    def asked(*arguments: str | None) -> Any:
        return told(Ask("s", study.incarnation, study.study_seq, "importance", arguments)).value

    told(Advance("s", study.incarnation, log[-2].seq, log[:-1]))
    told(Ask("s", study.incarnation, log[-2].seq, "importance", (None,)))
    told(Advance("s", study.incarnation, study.study_seq, log[-1:]))
    assert len(computed) == 1
    first = asked(None)
    assert len(computed) == 2, "another event has changed the model"
    assert [repr(asked(None)) for _ in range(2)] == [repr(first)] * 2
    assert len(computed) == 2
    ours.close()
    serving.join(60.0)
    wait_for(lambda: not threads())


def test_long_steps_and_queries_have_lower_priority(database: Database) -> None:
    process = Worker(
        Pipe()[1], database, CACHE_BYTES, decision_seconds=UNLIMITED_SECONDS, saving_seconds=UNLIMITED_SECONDS
    )
    process.start()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    quick, reads, slow = threads()
    if sys.platform == "linux":
        wait_for(lambda: priority(slow) == min(own + 10, 19))  # the thread sets it when it starts
        wait_for(lambda: priority(reads) == min(own + 10, 19))
    assert priority(quick) == own
    process.end()
    wait_for(lambda: not threads())


def threads() -> list[threading.Thread]:
    """The threads of the lanes in this process."""
    return sorted((each for each in threading.enumerate() if each.name in worker.NICENESS), key=lambda each: each.name)


def priority(thread: threading.Thread) -> int:
    return os.getpriority(os.PRIO_PROCESS, thread.native_id or 0)

"""The end of a model process: what it stores is a model as of an event, whatever it was doing."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing import Pipe

import pytest

from adabkb_service.inference import worker
from adabkb_service.inference.messages import Advance
from adabkb_service.inference.model import Model
from adabkb_service.inference.pool import CACHE_BYTES
from adabkb_service.inference.worker import Lane, Worker
from adabkb_service.operations.manage import create
from adabkb_service.operations.replay import replay
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import EventRow
from adabkb_service.timeouts import UNHURRIED
from tests.inference.rounds import rounds
from tests.operations.conftest import definition
from tests.waiting import wait_for


@pytest.mark.parametrize("profile", ["auto", "paper"])
def test_a_model_in_mid_step_is_not_stored_when_the_server_goes(
    running: Service, database: Database, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In mid-step a model has the cells of an event that it has not counted yet."""
    create(running, definition(algorithm={"profile": profile}))
    rounds(running, "s", 8)
    with database.reading() as connection:
        study, log = studies.get(connection, "s"), events.page(connection, "s", 0)
    reached, may_go_on = threading.Event(), threading.Event()
    count = Model._count

    def count_late(model: Model, event: EventRow) -> None:
        if event.kind == "suggested" and event.seq > study.head - 6:
            reached.set()
            assert may_go_on.wait(60.0)
        count(model, event)

    monkeypatch.setattr(Model, "_count", count_late)
    ours, theirs = Pipe()
    process = Worker(theirs, database, CACHE_BYTES, decision_seconds=UNHURRIED, saving_seconds=0.2)
    serving = threading.Thread(target=process.serve)
    serving.start()
    ours.send((1, Advance("s", study.incarnation, 8, log[:8])))
    assert ours.poll(60.0)  # it has the model in memory now
    ours.send((2, Advance("s", study.incarnation, study.head, log[8:])))
    assert reached.wait(60.0)
    ours.close()
    serving.join(60.0)
    monkeypatch.setattr(Model, "_count", count)
    assert not replay(running, "s").changed
    may_go_on.set()
    for lane in process._lanes:
        lane.still_at_work(60.0)


def test_the_slow_lane_gives_way_and_the_quick_one_keeps_its_priority(database: Database) -> None:
    quick, slow = Worker(Pipe()[1], database, CACHE_BYTES, UNHURRIED, UNHURRIED)._lanes
    own = os.getpriority(os.PRIO_PROCESS, 0)
    lower = min(own + worker.SLOW_NICENESS, 19) if sys.platform == "linux" else own
    wait_for(lambda: priority(slow) == lower)  # the thread sets it when it starts
    assert priority(quick) == own


def priority(lane: Lane) -> int:
    return os.getpriority(os.PRIO_PROCESS, lane._thread.native_id or 0)

"""The scheduler: all studies in turn, each by one thread at a time, and none is missed."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from adabkb_service.operations.observe import observe
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.study.scheduler import Scheduler
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Value
from tests.waiting import TIMEOUT_SECONDS, wait_for


@pytest.mark.parametrize("threads", [0, 1])
def test_busy_study_delays_another_by_one_turn(threads: int) -> None:
    order: list[str] = []
    is_over = threading.Event()

    def serve(study_id: str) -> None:
        order.append(study_id)
        if order.count("busy") < 200 and study_id == "busy":
            scheduler.ready("busy")
        if order.count("busy") == 200:
            is_over.set()

    scheduler = Scheduler(serve, threads)
    for study_id in ("busy", "a", "b"):
        scheduler.ready(study_id)
    scheduler.open()
    scheduler.work_until(is_over.is_set)
    scheduler.close()
    assert order[:4] == ["busy", "a", "b", "busy"]
    assert order.count("busy") == 200


@pytest.mark.long
def test_two_hundred_requests_delay_another_study_by_one_turn(running: Service) -> None:
    """Even if each answered request is followed by another one."""
    create(running, definition())
    create(running, definition(id="other"))
    order: list[str] = []
    more: list[Future[Any]] = []

    def ask_again(_: Future[Any]) -> None:
        order.append("first")
        following = submit(running, "s")
        following.add_done_callback(lambda _: order.append("second"))
        more.append(following)

    for _ in range(200):
        submit(running, "s").add_done_callback(ask_again)
    submit(running, "other").add_done_callback(lambda _: order.append("other"))
    running.scheduler.work_until(lambda: len(more) == 200 and all(future.done() for future in more))
    assert order == ["first"] * 200 + ["other"] + ["second"] * 200


def submit(running: Service, study_id: str) -> Future[Any]:
    return running.submit(observe(study_id, Value(1.0, parameters={"x": 0.5, "y": 1.0})))


def test_each_study_is_served_by_one_thread_and_no_call_is_lost() -> None:
    """Work requested before a batch begins is seen by this batch or a later one."""
    names = ["a", "b", "c"]
    wanted, seen, at_work, most = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    guard = threading.Lock()

    def serve(study_id: str) -> None:
        with guard:
            at_work[study_id] += 1
            most[study_id] = max(most[study_id], at_work[study_id])
            seen[study_id] = wanted[study_id]
        time.sleep(0.0005)
        with guard:
            at_work[study_id] -= 1

    scheduler = Scheduler(serve, 4)
    scheduler.open()

    def want(index: int) -> None:
        study_id = names[index % 3]
        with guard:
            wanted[study_id] += 1
        scheduler.ready(study_id)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(want, range(600)))
    wait_for(lambda: seen == wanted)
    scheduler.close()
    assert most == dict.fromkeys(names, 1)


def test_slow_study_does_not_block_the_other_threads() -> None:
    """Calls for it in the meantime are served afterwards."""
    may_continue, served = threading.Event(), Counter[str]()

    def serve(study_id: str) -> None:
        served[study_id] += 1
        if study_id == "slow":
            may_continue.wait(TIMEOUT_SECONDS)

    scheduler = Scheduler(serve, 2)
    scheduler.open()
    scheduler.ready("slow")
    wait_for(lambda: served["slow"] == 1)
    for _ in range(10):
        scheduler.ready("slow")
    for number in range(20):
        scheduler.ready(f"quick-{number}")
    wait_for(lambda: len(served) == 21)
    assert served["slow"] == 1
    may_continue.set()
    wait_for(lambda: served["slow"] == 2)
    scheduler.close()


@pytest.mark.parametrize("threads", [0, 1])
def test_alarms_fire_in_order_and_not_early(threads: int) -> None:
    fired: dict[str, float] = {}
    scheduler = Scheduler(lambda study_id: fired.update({study_id: time.monotonic()}), threads)
    scheduler.open()
    moment = time.monotonic() + 0.05
    scheduler.ready_at("never", moment + 3600)
    scheduler.ready_at("later", moment + 0.2)
    scheduler.ready_at("sooner", moment)
    scheduler.work_until(lambda: "later" in fired)
    scheduler.close()
    assert list(fired) == ["sooner", "later"]
    assert fired["sooner"] >= moment
    assert fired["later"] >= moment + 0.2


@pytest.mark.parametrize("threads", [0, 1])
def test_served_study_drops_its_alarm(threads: int) -> None:
    """Each request of a busy study sets an alarm. Once the study was served, none of them serves it again."""
    served: list[str] = []
    scheduler = Scheduler(served.append, threads)
    moment = time.monotonic() + 0.2
    for _ in range(10):
        scheduler.ready_at("s", moment)
    scheduler.ready("s")
    scheduler.ready_at("other", moment + 0.2)
    scheduler.open()
    scheduler.work_until(lambda: "other" in served)
    scheduler.close()
    assert served == ["s", "other"]


def test_waiters_do_not_take_notifications_of_the_working_thread() -> None:
    """For any number of waiters, each notification leads to a batch. Otherwise, a study would wait for the next
    event.
    """
    is_over, served = threading.Event(), Counter[str]()
    scheduler = Scheduler(lambda study_id: served.update([study_id]), 1)

    def has_turned(number: int) -> bool:
        return served["s"] == number

    with ThreadPoolExecutor(20) as pool:
        for _ in range(20):
            pool.submit(scheduler.work_until, is_over.is_set)
        scheduler.open()
        try:
            for number in range(1, 21):
                scheduler.ready("s")
                wait_for(partial(has_turned, number))
        finally:
            is_over.set()
    scheduler.close()
    assert served == {"s": 20}


def test_failed_turn_does_not_end_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    served: list[str] = []

    def serve(study_id: str) -> None:
        served.append(study_id)
        if study_id == "broken":
            raise RuntimeError("broken")

    scheduler = Scheduler(serve, 1)
    scheduler.open()
    for study_id in ("broken", "sound"):
        scheduler.ready(study_id)
    wait_for(lambda: served == ["broken", "sound"])
    scheduler.ready("broken")
    wait_for(lambda: len(served) == 3)
    scheduler.close()
    assert caplog.text.count("study broken: a batch failed") == 2


class FailingHandler(logging.Handler):
    """A log handler without memory for a line."""

    def handle(self, record: logging.LogRecord) -> bool:
        raise MemoryError(record.msg)


def test_error_that_cannot_be_logged_does_not_end_its_thread() -> None:
    served: list[str] = []

    def serve(study_id: str) -> None:
        served.append(study_id)
        if len(served) == 1:
            raise MemoryError

    logger, handler = logging.getLogger(Scheduler.__module__), FailingHandler()
    logger.addHandler(handler)
    scheduler = Scheduler(serve, 1)
    scheduler.open()
    scheduler.ready("s")
    wait_for(lambda: served == ["s", "s"])
    scheduler.ready("s")
    wait_for(lambda: len(served) == 3)
    scheduler.close()
    logger.removeHandler(handler)


def test_close_ends_all_threads_after_their_current_turn() -> None:
    before = set(threading.enumerate())
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def serve(_: str) -> None:
        began.set()
        assert may_end.wait(TIMEOUT_SECONDS)
        ended.set()

    scheduler = Scheduler(serve, 4)
    scheduler.open()
    scheduler.ready_at("never", time.monotonic() + 3600)
    scheduler.ready("s")
    assert began.wait(TIMEOUT_SECONDS)
    closer = threading.Timer(0.2, may_end.set)  # while close() waits for the batch
    closer.start()
    scheduler.close()
    assert ended.is_set()
    closer.join()
    assert set(threading.enumerate()) <= before  # a thread of an earlier test may have ended meanwhile

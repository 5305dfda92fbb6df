"""The waiters that a change notifies, on an event loop without a server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection
from contextlib import ExitStack

from adabkb_service.errors import Unavailable
from adabkb_service.study.changes import Changes
from tests.waiting import TIMEOUT_SECONDS

NEVER = 3600.0


class Log:
    """A fake log: the last events of studies, recorded queries, and whether the server stops."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {"s": 1, "t": 1}
        self.asked: list[set[str]] = []
        self.error: Exception | None = None
        self.stopping, self.held = threading.Event(), threading.Event()
        self.held.set()

    def __call__(self, studies: Collection[str]) -> dict[str, int]:
        self.asked.append(set(studies))
        assert self.held.wait(TIMEOUT_SECONDS)
        if self.error is not None:
            raise self.error
        return {study: seq for study, seq in self.last.items() if study in studies}


def on_a_loop(test: Callable[[Changes, Log], Awaitable[None]], look_seconds: float = NEVER) -> None:
    """Run a test, then close."""
    log = Log()

    async def run() -> None:
        changes = Changes(log, log.stopping, look_seconds)
        await asyncio.wait_for(test(changes, log), TIMEOUT_SECONDS)
        await changes.close()

    asyncio.run(run())


async def settle() -> None:
    """Run all scheduled callbacks."""
    for _ in range(3):
        await asyncio.sleep(0)


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.001)


def test_change_wakes_all_streams_of_its_study_and_the_first_request() -> None:
    async def test(changes: Changes, _: Log) -> None:
        with ExitStack() as waiting:
            streams = [waiting.enter_context(changes.waiting("s")) for _ in range(2)]
            first, second = (waiting.enter_context(changes.waiting("s", for_trial=True)) for _ in range(2))
            other = waiting.enter_context(changes.waiting("t"))
            assert changes.waiting_for_trial == 2
            changes.notify("s", 2, may_free=False)
            changes.notify("nobody waits for it", 2, may_free=True)
            await settle()
            assert [each.is_set() for each in (*streams, first, second, other)] == [True, True, False, False, False]
            changes.notify("s", 3, may_free=True)
            await settle()
            assert [each.is_set() for each in (first, second)] == [True, False]
            changes.notify("s", 4, may_free=True)
            await settle()
            assert second.is_set()
        assert changes.waiting_for_trial == 0

    on_a_loop(test)


def test_woken_waiter_that_leaves_wakes_the_next_one() -> None:
    """A waiter that was not notified does not, and neither does a stream."""

    async def test(changes: Changes, _: Log) -> None:
        with changes.waiting("s", for_trial=True) as last:
            with changes.waiting("s") as stream:
                changes.notify("s", 2, may_free=False)
                await settle()
                assert stream.is_set()
            assert not last.is_set()
            with changes.waiting("s", for_trial=True):
                pass
            assert not last.is_set()
        with changes.waiting("s", for_trial=True), changes.waiting("s", for_trial=True) as following:
            with changes.waiting("s", for_trial=True) as unwoken:
                pass
            assert not unwoken.is_set()
            changes.notify("s", 3, may_free=True)
            await settle()
            assert not following.is_set()
        with ExitStack() as waiting:
            first = ExitStack()
            woken = first.enter_context(changes.waiting("s", for_trial=True))
            following = waiting.enter_context(changes.waiting("s", for_trial=True))
            changes.notify("s", 4, may_free=True)
            await settle()
            assert woken.is_set()
            assert not following.is_set()
            first.close()
            assert following.is_set()

    on_a_loop(test)


def test_commits_of_other_servers_are_polled_only_for_studies_with_waiters() -> None:
    async def test(changes: Changes, log: Log) -> None:
        with changes.waiting("s") as woken, changes.waiting("s", for_trial=True) as asks:
            await until(lambda: woken.is_set() and asks.is_set())  # nothing was known before the first poll
            woken.clear()
            asks.clear()
            looks = len(log.asked)
            await until(lambda: len(log.asked) > looks + 2)
            assert not woken.is_set()
            log.last["s"] = 2
            await until(lambda: woken.is_set() and asks.is_set())
            woken.clear()
            del log.last["s"]
            await until(woken.is_set)
            woken.clear()
            log.error = Unavailable("away")
            looks = len(log.asked)
            await until(lambda: len(log.asked) > looks + 1)
            log.error = ValueError("broken")
            await until(lambda: len(log.asked) > looks + 4)
            assert not woken.is_set()
            log.error, log.last["s"] = None, 5
            await until(woken.is_set)
        assert set().union(*log.asked) == {"s"}
        looks = len(log.asked)
        await asyncio.sleep(0.02)
        assert len(log.asked) <= looks + 1
        with changes.waiting("s") as woken:  # earlier changes do not count
            await until(woken.is_set)

    on_a_loop(test, look_seconds=0.001)


def test_stopping_server_wakes_all_waiters() -> None:
    async def test(changes: Changes, log: Log) -> None:
        with changes.waiting("s") as one, changes.waiting("t", for_trial=True) as other:
            await until(lambda: bool(log.asked))
            one.clear()
            other.clear()
            assert not changes.is_closing
            log.stopping.set()
            await until(lambda: one.is_set() and other.is_set())
            assert changes.is_closing

    on_a_loop(test, look_seconds=0.001)


def test_close_waits_only_for_the_query_in_progress() -> None:
    async def test(changes: Changes, log: Log) -> None:
        log.held.clear()
        with changes.waiting("s"):
            await until(lambda: bool(log.asked))
            closing = asyncio.create_task(changes.close())
            done, _ = await asyncio.wait([closing], timeout=0.05)
            assert not done
        log.held.set()
        await closing

    on_a_loop(test, look_seconds=0.001)
    on_a_loop(waits_for_an_hour)


async def waits_for_an_hour(changes: Changes, log: Log) -> None:
    with changes.waiting("s"):
        await settle()
        await changes.close()
    assert log.asked == []

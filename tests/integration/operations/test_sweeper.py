"""The periodic work of a server: a job that fails does not keep the others from running."""

from __future__ import annotations

import logging
import threading

import pytest

from adabkb_service.errors import Busy, Unavailable
from adabkb_service.operations.monitoring.sweeper import Job, Sweeper


@pytest.mark.parametrize("error", [Busy("the database is busy"), KeyError("a defect")])
def test_job_that_fails_in_each_round_does_not_delay_the_others(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def fail(_: float) -> None:
        done.append("fails")
        raise error

    sweeper = Sweeper([Job("fails", fail), Job("works", lambda _: done.append("works"))], 7.0)
    with caplog.at_level(logging.WARNING):
        sweeper.round()
        sweeper.round()
    assert done == ["fails", "works"] * 2
    (record,) = caplog.records
    assert record.getMessage().startswith("the job that fails failed and is retried every 7.0 s: ")
    assert bool(record.exc_info) is isinstance(error, KeyError)


def test_round_ends_if_the_database_does_not_answer() -> None:
    """Otherwise, each job would wait for its timeout."""
    sweeper = Sweeper([Job("waits", fail_without_a_database), Job("waits too", lambda _: pytest.fail("it waits"))], 1.0)
    sweeper.round()


def fail_without_a_database(_: float) -> None:
    raise Unavailable("the database is gone")


def test_rare_job_is_due_after_its_seconds_and_at_once_after_a_failure() -> None:
    times = iter((0.0, 10.0, 50.0, 70.0, 80.0, 130.0, 140.0, 150.0))
    attempts: list[float] = []

    def fail_first(since: float) -> None:
        attempts.append(since)
        if len(attempts) == 1:
            raise Unavailable("the database is gone")

    sweeper = Sweeper([Job("is rare", fail_first, 60.0)], 10.0, lambda: next(times))
    for _ in range(7):
        sweeper.round()
    assert attempts == [70.0, 10.0, 60.0]


def test_thread_performs_rounds_until_it_is_stopped() -> None:
    rounds, is_stopped = threading.Semaphore(0), threading.Event()

    def work(_: float) -> None:
        assert not is_stopped.is_set()
        rounds.release()

    sweeper = Sweeper([Job("counts", work)], 0.001)
    sweeper.start()
    assert all(rounds.acquire(timeout=60) for _ in range(3))
    sweeper.stop()
    is_stopped.set()

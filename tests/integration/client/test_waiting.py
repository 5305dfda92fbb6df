"""If there is no trial, a run lets the server wait for one instead of polling."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from adabkb_client import AsyncClient, Client, NoTrialAvailable, RunReport, Study
from tests.waiting import TIMEOUT_SECONDS


def blocking(url: str) -> RunReport:
    with Client(url) as client:
        return client.study("s").run(lambda x, y: x + y, n_trials=2)


def awaiting(url: str) -> RunReport:
    async def function(x: float, y: float) -> float:
        return x + y

    async def run() -> RunReport:
        async with AsyncClient(url) as client:
            return await (await client.study("s")).run(function, n_trials=2)

    return asyncio.run(run())


@pytest.mark.parametrize("run", [blocking, awaiting])
def test_the_server_waits_for_the_run_and_lets_it_continue(
    server: str, study: Study, run: Callable[[str], RunReport]
) -> None:
    study.pause()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run, server)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while "adabkb_suggestions_waiting 1.0" not in httpx.get(f"{server}/metrics").text:
            assert time.monotonic() < deadline
        study.resume()
        assert running.result(TIMEOUT_SECONDS).completed == 2


def test_a_wait_without_a_trial_ends_after_its_timeout(study: Study) -> None:
    study.pause()
    before = time.monotonic()
    with pytest.raises(NoTrialAvailable) as none:
        study.suggest(wait=1)
    assert time.monotonic() >= before + 1
    assert none.value.retry_after == 0


def test_a_wait_is_no_time_out(server: str, study: Study) -> None:
    """The wait is added to the client's timeout."""
    study.pause()
    with Client(server, timeout=0.9) as client, pytest.raises(NoTrialAvailable):
        client.study("s").suggest(wait=1)

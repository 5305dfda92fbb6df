"""``AsyncStudy.run``: as ``Study.run``, with tasks; and what cancellation does, which threads do not know."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from adabkb_client import Algorithm, AsyncClient, AsyncLeasedTrial, AsyncStudy, Client, Float, RunReport, Study, Trial
from tests.integration.client.faults import Proxy
from tests.waiting import TIMEOUT_SECONDS, wait_for

BUDGET = 12

T = TypeVar("T")


@pytest.fixture
def study(client: Client) -> Study:
    random: Algorithm = {"kind": "random"}  # no model, which a run has no use for
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, seed=1, algorithm=random)


def run(url: str, function: Any, **options: Any) -> RunReport:
    async def work(remote: AsyncStudy) -> RunReport:
        return await remote.run(function, **options)

    return with_study(url, work)


def with_study(url: str, work: Callable[[AsyncStudy], Awaitable[T]]) -> T:
    async def connected() -> T:
        async with AsyncClient(url) as client:
            return await work(await client.study("s"))

    return asyncio.run(connected())


async def itself(x: float) -> float:
    return x


def test_tasks_use_exactly_the_budget_and_callbacks_are_called(server: str, study: Study) -> None:
    together = asyncio.Barrier(4)
    told: list[int] = []

    async def function(trial: AsyncLeasedTrial) -> dict[str, float]:
        await asyncio.wait_for(together.wait(), TIMEOUT_SECONDS)  # passes only if four evaluations run at once
        await trial.annotate({"task": trial.number})
        return {"value": trial.parameters["x"], "std_error": 0.125}

    async def tell(_: AsyncStudy, trial: Trial) -> None:
        await asyncio.sleep(0)
        told.append(trial.number)

    report = run(server, function, workers=4, pass_trial=True, callbacks=[tell])
    assert (report.completed, report.failed, report.reason) == (BUDGET, 0, "budget")
    assert sorted(told) == list(range(1, BUDGET + 1))
    assert len({trial.parameters["x"] for trial in study.trials()}) == BUDGET
    assert {observation.std_error for observation in study.observations()} == {0.125}


def test_idle_tasks_ask_for_their_trials_together(server: str, study: Study) -> None:
    """Trials of one request are issued at one time. So many workers do not wait for one suggestion after the other."""
    assert run(server, itself, workers=5, n_trials=4).completed == 4
    assert len({trial.started_at for trial in study.trials()}) == 1


def test_trials_that_no_task_takes_before_the_end_are_released_at_once(server: str, study: Study) -> None:
    """Not only when the last evaluation ends, which may take hours."""

    async def once(x: float) -> float:
        study.stop()
        await asyncio.to_thread(wait_for, lambda: len(list(study.trials("released"))) == 3)
        return x

    assert run(server, once, workers=4).completed == 1
    assert [trial.state for trial in study.trials()] == ["completed", "released", "released", "released"]


def test_a_run_ends_after_n_trials_or_when_it_is_stopped(server: str, study: Study) -> None:
    assert run(server, itself, n_trials=3, workers=2).reason == "n_trials"
    assert study.info().counts.trials == 3
    assert run(server, itself, callbacks=[lambda remote, _: remote.stop()]).reason == "stopped"
    held = study.suggest(BUDGET - 4)
    assert run(server, itself, timeout=0.3, workers=2).reason == "timeout"  # it waited for these
    assert [trial.number for trial in study.trials("active")] == [trial.number for trial in held]


async def divides(x: float) -> float:
    return x / 0


def test_failures_in_a_row_stop_the_run_unless_they_are_to_be_caught(server: str, study: Study) -> None:
    assert run(server, divides, n_trials=6, catch=ZeroDivisionError).failed == 6
    with pytest.raises(ZeroDivisionError) as caught:
        run(server, divides, max_failures=3)
    assert "3 failures in a row" in caught.value.__notes__[0]
    reason = f"ZeroDivisionError: {caught.value}"  # whose words differ between Pythons
    assert {trial.reason for trial in study.trials("failed")} == {reason}


async def nothing(x: float) -> None: ...


async def exits(x: float) -> None:
    sys.exit(str(x))


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: x, TypeError, "the function must be async"),
        (nothing, TypeError, "must be a number, not None"),
        (exits, SystemExit, "0."),
    ],
)
def test_a_programming_error_stops_the_run_and_releases_the_first_trial(
    server: str, study: Study, function: Any, kind: type[BaseException], message: str
) -> None:
    with pytest.raises(kind, match=message):
        run(server, function)
    assert [trial.state for trial in study.trials()] == ["released"]


def test_a_function_that_does_not_take_the_parameters_is_refused_before_any_trial(server: str, study: Study) -> None:
    async def function(lr: float) -> float:
        return lr

    with pytest.raises(TypeError, match="with the parameters x by name, but its signature is"):
        run(server, function)
    assert not list(study.trials())


def test_a_cancelled_function_fails_its_trial_and_the_run_continues(server: str, study: Study) -> None:
    calls = iter(range(BUDGET))

    async def function(x: float) -> float:
        job = asyncio.create_task(asyncio.sleep(60, x))
        if next(calls) < 2:
            job.cancel()
            return await job
        job.cancel()
        return x

    report = run(server, function, workers=1)
    assert (report.completed, report.failed) == (BUDGET - 2, 2)
    (reason,) = {trial.reason for trial in study.trials("failed")}
    assert reason is not None
    assert "was cancelled, although the run was not" in reason


def test_a_cancelled_run_gives_all_its_trials_back(server: str, study: Study) -> None:
    async def work(remote: AsyncStudy) -> None:
        under_way = asyncio.Barrier(4)

        async def function(x: float) -> float:
            await under_way.wait()
            return await asyncio.sleep(60, x)

        task = asyncio.create_task(remote.run(function, workers=3))
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_study(server, work)
    assert [trial.state for trial in study.trials()] == ["released"] * 3


def test_a_trial_received_while_stopping_is_released(study: Study, faulty: Proxy) -> None:
    async def work(remote: AsyncStudy) -> None:
        faulty.faults.extend([None, "slow"])  # the budget, the first trial
        task = asyncio.create_task(remote.run(itself))
        await asyncio.to_thread(wait_for, lambda: list(study.trials()))
        task.cancel()
        faulty.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_study(faulty.url, work)
    assert [trial.state for trial in study.trials()] == ["released"]


def test_a_trial_received_long_after_the_end_is_released(
    study: Study, faulty: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADABKB_STOP_SECONDS", "0.1")

    async def work(remote: AsyncStudy) -> None:
        faulty.faults.extend([None, "slow"])  # the budget, the first trial
        task = asyncio.create_task(remote.run(itself))
        await asyncio.to_thread(wait_for, lambda: list(study.trials()))
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=1)
        assert not done
        faulty.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_study(faulty.url, work)
    assert [trial.state for trial in study.trials()] == ["released"]


def test_a_result_that_is_being_sent_at_the_end_is_awaited(study: Study, faulty: Proxy) -> None:
    async def work(remote: AsyncStudy) -> None:
        faulty.faults.extend([None, None, "late"])  # the budget, the first trial, its result
        task = asyncio.create_task(remote.run(itself))
        await asyncio.to_thread(wait_for, lambda: faulty.keys("/observe"))
        task.cancel()
        await asyncio.sleep(0.1)
        faulty.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_study(faulty.url, work)
    assert [trial.state for trial in study.trials()] == ["completed"]
    assert not faulty.keys("/release")


PROGRAM = """
import asyncio, sys
from adabkb_client import AsyncClient
async def function(x):
    print("evaluating", flush=True)
    await asyncio.sleep(60)
async def main():
    async with AsyncClient(sys.argv[1]) as client:
        await (await client.study("s")).run(function, workers=2)

"""
BY_RUN, BY_A_LOOP = "asyncio.run(main())", "asyncio.new_event_loop().run_until_complete(main())"


@pytest.mark.parametrize("started", [BY_RUN, pytest.param(BY_A_LOOP, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 128 + signal.SIGTERM), pytest.param(signal.SIGINT, -signal.SIGINT, marks=pytest.mark.long)],
)
def test_an_interrupted_run_gives_all_its_trials_back(
    server: str, study: Study, number: int, code: int, started: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM + started, server], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["evaluating\n"] * 2
        process.send_signal(number)
        assert process.wait(TIMEOUT_SECONDS) == code
    assert [trial.state for trial in study.trials()] == ["released", "released"]

"""The asynchronous client: the same calls, awaited, with many evaluations under way in one thread."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from types import FrameType

import pytest

import adabkb_client._frames as frames
import adabkb_client.plots._charts as charts
from adabkb_client import (
    AsyncClient,
    AsyncLeasedTrial,
    AsyncStudy,
    Client,
    Conflict,
    Float,
    Invalid,
    NotFound,
    ResultKept,
    Study,
    StudyComplete,
)
from tests.calls import watching
from tests.integration.client.faults import Fault, Proxy
from tests.integration.client.leases import LEASE_SECONDS, wait_for_renewal
from tests.waiting import TIMEOUT_SECONDS

SPACE = {"x": Float(0, 1), "y": Float(1, 100, log=True)}


def in_a_loop(url: str, work: Callable[[AsyncClient], Awaitable[None]], **options: float) -> None:
    async def connected() -> None:
        async with AsyncClient(url, retry_for=options.get("retry_for"), timeout=options.get("timeout", 30)) as client:
            await work(client)

    asyncio.run(connected())


def test_parameters_are_held_fixed(server: str, study: Study) -> None:
    async def work(aclient: AsyncClient) -> None:
        found = await aclient.study(study.id)
        assert (await found.suggest(fixed={"x": 0.25})).parameters["x"] == 0.25
        async with found.trial(fixed={"x": 0.75}) as trial:
            assert trial.parameters["x"] == 0.75
            await trial.observe(1.0)

        async def function(x: float, y: float) -> float:
            assert (x, y) == (0.5, 10.0)
            return x

        report = await found.run(function, fixed={"x": 0.5, "y": 10})
        assert (report.completed, report.reason) == (1, "fixed_exhausted")

    in_a_loop(server, work)


def test_a_study_is_created_used_and_deleted(server: str, client: Client) -> None:
    async def work(aclient: AsyncClient) -> None:
        study = await aclient.create_study("a", SPACE, direction="maximize", seed=1, budget=4)
        with pytest.raises(Conflict, match=r"exists with budget 4, not 5; change it with study\.update"):
            await aclient.create_study("a", SPACE, direction="maximize", seed=1, budget=5)
        await aclient.create_study("a", SPACE, direction="maximize", seed=1, budget=5, update=True)
        first, second = await study.suggest(2)
        answer = await study.observe(first, 0.5, std_error=0.1)
        assert answer.trial is not None
        await study.fail(second, "diverged")
        assert [trial.number for trial in await study.retry_failed()] == [2]
        await study.annotate(1, {"host": "n1"})
        await study.add_result({"x": 0.5, "y": 2.0}, 0.25)
        fates = await study.observe_many([{"trial": 2, "value": 0.75}, {"trial": 99, "value": 0.0}])
        assert [fate.status for fate in fates] == [200, 404]
        assert [trial.state async for trial in study.trials()] == ["completed", "completed"]
        assert [trial.number async for trial in study.trials(attributes={"host": "n1"})] == [1]
        assert [observation.value async for observation in study.observations()] == [0.5, 0.25, 0.75]
        assert (await study.best()) == (await study.recommendation()).observed
        assert len(await study.predict([{"x": 0.5, "y": 2.0}])) == 1
        assert (await study.export("csv")).count("\n") == 4
        assert [info.id async for info in aclient.studies()] == ["a"]
        with pytest.raises(Invalid, match="parameter 'x', high: must be greater than low"):
            await aclient.create_study("b", {"x": Float(1, 0)}, direction="maximize")
        await aclient.delete_study("a")
        with pytest.raises(NotFound):
            await aclient.study("a")

    in_a_loop(server, work)
    assert list(client.studies()) == []


def test_many_evaluations_are_under_way_in_one_thread_and_each_gets_a_trial_of_its_own(
    server: str, study: Study
) -> None:
    study.update(budget=16)
    together = asyncio.Barrier(8)

    async def evaluate(remote: AsyncStudy) -> None:
        for _ in range(2):
            async with remote.trial() as trial:
                await asyncio.wait_for(
                    together.wait(), TIMEOUT_SECONDS
                )  # passes only if eight evaluations are under way at once
                await trial.annotate({"task": trial.number})
                await trial.observe(trial.parameters["x"])

    async def work(aclient: AsyncClient) -> None:
        remote = await aclient.study(study.id)
        await asyncio.gather(*(evaluate(remote) for _ in range(8)))
        with pytest.raises(StudyComplete):
            await remote.suggest()

    in_a_loop(server, work)
    assert [(trial.state, trial.attributes) for trial in study.trials()] == [
        ("completed", {"task": number}) for number in range(1, 17)
    ]


def test_the_end_of_a_block_settles_its_trial_as_in_the_blocking_client(server: str, study: Study) -> None:
    async def end(remote: AsyncStudy, how: Callable[[AsyncLeasedTrial], Awaitable[object]]) -> None:
        async with remote.trial(lease_seconds=LEASE_SECONDS) as trial:
            await how(trial)

    async def divide(_: AsyncLeasedTrial) -> object:
        return 1 / 0

    async def forget(_: AsyncLeasedTrial) -> object:
        return None

    async def take_long(_: AsyncLeasedTrial) -> object:
        await asyncio.sleep(3600)
        return None

    async def observe_late(trial: AsyncLeasedTrial) -> object:
        await asyncio.to_thread(wait_for_renewal, study)
        return await trial.observe(1.0)

    async def work(aclient: AsyncClient) -> None:
        remote = await aclient.study(study.id)
        await end(remote, observe_late)
        with pytest.raises(ZeroDivisionError):
            await end(remote, divide)
        await end(remote, forget)
        task = asyncio.create_task(end(remote, take_long))
        while (await remote.info()).counts.active == 0:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    in_a_loop(server, work)
    assert [(trial.state, trial.reason) for trial in study.trials()] == [
        ("completed", None),
        ("failed", "ZeroDivisionError: division by zero"),
        ("failed", "the evaluation ended without a result"),
        ("released", None),
    ]
    assert "expired" not in [event.kind for event in study.events()]


@pytest.mark.parametrize("fault", ["lose request", "lose answer", "stall", "busy"])
def test_a_result_is_stored_once_whatever_befalls_its_answer(study: Study, faulty: Proxy, fault: Fault) -> None:
    async def work(aclient: AsyncClient) -> None:
        remote = await aclient.study(study.id)
        trial = await remote.suggest()
        faulty.faults.extend([fault, fault])
        await remote.observe(trial, 0.5)

    in_a_loop(faulty.url, work, timeout=1 if fault == "stall" else 30, retry_for=TIMEOUT_SECONDS)
    assert [observation.value for observation in study.observations()] == [0.5]
    assert not faulty.faults, "it was sent again after each fault"
    assert len(set(faulty.keys("/observe"))) == 1


def test_both_kinds_of_clients_share_the_outbox(study: Study, faulty: Proxy) -> None:
    async def lose(aclient: AsyncClient) -> None:
        remote = await aclient.study(study.id)
        faulty.faults.extend(["lose request"] * 20)
        with pytest.raises(ResultKept):
            await remote.add_result({"x": 0.5, "y": 2.0}, 0.5)
        faulty.faults.clear()

    async def meet(aclient: AsyncClient) -> None:
        await aclient.study(study.id)

    in_a_loop(faulty.url, lose, retry_for=0.1)
    with Client(faulty.url) as blocking:
        assert len(blocking.deliver().sent) == 1
    in_a_loop(faulty.url, lose, retry_for=0.1)
    in_a_loop(faulty.url, meet)
    assert [observation.value for observation in study.observations()] == [0.5, 0.5]


def test_a_deletion_whose_answer_was_lost_is_a_success(study: Study, faulty: Proxy) -> None:
    async def work(aclient: AsyncClient) -> None:
        faulty.faults.append("lose answer")
        await aclient.delete_study(study.id)

    in_a_loop(faulty.url, work)
    with pytest.raises(NotFound):
        study.info()


def test_frames_and_figures_are_made_in_threads(server: str, study: Study) -> None:
    study.observe(study.suggest(), 0.5)
    made: dict[str, bool] = {}

    def made_here(frame: FrameType, _: str) -> None:
        made[frame.f_code.co_name] = threading.current_thread() is threading.main_thread()

    async def work(client: AsyncClient) -> None:
        there = await client.study(study.id)
        assert len(await there.to_frame()) == len(await there.trials().to_frame()) == 1
        await there.plot.history()

    with watching({frames.of_study: made_here, frames.frame: made_here, charts.history: made_here}):
        in_a_loop(server, work)
    assert made == {"of_study": False, "frame": False, "history": False}


@pytest.mark.long
def test_the_first_figure_imports_matplotlib_in_a_thread(server: str, study: Study) -> None:
    study.observe(study.suggest(), 0.5)
    program = f"""
import asyncio, sys, threading
from adabkb_client import AsyncClient

class Noting:
    def find_spec(self, name, path, target=None):
        if name == "matplotlib":
            print("on the loop" if threading.current_thread() is threading.main_thread() else "in a thread")

sys.meta_path.insert(0, Noting())

async def main():
    async with AsyncClient({server!r}) as client:
        study = await client.study({study.id!r})
        await study.plot.history()

asyncio.run(main())
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "in a thread\n"

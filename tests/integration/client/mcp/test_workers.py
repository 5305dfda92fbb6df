"""Several agents, persons and programs in one study: nobody changes the trial of another by mistake."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, closing
from typing import Any

import pytest

from adabkb_client import Client
from adabkb_service.storage.database import Database
from tests.integration.access.conftest import give_token
from tests.integration.client.mcp.agents import SPACE, Agent, http_server, in_process, over_http
from tests.samples import some
from tests.servers import server_on

EXPIRED_SECONDS = 1.0
"""The length of a lease that is over when the next call arrives."""


async def two(stack: AsyncExitStack, url: str, *workers: str) -> list[Agent]:
    """Agents of the same server, each with its worker, and a study."""
    agents = [await stack.enter_async_context(in_process(url, worker=worker)) for worker in workers]
    await agents[0].call("create_study", study="s", parameters=SPACE, direction="minimize", seed=1)
    return agents


async def issued_twice(one: Agent, other: Agent) -> None:
    """Trial 1 is leased to one agent for an instant, and then to the other."""
    first = await one.call("suggest", study="s", lease_seconds=EXPIRED_SECONDS)
    await asyncio.sleep(1.1 * EXPIRED_SECONDS)
    second = await other.call("suggest", study="s")
    assert [(each["trials"][0]["trial"], each["trials"][0]["attempt"]) for each in (first, second)] == [(1, 1), (1, 2)]


@pytest.mark.parametrize("workers", [("a", "b"), ("a", "a")])
@pytest.mark.parametrize("tool", some(["fail", "release", "withdraw", "heartbeat"], ["fail", "heartbeat"]))
def test_a_late_call_does_not_end_the_attempt_of_another(server: str, tool: str, workers: tuple[str, str]) -> None:
    """Not even if both have the same name: each remembers the attempt that it was given."""

    async def session() -> None:
        async with AsyncExitStack() as stack:
            one, other = await two(stack, server, *workers)
            await issued_twice(one, other)
            assert "lease_lost" in await one.refusal(tool, study="s", trial=1)
            asked = await one.call("heartbeat", study="s", trial=1, of_other_worker=True)
            assert asked["trial"]["attempt"] == 2  # as the user asked
            assert (await other.call("observe", study="s", trial=1, value=2.0))["trial"]["value"] == 2.0

    asyncio.run(session())


def test_a_late_result_is_that_of_its_own_attempt(server: str) -> None:
    async def session() -> None:
        async with AsyncExitStack() as stack:
            one, other = await two(stack, server, "a", "b")
            await issued_twice(one, other)
            await one.call("observe", study="s", trial=1, value=1.0)
            assert (await other.call("observe", study="s", trial=1, value=2.0))["trial"]["state"] == "completed"

    asyncio.run(session())
    with Client(server) as client:
        assert [(each.attempt, each.value) for each in client.study("s").observations()] == [(1, 1.0), (2, 2.0)]


def test_after_a_restart_the_attempt_is_an_argument(server: str) -> None:
    async def session() -> None:
        async with AsyncExitStack() as stack:
            one, other = await two(stack, server, "a", "a")
            await issued_twice(one, other)
            async with in_process(server, worker="a") as restarted:
                told = await restarted.refusal("fail", study="s", trial=1)
                assert told.startswith("attempt: is required, since trial 1 was issued 2 times.")
                [mine] = (await restarted.call("trials", study="s", state="active"))["trials"]
                assert (mine["yours"], mine["attempt"]) == (True, 2)
                assert "lease_lost" in await restarted.refusal("fail", study="s", trial=1, attempt=1)
                failed = await restarted.call("fail", study="s", trial=1, attempt=2)
                assert failed["trial"]["state"] == "failed"

    asyncio.run(session())


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("observe", {"value": 3.3}),
    ("fail", {"reason": "late"}),
    ("release", {}),
    ("withdraw", {}),
    ("heartbeat", {"lease_seconds": 5.0}),
    ("report", {"step": 1, "value": 3.3}),
]


def test_the_trial_of_a_person_is_changed_only_on_request(server: str) -> None:
    async def session() -> None:
        async with in_process(server, worker="a") as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            with Client(server) as client:
                [theirs] = client.study("s").suggest(1, worker="ann")
            await agent.call("suggest", study="s")
            for tool, arguments in CHANGES:
                told = await agent.refusal(tool, study="s", trial=1, **arguments)
                assert told.startswith('trial: Trial 1 is leased to another worker ("ann"), not to you (a).'), tool
                assert "of_other_worker=true" in told
            found = (await agent.call("trials", study="s"))["trials"]
            assert [(each["trial"], each["yours"], each["worker"]) for each in found] == [
                (1, False, "ann"),
                (2, True, "a"),
            ]
            with Client(server) as client:
                assert next(iter(client.study("s").trials())) == theirs
            stored = await agent.call("observe", study="s", trial=1, value=3.3, of_other_worker=True)
            assert stored["trial"]["value"] == 3.3

    asyncio.run(session())


@pytest.mark.parametrize("mode", ["legacy", pytest.param("auto", marks=pytest.mark.long)])
def test_over_http_sessions_are_different_workers(server: str, mode: str) -> None:
    """Where the protocol has none ("auto"), agents cannot be told apart, so that the attempt is an argument."""

    async def session(url: str) -> None:
        async with over_http(url, mode=mode) as one, over_http(url, mode=mode) as other:
            await one.call("create_study", study="s", parameters=SPACE, direction="minimize")
            await issued_twice(one, other)
            [found] = (await one.call("trials", study="s"))["trials"]
            assert found["yours"] == (mode == "auto")
            late = await one.refusal("fail", study="s", trial=1)
            assert ("attempt: is required" if mode == "auto" else "lease_lost") in late
            assert "lease_lost" in await one.refusal("fail", study="s", trial=1, attempt=1)

    with http_server(server, "--worker", "robot") as url:
        asyncio.run(session(url))
    with Client(server) as client:
        [trial] = client.study("s").trials()
    assert trial.worker is not None
    assert trial.worker.partition("/")[0] == "robot"


def test_a_key_is_good_after_a_restart_and_shows_the_state_now(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            await agent.call("suggest", study="s", key="suggest-1")
        async with in_process(server) as restarted:
            again = await restarted.call("suggest", study="s", key="suggest-1")
            assert [(each["trial"], each["state"], each["yours"]) for each in again["trials"]] == [(1, "active", True)]
            assert again["replayed"] is True
            await restarted.call("observe", study="s", trial=1, value=1.0)
            again = await restarted.call("suggest", study="s", key="suggest-1")
            assert [(each["trial"], each["state"]) for each in again["trials"]] == [(1, "completed")]
            assert "leased_until" not in again["trials"][0]
            assert "evaluate only those that are active and yours" in again["what_to_do"]

    asyncio.run(session())


def test_another_agent_cannot_replay_a_suggestion(server: str) -> None:
    async def session() -> None:
        async with AsyncExitStack() as stack:
            one, other = await two(stack, server, "a", "b")
            await one.call("suggest", study="s", key="suggest-1")
            told = await other.refusal("suggest", study="s", key="suggest-1")
            assert told.startswith("key: ")
            assert "trials(state='active') shows" in told

    asyncio.run(session())


def test_an_agent_asks_its_user_before_it_ends_the_pause_of_another(other_sqlite: str) -> None:
    with closing(Database(other_sqlite)) as database:
        token = give_token(database, "ann", "work")

    async def session(url: str) -> None:
        async with in_process(url, token) as agent, in_process(url, token) as other:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            await other.call("pause", study="s")
            told = [
                (await agent.call("suggest", study="s"))["what_to_do"],
                (await agent.call("info", study="s"))["pause"],
            ]
            for text in told:
                assert text.startswith(f'Paused by "ann" at {time.gmtime().tm_year}-')
                assert text.endswith("Ask your user before you call resume().")
            own = (await other.call("suggest", study="s"))["what_to_do"]
            assert own == "You paused the study. resume() continues it."
            await agent.call("resume", study="s")
            await agent.call("pause", study="s")
            assert "Ask your user" in (await other.call("suggest", study="s"))["what_to_do"]

    with server_on(other_sqlite) as url:
        asyncio.run(session(url))


def test_a_pause_of_a_paused_study_is_not_the_agents_own(other_sqlite: str) -> None:
    """Otherwise the agent would resume a study that a person has paused."""
    with closing(Database(other_sqlite)) as database:
        token = give_token(database, "ann", "work")

    async def session(url: str) -> None:
        async with in_process(url, token) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            with Client(url, token) as client:
                client.study("s").pause()
            assert (await agent.call("pause", study="s"))["state"] == "paused"
            for text in (
                (await agent.call("suggest", study="s"))["what_to_do"],
                (await agent.call("info", study="s"))["pause"],
            ):
                assert text.endswith("Ask your user before you call resume().")

    with server_on(other_sqlite) as url:
        asyncio.run(session(url))


def test_a_replay_does_not_replace_a_later_attempt(server: str) -> None:
    """After it, calls without an attempt still concern the attempt that the session was given last."""

    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize", seed=1)
            await agent.call("suggest", study="s", lease_seconds=EXPIRED_SECONDS, key="first")
            await asyncio.sleep(1.1 * EXPIRED_SECONDS)
            [again] = (await agent.call("suggest", study="s", key="second"))["trials"]
            [replayed] = (await agent.call("suggest", study="s", lease_seconds=EXPIRED_SECONDS, key="first"))["trials"]
            assert [(each["trial"], each["attempt"], each["yours"]) for each in (again, replayed)] == [(1, 2, True)] * 2
            assert (await agent.call("fail", study="s", trial=1))["trial"]["state"] == "failed"

    asyncio.run(session())


def test_a_call_takes_only_what_can_be_evaluated_now(server: str) -> None:
    async def session() -> None:
        async with in_process(server) as agent:
            await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            assert "count: must be 16 or less" in await agent.refusal("suggest", study="s", count=17)
            assert "86400 or less" in await agent.refusal("suggest", study="s", lease_seconds=86401.0)
            await agent.call("suggest", study="s", count=16)
            assert "86400 or less" in await agent.refusal("heartbeat", study="s", trial=1, lease_seconds=86401.0)
            with Client(server) as client:
                client.study("s").update(pending_limit=40, lease_seconds=30 * 86400)
            taken = await agent.call("suggest", study="s", count=17, lease_seconds=29 * 86400.0)
            assert len(taken["trials"]) == 17

    asyncio.run(session())


def test_a_new_study_has_an_owner_and_a_page(other_sqlite: str) -> None:
    with closing(Database(other_sqlite)) as database:
        token = give_token(database, "ann", "work")

    async def session(url: str) -> None:
        async with in_process(url, token) as agent:
            made = await agent.call("create_study", study="s", parameters=SPACE, direction="minimize")
            assert (made["owner"], made["page"]) == ("ann", f"{url.rstrip('/')}/studies/s")

    with server_on(other_sqlite) as url:
        asyncio.run(session(url))
        asyncio.run(session(f"{url}/"))


def test_a_released_trial_has_its_reason_and_is_not_given_back_at_once(server: str) -> None:
    async def session() -> None:
        async with AsyncExitStack() as stack:
            one, other = await two(stack, server, "a", "b")
            await one.call("suggest", study="s")
            await one.call("release", study="s", trial=1, reason="the bottle is empty" + 300 * "!")
            assert [each["trial"] for each in (await one.call("suggest", study="s"))["trials"]] == [2]
            for tool in ("trials", "suggest"):
                first = (await other.call(tool, study="s"))["trials"][0]
                assert (first["trial"], first["released_because"]) == (1, "the bottle is empty" + 181 * "!" + "...")

    asyncio.run(session())

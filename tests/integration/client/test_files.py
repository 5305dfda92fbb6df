"""The async client leaves files to threads, and both look at the outbox only when there may be something in it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adabkb_client import AsyncClient, Client, Float, ResultKept
from tests.integration.client.faults import proxy

EVENTS = frozenset({"open", "os.scandir", "os.rename", "os.remove", "os.mkdir"})
CODE = (".py", ".pyc", ".so")
SPACE = {"x": Float(0, 1)}

watched: list[tuple[int, list[str]]] = []
"""Threads that are watched, with what they have done."""


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if watched and event in EVENTS and not str(arguments[0]).endswith(CODE):
        for thread, done in watched:
            if thread == threading.get_ident():
                done.append(f"{event} {arguments[0]}")


sys.addaudithook(_note)


@contextmanager
def files_of_this_thread() -> Iterator[list[str]]:
    done: list[str] = []
    watched.append((threading.get_ident(), done))
    try:
        yield done
    finally:
        watched.remove((threading.get_ident(), done))


def test_no_file_is_touched_on_the_event_loop(server: str, tmp_path: Path) -> None:
    table = tmp_path / "older.csv"
    table.write_text("x,value\n0.5,1.0\n0.25,2.0\n")

    async def halved(x: float) -> float:
        return x / 2

    async def main(url: str) -> list[str]:
        with files_of_this_thread() as touched:
            async with AsyncClient(url, retry_for=60, outbox=tmp_path / "outbox") as client:
                study = await client.create_study("quiet", SPACE, direction="minimize")
                between.faults.extend([None, "busy"])
                await study.observe(await study.suggest(), 1.0)  # kept, sent again, and removed
                between.faults.extend([None, "busy"])
                with pytest.raises(ResultKept):
                    await study.with_options(retry_for=0).observe(await study.suggest(), 2.0)
                assert (await study.info()).counts.completed == 1
                assert (await study.info()).counts.completed == 2  # the last call has delivered it
                assert (await study.import_results(table, progress=False)).stored == 2
                await study.add_file(1, table)
                assert (await study.run(halved, n_trials=1)).completed == 1
                assert not (await client.deliver()).sent
        return touched

    with proxy(server) as between:
        assert asyncio.run(main(between.url)) == []


@pytest.mark.long
def test_no_file_of_a_local_server_is_touched_on_the_event_loop(tmp_path: Path) -> None:
    async def main() -> list[str]:
        with files_of_this_thread() as touched:
            client = await AsyncClient.local(tmp_path / "study.db")
            await client.create_study("quiet", SPACE, direction="minimize")
            assert client.url.startswith("http://127.0.0.1:")
            await client.close()
        return touched

    assert asyncio.run(main()) == []


def test_the_outbox_is_looked_at_once_while_it_is_empty(server: str, tmp_path: Path) -> None:
    with Client(server, outbox=tmp_path) as client, files_of_this_thread() as touched:
        study = client.create_study("empty", SPACE, direction="minimize")
        for _ in range(5):
            study.observe(study.suggest(), 1.0)
    assert len([each for each in touched if str(tmp_path) in each]) <= 1, touched


def test_a_result_that_is_kept_is_sent_by_the_next_call(server: str, tmp_path: Path) -> None:
    with proxy(server) as between, Client(between.url, outbox=tmp_path) as client:
        study = client.create_study("kept", SPACE, direction="minimize")
        trial = study.suggest()
        between.faults.append("busy")
        with pytest.raises(ResultKept):
            study.with_options(retry_for=0).observe(trial, 1.0)
        study.info()
        assert study.info().counts.completed == 1

"""Lists on the server as sequences: read page by page, each page once."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adabkb_client import Algorithm, AsyncClient, Client, ConnectionFailed, Float, Study
from adabkb_client._calls import PAGE
from tests.integration.client.faults import proxy
from tests.servers import server_on

ITEMS = 2 * PAGE + 3


@pytest.fixture(scope="module")
def server(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """With a study that has three pages of results, for all tests of this file, which only read."""
    path = tmp_path_factory.mktemp("items") / "adabkb.db"
    shutil.copy(sqlite_template, path)
    with server_on(f"sqlite:///{path}") as address, Client(address) as client:
        random: Algorithm = {"kind": "random"}  # no model, which lists have no use for
        study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize", seed=1, algorithm=random)
        study.observe_many([{"parameters": {"x": number / ITEMS}, "value": number} for number in range(ITEMS)])
        yield address


@pytest.fixture
def study(client: Client) -> Study:
    return client.study("s")


def test_a_list_has_a_length_indices_and_slices(study: Study) -> None:
    found = study.observations()
    numbers = list(range(1, ITEMS + 1))
    assert len(found) == ITEMS
    assert [each.seq for each in found] == [each.seq for each in found] == numbers  # it is not used up
    assert (found[0].seq, found[-1].seq, found[PAGE].seq) == (1, ITEMS, PAGE + 1)
    forward = slice(5), slice(-5, None), slice(PAGE - 1, PAGE + 2), slice(None, None, 2), slice(3, -3), slice(0)
    for part in (*forward, slice(PAGE + 1, 2, -2), slice(3, None, -1), slice(None, 3, -1)):
        assert [each.seq for each in study.observations()[part]] == numbers[part]
    assert found
    assert not study.trials()
    with pytest.raises(IndexError):
        found[ITEMS]


def test_only_the_pages_that_are_needed_are_read_each_once(server: str) -> None:
    with proxy(server) as through, Client(through.url) as client:
        found = client.study("s").observations()
        through.sent.clear()
        assert [each.seq for each in found[:PAGE]] == list(range(1, PAGE + 1))
        assert found[PAGE - 1].seq == PAGE
        assert bool(found)
        assert len(through.sent) == 1
        assert found[PAGE].seq == PAGE + 1
        assert len(through.sent) == 2
        assert len(found) == len(list(found)) == ITEMS
        assert len(through.sent) == 3


def test_a_list_continues_where_a_failure_has_stopped_it(server: str) -> None:
    with proxy(server) as through, Client(through.url, retry_for=0) as client:
        found = client.study("s").observations()
        assert found[0].seq == 1
        through.faults.append("lose request")
        with pytest.raises(ConnectionFailed):
            len(found)
        assert [each.seq for each in found] == list(range(1, ITEMS + 1))


def test_a_list_becomes_a_frame(client: Client, study: Study) -> None:
    frame = study.observations().to_frame()
    assert (len(frame), frame["value"].tolist()) == (ITEMS, list(range(ITEMS)))
    assert frame["parameters.x"].tolist() == [number / ITEMS for number in range(ITEMS)]
    studies = client.studies().to_frame()
    assert studies[["id", "state"]].to_numpy().tolist() == [["s", "running"]]
    assert len(client.trash().to_frame()) == 0


def test_studies_are_studies(client: Client, study: Study) -> None:
    (found,) = client.studies()
    assert (type(found), found.id, found.best()) == (Study, study.id, study.best())


@pytest.mark.long
def test_an_asynchronous_list_is_awaited_completely_or_in_part(server: str) -> None:
    async def main() -> None:
        with proxy(server) as through:
            async with AsyncClient(through.url) as aclient:
                study = await aclient.study("s")
                pages = len(through.sent)
                assert [each.seq for each in await study.observations()[2:4]] == [3, 4]
                assert (await study.observations()[0]).seq == 1
                assert len(through.sent) == pages + 2  # a page each
                assert [each.seq for each in await study.observations()[3:1:-1]] == [4, 3]
                found = await study.observations()
                whole = len(through.sent)
                assert (len(found), found[-1].seq, [each.seq for each in found[:2]]) == (ITEMS, ITEMS, [1, 2])
                assert found.to_frame()["value"].tolist() == list(range(ITEMS))
                assert repr(found).splitlines()[0].split()[:3] == ["seq", "value", "parameters.x"]
                assert len(through.sent) == whole  # what is read is not read again
                assert (await study.observations()[-1]).seq == ITEMS
                with pytest.raises(IndexError):
                    await study.observations()[ITEMS]
                assert [each.id for each in await aclient.studies()] == ["s"]
                assert (await aclient.trash().to_frame()).empty
                assert len(await study.to_frame()) == ITEMS

    asyncio.run(main())


def test_the_asynchronous_client_yields_studies_too(server: str) -> None:
    async def first() -> list[tuple[str, int]]:
        async with AsyncClient(server) as aclient:
            return [(each.id, (await each.info()).counts.observations) async for each in aclient.studies()]

    assert asyncio.run(first()) == [("s", ITEMS)]

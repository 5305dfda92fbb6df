"""Pages of every list: complete and without duplicates, for any page length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from adabkb_service.storage import bounded_pages, events, model, observations, studies, trials
from adabkb_service.storage.rows import EventRow, StudyRow, event_row
from adabkb_service.storage.tables import events as table
from tests.integration.storage.rows import NOW, event, observation, study, trial

ROWS = 7
BEYOND = 2**31 - 1


@dataclass(frozen=True)
class Listing:
    """A list that is read in pages."""

    fill: Callable[[sa.Connection, str], Any]
    """Writes ``ROWS`` rows of a study."""
    page: Callable[[sa.Connection, int, int], list[Any]]
    """Reads a page of the study "s" after a cursor, up to a limit."""
    cursor: Callable[[Any], int]
    """Returns the cursor of a row."""


NUMBERS = range(1, ROWS + 1)
LISTINGS = {
    "trials": Listing(
        lambda connection, name: trials.add(connection, [trial(number, name) for number in NUMBERS]),
        lambda connection, after, limit: (
            trials.bounded_page(connection, "s", state=None, after=after, limit=limit).rows
        ),
        lambda row: row.number,
    ),
    "trials of a state": Listing(
        lambda connection, name: trials.add(
            connection,
            [trial(2 * number, name, state="failed") for number in NUMBERS]
            + [trial(2 * number + 1, name) for number in NUMBERS],
        ),
        lambda connection, after, limit: (
            trials.bounded_page(connection, "s", state="failed", after=after, limit=limit).rows
        ),
        lambda row: row.number,
    ),
    "observations": Listing(
        lambda connection, name: observations.add(connection, [observation(seq, study_id=name) for seq in NUMBERS]),
        lambda connection, after, limit: observations.bounded_page(connection, "s", after, limit).rows,
        lambda row: row.seq,
    ),
    "events": Listing(
        lambda connection, name: events.add(connection, [event(seq, name) for seq in NUMBERS]),
        lambda connection, after, limit: events.bounded_page(connection, "s", after, limit).rows,
        lambda row: row.seq,
    ),
}


@pytest.fixture(params=LISTINGS)
def listing(request: pytest.FixtureRequest) -> Listing:
    return LISTINGS[request.param]


def test_empty_list_has_an_empty_page(connection: sa.Connection, listing: Listing) -> None:
    assert listing.page(connection, 0, 10) == []


def test_pages_of_any_length_cover_the_list_in_cursor_order(connection: sa.Connection, listing: Listing) -> None:
    listing.fill(connection, "s")
    whole = listing.page(connection, 0, 1000)
    cursors = [listing.cursor(row) for row in whole]
    assert len(whole) == ROWS
    assert cursors == sorted(set(cursors))
    for limit in (1, 2, 3, ROWS - 1, ROWS, ROWS + 1):
        pages = list(pages_of(connection, listing, limit))
        assert [row for page in pages for row in page] == whole
        assert all(len(page) == limit for page in pages[:-1])


def pages_of(connection: sa.Connection, listing: Listing, limit: int) -> Iterator[list[Any]]:
    """Read all pages up to an empty one."""
    after = 0
    for _ in range(ROWS + 1):
        page = listing.page(connection, after, limit)
        if not page:
            return
        yield page
        after = listing.cursor(page[-1])


def test_page_after_the_end_is_empty(connection: sa.Connection, listing: Listing) -> None:
    listing.fill(connection, "s")
    last = listing.cursor(listing.page(connection, 0, 1000)[-1])
    assert listing.page(connection, last, 10) == []
    assert listing.page(connection, BEYOND, 10) == []


def test_list_contains_one_study_only(connection: sa.Connection, listing: Listing) -> None:
    for name in ("s.b", "S", "ss"):
        studies.create(connection, study(name))
        listing.fill(connection, name)
    assert listing.page(connection, 0, 1000) == []
    listing.fill(connection, "s")
    assert {row.study_id for row in listing.page(connection, 0, 1000)} == {"s"}


def test_rows_added_meanwhile_follow_the_page_that_was_read(connection: sa.Connection, listing: Listing) -> None:
    listing.fill(connection, "s")
    first = listing.page(connection, 0, ROWS - 1)
    model.write_cells(connection, "s", {"0.99": "leaf"})
    trials.add(connection, [trial(99, state="failed")])
    observations.add(connection, [observation(99)])
    events.add(connection, [event(99)])
    rest = listing.page(connection, listing.cursor(first[-1]), 1000)
    assert len(rest) == 2
    assert first + rest == listing.page(connection, 0, 1000)


def test_pages_of_studies_contain_all_studies(connection: sa.Connection) -> None:
    """Including studies created at the same time."""
    for number in NUMBERS:
        studies.create(connection, study(f"t{number}", created_at=NOW + timedelta(seconds=number // 3)))
    whole = studies.bounded_page(connection, None, 1000).rows
    assert sorted(row.id for row in whole) == studies.ids(connection)
    for limit in (1, 2, 3, ROWS):
        found: list[StudyRow] = []
        after = None
        while (page := studies.bounded_page(connection, after, limit).rows) and len(found) <= len(whole):
            found += page
            after = (page[-1].created_at, page[-1].id)
        assert found == whole


@pytest.mark.parametrize("most", [1, 1_999, 2_000, 2_001, 10_000])
def test_page_size_is_limited_in_bytes(connection: sa.Connection, most: int) -> None:
    """A page has at least one row of any size, and says whether there are more."""
    written = [event(seq, payload={"text": "x" * 988}) for seq in NUMBERS]  # 1,000 bytes as JSON
    events.add(connection, written)
    found: list[EventRow] = []
    after = 0
    while True:
        query = sa.select(table).where(table.c.study_id == "s", table.c.seq > after)
        order, large = (table.c.seq,), (table.c.payload,)
        part = bounded_pages.read(connection, query, event_row, order=order, large=large, limit=5, most_bytes=most)
        assert len(part.rows) == min(5, max(most // 1000, 1), len(written) - len(found))
        found += part.rows
        if part.is_last:
            break
        after = found[-1].seq
    assert found == written


def test_last_page_is_marked(connection: sa.Connection) -> None:
    events.add(connection, [event(seq) for seq in NUMBERS])
    assert [events.bounded_page(connection, "s", 0, limit).is_last for limit in (1, ROWS - 1, ROWS + 1)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6])
def test_all_pages_have_each_row_once(connection: sa.Connection, count: int) -> None:
    """Also if the last page is full. No page is empty."""
    written = [event(seq) for seq in range(1, count + 1)]
    if written:
        events.add(connection, written)

    def page(after: int) -> bounded_pages.BoundedPage[EventRow]:
        return events.bounded_page(connection, "s", after, 2)

    found = [each.rows for each in bounded_pages.pages(page, 0, lambda row: row.seq)]
    assert [len(rows) for rows in found] == [2] * (count // 2) + [1] * (count % 2)
    assert list(bounded_pages.rows(page, 0, lambda row: row.seq)) == [row for rows in found for row in rows] == written

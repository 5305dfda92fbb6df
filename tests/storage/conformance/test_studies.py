"""Queries of studies."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from adabkb_service.errors import StudyNotFound
from adabkb_service.storage import studies
from tests.storage.rows import NOW, TICK, study

SIMILAR = ["S", "s.b", "s-b", "ss"]
"""Ids that are not "s"."""


def test_finding_what_is_not_there_gives_none(connection: sa.Connection) -> None:
    assert studies.find(connection, "nobody") is None


@pytest.mark.parametrize("lock", [False, True])
def test_getting_what_is_not_there_says_so(connection: sa.Connection, lock: bool) -> None:
    with pytest.raises(StudyNotFound, match="nobody"):
        studies.get(connection, "nobody", lock=lock)


def test_finding_and_getting_give_the_same_locked_or_not(connection: sa.Connection) -> None:
    found = studies.find(connection, "s")
    assert found == studies.get(connection, "s") == studies.get(connection, "s", lock=True) == study("s")


def test_a_change_sets_the_columns_named_and_no_others(connection: sa.Connection) -> None:
    studies.change(connection, "s", budget=5, tags={"a": "b"})
    assert studies.get(connection, "s") == study("s", budget=5, tags={"a": "b"})


def test_a_change_may_take_a_value_away(connection: sa.Connection) -> None:
    studies.change(connection, "s", budget=5)
    studies.change(connection, "s", budget=None)
    assert studies.get(connection, "s") == study("s")


def test_a_change_concerns_one_study(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    studies.change(connection, "s", budget=5)
    assert [studies.get(connection, name) for name in SIMILAR] == [study(name) for name in SIMILAR]


def test_removing_concerns_one_study(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    studies.remove(connection, "s")
    assert sorted(studies.ids(connection)) == sorted(SIMILAR)


def test_there_may_be_no_study(connection: sa.Connection) -> None:
    studies.remove(connection, "s")
    assert studies.ids(connection) == []
    assert studies.page(connection, None, 10) == []


def test_ids_are_those_of_all_studies_in_order(connection: sa.Connection) -> None:
    for name in ("c", "z", "b"):
        studies.create(connection, study(name))
    assert studies.ids(connection) == ["b", "c", "s", "z"]


def test_a_page_has_the_newest_first(connection: sa.Connection) -> None:
    for days, name in enumerate(["c", "a", "b"], start=1):
        studies.create(connection, study(name, created_at=NOW + timedelta(days=days)))
    assert [row.id for row in studies.page(connection, None, 10)] == ["b", "a", "c", "s"]


def test_a_page_has_whole_rows(connection: sa.Connection) -> None:
    assert studies.page(connection, None, 10) == [study("s")]


def test_a_page_begins_after_the_study_named(connection: sa.Connection) -> None:
    studies.create(connection, study("a", created_at=NOW - TICK))
    studies.create(connection, study("z", created_at=NOW + TICK))
    assert [row.id for row in studies.page(connection, (NOW, "s"), 10)] == ["a"]


def test_a_page_may_begin_after_a_study_that_is_gone(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    studies.remove(connection, "t")
    assert [row.id for row in studies.page(connection, (NOW, "t"), 10)] == ["s"]


def test_after_the_oldest_study_there_is_none(connection: sa.Connection) -> None:
    assert studies.page(connection, (NOW, "s"), 10) == []
    assert studies.page(connection, (NOW - TICK, "z"), 10) == []


def test_of_studies_created_at_the_same_moment_a_page_has_each_once(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    first = studies.page(connection, None, 2)
    second = studies.page(connection, (NOW, first[-1].id), 10)
    assert sorted(row.id for row in first + second) == sorted(["s", *SIMILAR])
    assert [row.id for row in first + second] == [row.id for row in studies.page(connection, None, 10)]

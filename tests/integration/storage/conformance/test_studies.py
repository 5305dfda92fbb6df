"""Queries of studies."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from adabkb_service.errors import StudyNotFound
from adabkb_service.storage import studies
from adabkb_service.storage.rows import ENGINE_REVISION, StudyRow
from tests.integration.storage.rows import INCARNATION, LIMITS, NOW, TICK, study
from tests.integration.storage.writes import delete_study

SIMILAR = ["S", "s.b", "s-b", "ss"]
"""Ids that are similar to "s"."""


def test_finding_a_missing_row_gives_none(connection: sa.Connection) -> None:
    assert studies.find(connection, "nobody") is None


def test_getting_a_missing_row_says_so(connection: sa.Connection) -> None:
    with pytest.raises(StudyNotFound, match="nobody"):
        studies.get(connection, "nobody")


def test_finding_and_getting_give_the_same(connection: sa.Connection) -> None:
    assert studies.find(connection, "s") == studies.get(connection, "s") == study("s")


def test_a_new_study_has_an_incarnation_of_its_own_and_no_version_yet() -> None:
    """Even if an earlier study had the same id."""
    made = [StudyRow.new("s", {}, 0, NOW, **LIMITS) for _ in range(3)]
    assert len({row.incarnation for row in made}) == 3
    assert [(len(row.incarnation), row.version, row.engine_revision) for row in made] == [(32, 0, ENGINE_REVISION)] * 3


def test_a_write_sets_the_columns_named_and_counts_the_version_up_by_one(connection: sa.Connection) -> None:
    assert studies.commit_if_unchanged(connection, study("s"), budget=5, tags={"a": "b"})
    assert studies.get(connection, "s") == study("s", budget=5, tags={"a": "b"}, version=1)


def test_a_write_of_nothing_counts_the_version_up_too(connection: sa.Connection) -> None:
    """Because it may have written to other tables, which others must notice."""
    for version in range(3):
        assert studies.commit_if_unchanged(connection, study("s", version=version))
    assert studies.get(connection, "s") == study("s", version=3)


def test_a_write_may_take_a_value_away(connection: sa.Connection) -> None:
    studies.commit_if_unchanged(connection, study("s"), budget=5, best={"value": 1.0})
    studies.commit_if_unchanged(connection, study("s", version=1), budget=None, best=None)
    assert studies.get(connection, "s") == study("s", version=2)


STALE = {
    "an earlier version": study("s", version=0),
    "a later version": study("s", version=2),
    "another incarnation": study("s", version=1, incarnation="f" * 32),
    "no incarnation": study("s", version=1, incarnation=""),
    "another study": study("S", version=1),
}
"""States that differ from that of the study "s" after one write."""


@pytest.mark.parametrize("stale", STALE.values(), ids=STALE)
def test_a_study_that_is_not_what_it_was_is_left_as_it_is(connection: sa.Connection, stale: StudyRow) -> None:
    studies.commit_if_unchanged(connection, study("s"))
    assert not studies.commit_if_unchanged(connection, stale, budget=5)
    assert not studies.is_current(connection, stale)
    assert studies.get(connection, "s") == study("s", version=1)
    assert studies.find(connection, "S") is None


def test_a_study_is_current_until_it_is_written_to(connection: sa.Connection) -> None:
    """Whatever else differs in the given row."""
    before = studies.get(connection, "s")
    assert studies.is_current(connection, before)
    assert studies.is_current(connection, study("s", budget=9))
    studies.commit_if_unchanged(connection, before)
    assert not studies.is_current(connection, before)
    assert studies.is_current(connection, studies.get(connection, "s"))


def test_a_study_recreated_with_the_same_id_is_another(connection: sa.Connection) -> None:
    """Although it has the same version."""
    before = studies.get(connection, "s")
    delete_study(connection, "s")
    assert not studies.is_current(connection, before)
    assert not studies.commit_if_unchanged(connection, before, budget=5)
    anew = study("s", incarnation="f" * 32)
    studies.create(connection, anew)
    assert not studies.is_current(connection, before)
    assert not studies.commit_if_unchanged(connection, before, budget=5)
    assert studies.lock_model_seq(connection, "s", before.incarnation) is None
    studies.save_model(connection, "s", before.incarnation, model_seq=7, checkpoint={"a": 1})
    assert studies.get(connection, "s") == anew


def test_a_write_concerns_one_study(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    studies.commit_if_unchanged(connection, study("s"), budget=5)
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint={})
    assert [studies.get(connection, name) for name in SIMILAR] == [study(name) for name in SIMILAR]


def test_saving_the_model_sets_what_is_stored_of_it_and_leaves_the_version_alone(connection: sa.Connection) -> None:
    """A request that read the study before can write to it afterwards."""
    before = studies.get(connection, "s")
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint={"learned": [0.5]})
    assert studies.get(connection, "s") == study("s", model_seq=7, checkpoint={"learned": [0.5]})
    assert studies.is_current(connection, before)
    assert studies.commit_if_unchanged(connection, before, budget=5)
    saved = study("s", model_seq=7, checkpoint={"learned": [0.5]}, budget=5, version=1)
    assert studies.get(connection, "s") == saved


def test_a_model_that_learns_nothing_has_no_checkpoint(connection: sa.Connection) -> None:
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint={"learned": [0.5]})
    studies.save_model(connection, "s", INCARNATION, model_seq=8, checkpoint=None)
    assert studies.get(connection, "s") == study("s", model_seq=8)


def test_locking_tells_what_the_stored_model_includes(connection: sa.Connection) -> None:
    assert studies.lock_model_seq(connection, "s", INCARNATION) == 0
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint=None)
    assert studies.lock_model_seq(connection, "s", INCARNATION) == 7
    assert studies.get(connection, "s").version == 0
    assert studies.lock_model_seq(connection, "S", INCARNATION) is None


def test_removing_concerns_one_study(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    delete_study(connection, "s")
    assert sorted(studies.ids(connection)) == sorted(SIMILAR)


def test_there_may_be_no_study(connection: sa.Connection) -> None:
    delete_study(connection, "s")
    assert studies.ids(connection) == []
    assert studies.bounded_page(connection, None, 10).rows == []


def test_ids_are_those_of_all_studies_in_order(connection: sa.Connection) -> None:
    for name in ("c", "z", "b"):
        studies.create(connection, study(name))
    assert studies.ids(connection) == ["b", "c", "s", "z"]


def test_a_page_has_the_newest_first(connection: sa.Connection) -> None:
    for days, name in enumerate(["c", "a", "b"], start=1):
        studies.create(connection, study(name, created_at=NOW + timedelta(days=days)))
    assert [row.id for row in studies.bounded_page(connection, None, 10).rows] == ["b", "a", "c", "s"]


def test_a_page_has_complete_rows(connection: sa.Connection) -> None:
    assert studies.bounded_page(connection, None, 10).rows == [study("s")]


def test_a_page_begins_after_the_study_named(connection: sa.Connection) -> None:
    studies.create(connection, study("a", created_at=NOW - TICK))
    studies.create(connection, study("z", created_at=NOW + TICK))
    assert [row.id for row in studies.bounded_page(connection, (NOW, "s"), 10).rows] == ["a"]


def test_a_page_may_begin_after_a_study_that_is_gone(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    delete_study(connection, "t")
    assert [row.id for row in studies.bounded_page(connection, (NOW, "t"), 10).rows] == ["s"]


def test_after_the_oldest_study_there_is_none(connection: sa.Connection) -> None:
    assert studies.bounded_page(connection, (NOW, "s"), 10).rows == []
    assert studies.bounded_page(connection, (NOW - TICK, "z"), 10).rows == []


def test_of_studies_created_at_the_same_moment_a_page_lists_each_once(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    first = studies.bounded_page(connection, None, 2).rows
    second = studies.bounded_page(connection, (NOW, first[-1].id), 10).rows
    assert sorted(row.id for row in first + second) == sorted(["s", *SIMILAR])
    assert [row.id for row in first + second] == [row.id for row in studies.bounded_page(connection, None, 10).rows]

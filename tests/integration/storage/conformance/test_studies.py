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


def test_find_returns_none_for_a_missing_row(connection: sa.Connection) -> None:
    assert studies.find(connection, "nobody") is None


def test_get_raises_not_found_for_a_missing_row(connection: sa.Connection) -> None:
    with pytest.raises(StudyNotFound, match="nobody"):
        studies.get(connection, "nobody")


def test_find_and_get_return_the_same(connection: sa.Connection) -> None:
    assert studies.find(connection, "s") == studies.get(connection, "s") == study("s")


def test_new_studies_have_a_unique_incarnation_and_version_zero() -> None:
    """Even if an earlier study had the same id."""
    made = [StudyRow.new("s", {}, 0, NOW, **LIMITS) for _ in range(3)]
    assert len({row.incarnation for row in made}) == 3
    assert [(len(row.incarnation), row.version, row.engine_revision) for row in made] == [(32, 0, ENGINE_REVISION)] * 3


def test_write_sets_the_given_columns_and_increments_the_version(connection: sa.Connection) -> None:
    assert studies.commit_if_unchanged(connection, study("s"), budget=5, tags={"a": "b"})
    assert studies.get(connection, "s") == study("s", budget=5, tags={"a": "b"}, version=1)


def test_empty_write_increments_the_version(connection: sa.Connection) -> None:
    """The transaction may have written to other tables, which others must notice."""
    for version in range(3):
        assert studies.commit_if_unchanged(connection, study("s", version=version))
    assert studies.get(connection, "s") == study("s", version=3)


def test_write_can_remove_a_value(connection: sa.Connection) -> None:
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
def test_stale_write_changes_nothing(connection: sa.Connection, stale: StudyRow) -> None:
    studies.commit_if_unchanged(connection, study("s"))
    assert not studies.commit_if_unchanged(connection, stale, budget=5)
    assert not studies.is_current(connection, stale)
    assert studies.get(connection, "s") == study("s", version=1)
    assert studies.find(connection, "S") is None


def test_study_is_current_until_it_is_written(connection: sa.Connection) -> None:
    """Whatever else differs in the given row."""
    before = studies.get(connection, "s")
    assert studies.is_current(connection, before)
    assert studies.is_current(connection, study("s", budget=9))
    studies.commit_if_unchanged(connection, before)
    assert not studies.is_current(connection, before)
    assert studies.is_current(connection, studies.get(connection, "s"))


def test_recreated_study_is_not_the_deleted_one(connection: sa.Connection) -> None:
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


def test_write_affects_one_study(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    studies.commit_if_unchanged(connection, study("s"), budget=5)
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint={})
    assert [studies.get(connection, name) for name in SIMILAR] == [study(name) for name in SIMILAR]


def test_saving_a_model_keeps_the_version(connection: sa.Connection) -> None:
    """A request that read the study before can still write to it afterwards."""
    before = studies.get(connection, "s")
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint={"learned": [0.5]})
    assert studies.get(connection, "s") == study("s", model_seq=7, checkpoint={"learned": [0.5]})
    assert studies.is_current(connection, before)
    assert studies.commit_if_unchanged(connection, before, budget=5)
    saved = study("s", model_seq=7, checkpoint={"learned": [0.5]}, budget=5, version=1)
    assert studies.get(connection, "s") == saved


def test_model_without_learned_parameters_has_no_checkpoint(connection: sa.Connection) -> None:
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint={"learned": [0.5]})
    studies.save_model(connection, "s", INCARNATION, model_seq=8, checkpoint=None)
    assert studies.get(connection, "s") == study("s", model_seq=8)


def test_locking_returns_the_last_event_of_the_stored_model(connection: sa.Connection) -> None:
    assert studies.lock_model_seq(connection, "s", INCARNATION) == 0
    studies.save_model(connection, "s", INCARNATION, model_seq=7, checkpoint=None)
    assert studies.lock_model_seq(connection, "s", INCARNATION) == 7
    assert studies.get(connection, "s").version == 0
    assert studies.lock_model_seq(connection, "S", INCARNATION) is None


def test_removal_affects_one_study(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    delete_study(connection, "s")
    assert sorted(studies.ids(connection)) == sorted(SIMILAR)


def test_database_may_have_no_studies(connection: sa.Connection) -> None:
    delete_study(connection, "s")
    assert studies.ids(connection) == []
    assert studies.bounded_page(connection, None, 10).rows == []


def test_ids_of_all_studies_are_sorted(connection: sa.Connection) -> None:
    for name in ("c", "z", "b"):
        studies.create(connection, study(name))
    assert studies.ids(connection) == ["b", "c", "s", "z"]


def test_page_lists_the_newest_first(connection: sa.Connection) -> None:
    for days, name in enumerate(["c", "a", "b"], start=1):
        studies.create(connection, study(name, created_at=NOW + timedelta(days=days)))
    assert [row.id for row in studies.bounded_page(connection, None, 10).rows] == ["b", "a", "c", "s"]


def test_page_has_complete_rows(connection: sa.Connection) -> None:
    assert studies.bounded_page(connection, None, 10).rows == [study("s")]


def test_page_starts_after_the_given_study(connection: sa.Connection) -> None:
    studies.create(connection, study("a", created_at=NOW - TICK))
    studies.create(connection, study("z", created_at=NOW + TICK))
    assert [row.id for row in studies.bounded_page(connection, (NOW, "s"), 10).rows] == ["a"]


def test_page_can_start_after_a_deleted_study(connection: sa.Connection) -> None:
    studies.create(connection, study("t"))
    delete_study(connection, "t")
    assert [row.id for row in studies.bounded_page(connection, (NOW, "t"), 10).rows] == ["s"]


def test_page_after_the_oldest_study_is_empty(connection: sa.Connection) -> None:
    assert studies.bounded_page(connection, (NOW, "s"), 10).rows == []
    assert studies.bounded_page(connection, (NOW - TICK, "z"), 10).rows == []


def test_studies_created_at_the_same_time_are_listed_once(connection: sa.Connection) -> None:
    for name in SIMILAR:
        studies.create(connection, study(name))
    first = studies.bounded_page(connection, None, 2).rows
    second = studies.bounded_page(connection, (NOW, first[-1].id), 10).rows
    assert sorted(row.id for row in first + second) == sorted(["s", *SIMILAR])
    assert [row.id for row in first + second] == [row.id for row in studies.bounded_page(connection, None, 10).rows]

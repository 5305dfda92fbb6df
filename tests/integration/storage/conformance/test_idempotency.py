"""Queries of idempotency keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention
from adabkb_service.storage import idempotency, retention_cutoffs, studies
from adabkb_service.storage.database import Database
from tests.integration.storage.rows import NOW, TICK, key, study

SECOND = timedelta(seconds=1)
LATER = NOW + timedelta(days=1)


def add(connection: sa.Connection, **ages: int) -> None:
    """Add keys by name, stored this number of seconds before ``NOW``."""
    for name, seconds in ages.items():
        idempotency.add(connection, [key(name, created_at=NOW - seconds * SECOND)])


def names(connection: sa.Connection) -> list[str]:
    return [row.key for row in idempotency.of_study(connection, "s")]


def test_unused_key_is_not_found(connection: sa.Connection) -> None:
    add(connection, other=0)
    assert idempotency.find(connection, "s", "k") is None


def test_key_is_found_only_in_its_scope(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    add(connection, k=0)
    assert idempotency.find(connection, "s", "k") == key("k")
    assert [idempotency.find(connection, scope, "k") for scope in ("", "S", "k")] == [None, None, None]


def test_keys_of_a_study_are_ordered_by_age_and_name(connection: sa.Connection) -> None:
    add(connection, b=1, c=0, d=2, a=1)
    assert names(connection) == ["d", "a", "b", "c"]


def test_keys_of_a_study_include_the_one_of_its_creation(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    idempotency.add(connection, [key("k", "S")])
    assert idempotency.of_study(connection, "s") == []
    creating = key("k", scope="")
    idempotency.add(connection, [creating])
    assert idempotency.of_study(connection, "s") == [creating]


def test_empty_database_has_no_outdated_keys(connection: sa.Connection) -> None:
    assert idempotency.outdated(connection, NOW, 10) == []


def test_key_is_outdated_only_after_the_cutoff(connection: sa.Connection) -> None:
    add(connection, k=0)
    assert idempotency.outdated(connection, NOW, 10) == []
    assert idempotency.outdated(connection, NOW + TICK, 10) == [("s", "k")]


def test_outdated_keys_are_listed_oldest_first(connection: sa.Connection) -> None:
    add(connection, b=1, c=0, d=2, a=3)
    assert idempotency.outdated(connection, NOW + SECOND, 10) == [("s", name) for name in "adbc"]


def test_limited_list_has_the_oldest_outdated_keys(connection: sa.Connection) -> None:
    add(connection, b=1, c=0, d=2, a=3)
    assert idempotency.outdated(connection, NOW + SECOND, 2) == [("s", "a"), ("s", "d")]


def test_outdated_keys_include_all_studies_and_scopes(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    for row in (key("k"), key("k", "S"), key("k", "S", scope="")):
        idempotency.add(connection, [row])
    assert sorted(idempotency.outdated(connection, NOW + TICK, 10)) == [("", "k"), ("S", "k"), ("s", "k")]


def test_forget_deletes_only_the_given_keys(connection: sa.Connection) -> None:
    add(connection, a=0, b=0, c=0)
    idempotency.add(connection, [key("a", scope="")])
    idempotency.forget(connection, [("s", "a"), ("s", "c")], LATER)
    assert names(connection) == ["a", "b"]
    assert idempotency.find(connection, "", "a") is not None


def test_forgetting_a_missing_row_changes_nothing(connection: sa.Connection) -> None:
    """Another server may have deleted them first."""
    add(connection, a=0)
    idempotency.forget(connection, [("s", "b"), ("S", "a")], LATER)
    assert names(connection) == ["a"]


def test_forgetting_outdated_keys_in_steps_keeps_the_others(connection: sa.Connection) -> None:
    add(connection, **{f"k{seconds}": seconds for seconds in range(10)})
    for _ in range(3):
        idempotency.forget(connection, idempotency.outdated(connection, NOW - 4 * SECOND, 2), LATER)
    assert idempotency.outdated(connection, NOW - 4 * SECOND, 2) == []
    assert names(connection) == ["k4", "k3", "k2", "k1", "k0"]


def test_forgotten_key_can_be_used_again(connection: sa.Connection) -> None:
    add(connection, k=0)
    idempotency.forget(connection, [("s", "k")], LATER)
    add(connection, k=1)
    assert names(connection) == ["k"]


def test_key_added_meanwhile_is_not_deleted(connection: sa.Connection) -> None:
    add(connection, k=0)
    idempotency.forget(connection, [("s", "k")], NOW)
    assert names(connection) == ["k"]


def test_there_is_no_cutoff_before_keys_are_deleted(connection: sa.Connection) -> None:
    assert retention_cutoffs.find(connection, "idempotency keys") is None
    assert retention_cutoffs.moved_at(connection, "idempotency keys") is None


def test_cutoff_is_the_last_one_set(connection: sa.Connection) -> None:
    """Forward or back."""
    for at in (NOW, NOW + TICK, NOW - SECOND):
        retention_cutoffs.move(connection, "idempotency keys", at, at + SECOND)
        assert retention_cutoffs.find(connection, "idempotency keys") == at
        assert retention_cutoffs.moved_at(connection, "idempotency keys") == at + SECOND


def test_concurrent_cutoff_moves_leave_one_of_their_values(database: Database) -> None:
    def move(seconds: int) -> None:
        with database.writing() as connection:
            retention_cutoffs.move(connection, "idempotency keys", NOW + seconds * SECOND, NOW)

    move(0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(move, range(1, 21)))
    with database.reading() as connection:
        moved = retention_cutoffs.find(connection, "idempotency keys")
    assert moved is not None
    assert NOW < moved <= NOW + 20 * SECOND


def test_oldest_key_is_found_in_any_study_and_scope(connection: sa.Connection) -> None:
    assert idempotency.oldest(connection) is None
    studies.create(connection, study("S"))
    add(connection, a=1, b=3, c=2)
    assert idempotency.oldest(connection) == NOW - 3 * SECOND
    idempotency.add(connection, [key("d", "S", scope="", created_at=NOW - 4 * SECOND)])
    assert idempotency.oldest(connection) == NOW - 4 * SECOND
    idempotency.forget(connection, [("", "d"), ("s", "b")], LATER)
    assert idempotency.oldest(connection) == NOW - 2 * SECOND


def test_keys_are_stored_together_or_not_at_all(database: Database) -> None:
    with database.writing() as connection:
        idempotency.add(connection, [key("b")])
    with pytest.raises(Contention), database.writing() as connection:
        idempotency.add(connection, [key("a"), key("b"), key("c")])
    with database.reading() as connection:
        assert names(connection) == ["b"]


def test_keys_of_a_deleted_study_are_not_found(connection: sa.Connection) -> None:
    """Although they are removed later, and one of them is not in the scope of a study."""
    idempotency.add(connection, [key("k"), key("k", scope="")])
    studies.remove(connection, "s", "w", NOW)
    assert [idempotency.find(connection, scope, "k") for scope in ("s", "")] == [None, None]
